"""Several daemons on one memory.db: each accepts for the souls of all, and the one that hosts a soul answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from daemon.core.bell_sockets import hang
from daemon.memory.queues.presence import ProcessIdentity, bells_beside
from tests.given import shown
from tests.journeys.house import House, SlackDaemon
from tests.journeys.souls import write_soul

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
    identity = replace(ProcessIdentity.current(), namespace="4026530000")
    hung = hang(bells_beside(house.settings.database_path), identity.bell)
    assert hung is not None
    with hung[0]:
        await house.change(SAY_SO, str(identity))
        assert hears.built is not None
        await hears.built.hosting.heed()
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


async def test_the_host_of_a_soul_claims_what_another_accepts_without_time_passing(empty_house: House) -> None:
    async with hosted_elsewhere(empty_house):
        await empty_house.start(name="ben")
        empty_house.clock.stand_still()
        for number in range(4):  # the platform gives them to the one daemon or the other
            await empty_house.say("Ada", "general", f"@soul ahoy {number}")
        await empty_house.acknowledged()
        await empty_house.row("SELECT 1 FROM inbox WHERE soul = 'ben' AND state <> 'new'", count=4)


async def test_a_folder_of_bells_that_is_none_is_logged_once_and_the_daemon_works(empty_house: House) -> None:
    (empty_house.settings.home / "bells").write_text("no bell can hang here")
    await empty_house.start()
    assert await empty_house.answered("Ada", "dm", "ahoy")
    [logged] = empty_house.events.named("bells.missing")
    assert logged["folder"] == str(empty_house.settings.home / "bells")
