"""Several daemons on one memory.db: each accepts for the souls of all, and the one that hosts a soul answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from daemon.runtime.dispatcher import POLL
from daemon.shared.news import LOOK_S
from tests.given import shown
from tests.journeys.house import House, SlackDaemon
from tests.journeys.souls import write_soul
from tests.processes import OtherProcess

BEN = "You are Ben, a sailor."
SAY_SO = """
INSERT INTO presence (id, soul, workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state, detail)
SELECT ?, 'ben', workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state,
       json_set(detail, '$.souls', json('{"ben": ["C0GENERAL"]}')) FROM presence
"""


@asynccontextmanager
async def hosted_elsewhere(house: House) -> AsyncIterator[SlackDaemon]:
    """A daemon that hosts Tess, and the presence of another process that hosts Ben, for #general."""
    home = house.settings.home
    write_soul(home)
    write_soul(home, "ben", 'channels = ["C0GENERAL"]\n', shown="Ben", personality=BEN)
    hears = await house.start(name="tess")
    with OtherProcess(house.settings.database_path) as other:
        await house.change(SAY_SO, other.name)
        assert hears.built is not None
        await hears.built.hosting.refresh()
        yield hears


async def test_what_a_daemon_hears_for_a_soul_of_another_is_answered_by_that_one(empty_house: House) -> None:
    async with hosted_elsewhere(empty_house):
        ts = await empty_house.say("Ada", "general", "@soul ahoy")
        await empty_house.acknowledged()
        row = await empty_house.one("SELECT soul, state FROM inbox WHERE ts = ?", ts)
        assert tuple(row) == ("ben", "new"), "its host is not there yet"
        assert not empty_house.prompts
        await empty_house.start(name="ben")
        await empty_house.reply("general", "ahoy")
        assert BEN in shown(next(one for one in empty_house.prompts if "ahoy" in shown(one)))
        await empty_house.idle()
        assert len(await empty_house.replies("general")) == 1


async def test_the_host_of_a_soul_claims_what_another_accepts_at_its_next_look(empty_house: House) -> None:
    async with hosted_elsewhere(empty_house):
        await empty_house.start(name="ben")
        empty_house.clock.stand_still()
        for number in range(4):  # the platform gives them to the one daemon or the other
            await empty_house.say("Ada", "general", f"@soul ahoy {number}")
        await empty_house.acknowledged()
        began = empty_house.clock.now_ms()

        async def claimed() -> bool:
            empty_house.clock.turn(LOOK_S / 4)
            return len(await empty_house.rows("SELECT 1 FROM inbox WHERE soul = 'ben' AND state <> 'new'")) == 4

        await empty_house.when(claimed)
        assert empty_house.clock.now_ms() - began < 1000 * POLL


async def test_a_stop_that_another_process_stored_ends_a_thought(empty_house: House) -> None:
    await empty_house.start()
    await empty_house.asking("Ada", "general", "@soul think")
    await empty_house.change("UPDATE inbox SET stopped = 1 WHERE state = 'claimed'")
    assert "topped" in str(await empty_house.reply("general"))
