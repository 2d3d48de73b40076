"""With the real client: people ask Ada's session in Slack, she clicks, and the answer stands in the thread."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.questions import LATE_MS, OVER_MS
from tests.fakes import TIMEOUT
from tests.hooks.real_client.rig import ClientTerminal, Installed
from tests.hooks.real_client.stand_in import StandIn
from tests.hooks.real_client.sums import ANSWER, sums_up
from tests.journeys.asking import WORDS, allowed, asks, door, new_key, question, states
from tests.journeys.binding import bound_thread
from tests.journeys.conftest import empty_house, house
from tests.journeys.house import House, said
from tests.journeys.problems import NO, forged, press

__all__ = ("empty_house", "house")
pytestmark = pytest.mark.slow
ESCAPE = "\x1b"


@pytest.fixture
async def ada(house: House, api: StandIn, tmp_path: Path) -> AsyncIterator[Installed]:
    """Ada's machine, at a daemon in Slack."""
    async with door(house) as url:
        made = Installed(tmp_path / "machine", api.url, url, await new_key(house))
        await made.install()
        yield made


@pytest.fixture
async def terminal(house: House, ada: Installed) -> AsyncIterator[ClientTerminal]:
    """Her session, at rest."""
    async with ClientTerminal(ada) as running:
        await _until(house, "wakes")
        yield running


async def test_a_session_at_rest_is_woken_answers_in_the_thread_and_is_gone_once_it_is_killed(
    house: House, api: StandIn, ada: Installed, terminal: ClientTerminal
) -> None:
    await asks(house)
    api.says = ANSWER
    await allowed(house)
    assert ANSWER in said(await house.reply("general", ANSWER))
    assert (await house.one("SELECT how FROM shared_messages WHERE kind = 'question'"))["how"] == "socket"
    await terminal.kill()
    await _until(house, "state = 'gone' AND reason = 'process'")
    ada.record("woken")
    await sums_up(house, asked=1)


async def test_a_session_at_work_reads_it_as_its_turn_ends_and_no_other_while_it_goes_on_for_it(
    house: House, api: StandIn, ada: Installed, terminal: ClientTerminal
) -> None:
    await terminal.type("HOLD on to something long")
    await api.held.wait()
    await _until(house, "state = 'working'")
    await asks(house, "Ada", "dm")
    await asks(house, "Ada", "dm", "and who wrote it?")
    api.says = ANSWER
    api.go_on.set()
    assert ANSWER in said(await house.reply("D0ADA", ANSWER))
    await house.reply("D0ADA", ANSWER, count=2)  # the second is asked once the first is answered
    ends = [one["hook"] for one in ada.hooks if one["hook"]["hook_event_name"] == "Stop"]
    assert [one["stop_hook_active"] for one in ends] == [False, True, False]
    hows = [row["how"] for row in await house.rows("SELECT how FROM shared_messages WHERE kind = 'question'")]
    assert hows == ["stop", "socket"]
    ada.record("at-work")
    await sums_up(house, asked=2)


async def test_a_turn_that_is_stopped_by_escape_does_not_lose_what_it_was_asked(
    house: House, api: StandIn, ada: Installed, terminal: ClientTerminal
) -> None:
    api.holds_at = WORDS
    await asks(house)
    await allowed(house)
    await api.held.wait()
    await _asked_in_state(house, "delivered")
    terminal.press(ESCAPE)
    await api.left.wait()
    api.holds_at, api.says = "HOLD", ANSWER
    await terminal.type("something else")
    assert ANSWER in said(await house.reply("general", ANSWER))
    assert (await house.one("SELECT how FROM shared_messages WHERE kind = 'question'"))["how"] == "stop"
    ada.record("escape")
    await sums_up(house, asked=1)


async def test_what_its_owner_refuses_or_does_not_decide_never_comes_to_it(
    house: House, api: StandIn, ada: Installed, terminal: ClientTerminal
) -> None:
    await asks(house)
    ts = await question(house)
    name = (await house.one("SELECT id FROM approvals"))["id"]
    assert await forged(house, "Ben", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
    assert await press(house, "Ada", "D0ADA", ts, NO) == "accepted"
    await house.reply("general", "not allowed")
    await asks(house, words="a second question?")
    await house.idle()
    house.clock.turn(OVER_MS / 1000)
    await house.reply("general", "not allowed in time")
    await house.idle()
    await terminal.type("hello")
    await ada.until_hook("Stop")
    assert await states(house) == ["refused", "expired"]
    assert not any(WORDS in str(body) or "a second question?" in str(body) for body in api.bodies)
    await sums_up(house, asked=2)


async def test_a_session_that_is_killed_after_the_click_is_told_of_and_answers_once_it_is_resumed(
    house: House, api: StandIn, ada: Installed, terminal: ClientTerminal
) -> None:
    await terminal.type("hello")
    session = (await ada.until_hook("Stop"))["session_id"]
    await _until(house, "state = 'idle'")
    await terminal.type("HOLD on to something long")
    await api.held.wait()
    await _until(house, "state = 'working'")
    await asks(house)
    await allowed(house)
    await terminal.kill()
    await _until(house, "state = 'gone'")
    house.clock.turn(3)
    await house.reply("general", "is gone and has not answered")
    api.says = ANSWER
    api.go_on.set()
    await terminal.open("--resume", session)
    assert ANSWER in said(await house.reply("general", ANSWER))
    house.clock.turn(LATE_MS / 1000)
    ada.record("killed-after-the-click")
    await sums_up(house, asked=1)


async def test_after_clear_questions_and_the_thread_are_those_of_the_next_session(
    house: House, api: StandIn, ada: Installed, terminal: ClientTerminal
) -> None:
    ts = await bound_thread(house)
    api.holds_at = WORDS
    await house.say("Ada", "general", WORDS, thread=ts)
    await api.held.wait()
    await _asked_in_state(house, "delivered")
    terminal.press(ESCAPE)
    await api.left.wait()
    api.holds_at, api.says = "HOLD", ANSWER
    await terminal.type("/clear")
    await ada.until_hook("SessionStart", source="clear")
    assert ANSWER in said(await house.reply("general", ANSWER))
    first, second = await house.rows("SELECT * FROM sessions ORDER BY started_ms")
    assert (first["state"], first["reason"]) == ("gone", "clear")
    assert (await house.one("SELECT session FROM bound_threads"))["session"] == second["id"]
    ada.record("clear-with-a-question")
    await sums_up(house, asked=1)


async def _until(house: House, what: str) -> None:
    """Wait for a session of which this holds; a row of memory.db has no events to wait on."""
    await _found(house, f"SELECT 1 FROM sessions WHERE {what}")


async def _asked_in_state(house: House, state: str) -> None:
    await _found(house, f"SELECT 1 FROM shared_messages WHERE kind = 'question' AND state = '{state}'")


async def _found(house: House, sql: str) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not await house.rows(sql):  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.05)
