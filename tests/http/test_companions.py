"""The long poll by which a session's companion waits: while it is there the session is, and it ends with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest

from daemon.channels.http.sessions import GRACE_S, CompanionPolls
from daemon.shared.asking import LEASE_MS
from tests.fakes import TIMEOUT
from tests.http.daemons import Got, HttpHome, bearer
from tests.http.machines import ELSEWHERE, Machine, key_of, revoke


@pytest.fixture
async def ada(home: HttpHome) -> Machine:
    home.clock.stand_still()  # so that no poll comes too late because the machine is busy
    return Machine(home, await key_of(home), "s-ada")


def path_of(process: str = ELSEWHERE, wait: int = 0, wakes: str = "yes", known: str = "s-ada") -> str:
    """Where the companion of the session in a process asks that knows of a session."""
    return f"/api/sessions/{known}/notes?wait={wait}&process={quote(process, safe='')}&wakes={wakes}"


async def poll(home: HttpHome, key: str, process: str = ELSEWHERE, **how: object) -> Got:
    """One poll of a companion."""
    return await home.ask("GET", path_of(process, **how), headers=bearer(key))  # type: ignore[arg-type]  # as path_of takes it


@asynccontextmanager
async def waiting(home: HttpHome, ada: Machine, process: str = ELSEWHERE) -> AsyncIterator[asyncio.Task[Got]]:
    """A poll that is open during the block, and ends with it as a companion's process does."""
    asking = asyncio.create_task(poll(home, ada.key, process, wait=25))
    await reached(ada, "now")
    yield asking
    asking.cancel()
    await asyncio.wait((asking,))


async def silent_for(home: HttpHome, ms: int) -> None:
    """As if the sessions had last said something so long ago."""
    await home.database.run("UPDATE sessions SET seen_ms = seen_ms - :ms", ms=ms)


async def reached(ada: Machine, reach: str) -> None:
    """Wait until the session is reached so; a row of memory.db has no events to wait on."""
    async with asyncio.timeout(TIMEOUT):
        while (await ada.row())["reach"] != reach:  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.01)


async def test_a_companion_learns_its_session_and_makes_it_reachable_now(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    assert (await ada.row())["reach"] == "turn_end"
    got = await poll(home, ada.key)
    assert (got.status, got.json, got.headers["Soul-Session"]) == (200, [], "s-ada")
    assert (await ada.row())["reach"] == "now"
    await poll(home, ada.key, wakes="no")
    assert (await ada.row())["reach"] == "turn_end", "it has no socket to wake it by"
    await ada.send("SessionEnd", reason="other")
    assert (await ada.row())["reach"] == "none"
    assert (await poll(home, ada.key)).headers["Soul-Session"] == "", "what ended with a word stays so"


async def test_a_companion_may_come_first_and_is_that_of_the_next_after_clear(home: HttpHome, ada: Machine) -> None:
    asking = asyncio.create_task(poll(home, ada.key, wait=25, known="this"))
    await ada.start()
    async with asyncio.timeout(TIMEOUT):
        assert (await asking).headers["Soul-Session"] == "s-ada", "it is told at once"
    assert (await ada.row())["reach"] == "now"
    await ada.send("SessionEnd", reason="clear")
    ada.session = "s-next"
    await ada.start("clear")
    assert (await poll(home, ada.key)).headers["Soul-Session"] == "s-next"
    assert (await ada.row())["reach"] == "now"


async def test_a_session_whose_companion_comes_no_more_is_gone_until_it_does(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    async with waiting(home, ada):
        await silent_for(home, 2 * LEASE_MS)
        assert (await ada.state())[0] == "idle", "no heartbeat is needed while the poll is open"
    assert GRACE_S < 5
    await home.turning(reached(ada, "none"))
    assert await ada.state() == ("gone", "process")
    assert (await poll(home, ada.key)).headers["Soul-Session"] == "s-ada"
    assert await ada.state() == ("idle", None), "a network that was away for long is no end"


async def test_a_daemon_that_stops_or_is_cut_ends_no_session(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    asking = asyncio.create_task(poll(home, ada.key, wait=25))
    await reached(ada, "now")
    await silent_for(home, 2 * LEASE_MS)
    await home.now.stop()
    assert (await asking).json == []
    await home.start()
    assert ((await ada.row())["reach"], (await ada.state())[0]) == ("turn_end", "idle"), "its lease begins now"
    await poll(home, ada.key)
    assert (await ada.row())["reach"] == "now"


async def test_another_key_comes_to_no_session_and_a_revoked_one_waits_no_longer(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    for key in (await key_of(home, "UBO"), await key_of(home)):
        assert (await poll(home, key)).headers["Soul-Session"] == ""
    assert (await ada.row())["reach"] == "turn_end"
    asking = asyncio.create_task(poll(home, ada.key, wait=25))
    await reached_by_token(home)
    await revoke(home, ada.key)
    assert (await home.turning(_result(asking))).status == 401


async def reached_by_token(home: HttpHome) -> None:
    """Wait until a session is reached now, as the admin sees it."""
    async with asyncio.timeout(TIMEOUT):
        while [one["reach"] for one in (await home.get("/api/sessions")).json] != ["now"]:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.01)


async def _result(asking: asyncio.Task[Got]) -> Got:
    return await asking


async def test_a_bad_poll_is_refused_and_those_that_are_over_are_forgotten(home: HttpHome, ada: Machine) -> None:
    long = "process=" + "a" * 401
    for query in ("process=", "process=a&process=b", "process=%00", long, "process=a&wait=26"):
        got = await home.ask("GET", f"/api/sessions/this/notes?{query}", headers=bearer(ada.key))
        assert (got.status, got.code) == (422, "invalid"), query
    polls = home.now.channel._of_sessions
    assert polls is not None
    for number in range(50):
        await poll(home, ada.key, f"far/boot/1/{number + 1}/9")
    await home.turning(_none_due(polls.polls))
    assert not polls.polls._open


async def _none_due(polls: CompanionPolls) -> None:
    async with asyncio.timeout(TIMEOUT):
        while polls._due:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.01)
