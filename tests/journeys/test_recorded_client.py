"""What the real client gave to the hook script in its tests, played to the script and the daemon once more."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.client import Client, Ran
from tests.hooks.companion import SessionProcess
from tests.hooks.real_client import recordings
from tests.hooks.real_client.sums import ANSWER, sums_up
from tests.journeys.asking import WORDS, AskedSession, allowed, asks, door, new_key, states
from tests.journeys.binding import bound_thread
from tests.journeys.house import House, said
from tests.journeys.waking import process, resting

__all__ = ("process", "resting")
pytestmark = pytest.mark.slow
SCENES = sorted(path.stem for path in recordings.FOLDER.glob("*.json"))


class PlayedClient:
    """Plays a recording, hook by hook; where a turn began with what the companion wrote, with what it writes now."""

    def __init__(self, scene: str, client: Client, process: SessionProcess | None = None) -> None:
        self._events = recordings.read(scene)
        self._client, self._process = client, process

    async def plays(self, name: str, **fields: object) -> Ran:
        """Play the next hook, which has to be this one."""
        event = self._events.pop(0)
        hook: dict[str, Any] = event["hook"]
        assert hook["hook_event_name"] == name
        assert fields.items() <= hook.items()
        if self._process and "asks this session something" in hook.get("prompt", ""):
            hook["prompt"] = await self._process.woken()
        self._client.env["CLAUDE_CODE_SESSION_ATTENDED"] = event["env"]["CLAUDE_CODE_SESSION_ATTENDED"]
        return await self._client.run(hook)

    async def plays_on(self) -> None:
        """Play all that is left."""
        while self._events:
            await self.plays(self._events[0]["hook"]["hook_event_name"])


@pytest.fixture
async def client(house: House, tmp_path: Path) -> AsyncIterator[Client]:
    async with door(house) as url:
        yield Client(tmp_path / "api", url, await new_key(house))


@pytest.mark.parametrize("scene", SCENES)
async def test_the_daemon_takes_each_hook_of_the_real_client_once_and_knows_how_its_sessions_are(
    house: House, client: Client, scene: str
) -> None:
    hooks = [one["hook"] for one in recordings.read(scene)]
    await PlayedClient(scene, client).plays_on()
    assert client.kept == []
    assert len(await house.rows("SELECT 1 FROM session_events")) == len(hooks)
    found = {row["id"]: row for row in await house.rows("SELECT * FROM sessions")}
    assert found.keys() == {one["session_id"] for one in hooks}
    for id_, row in found.items():
        newest = [one for one in hooks if one["session_id"] == id_][-1]
        over = newest["hook_event_name"] == "SessionEnd"
        assert (row["state"] == "gone", row["project"]) == (over, "api")
        assert not over or row["reason"] == newest["reason"]


async def test_a_session_at_rest_is_woken(house: House, process: SessionProcess, resting: AskedSession) -> None:
    played = PlayedClient("woken", resting.client, process)
    await played.plays("SessionStart")
    await asks(house)
    await allowed(house)
    await played.plays("UserPromptSubmit")
    await played.plays("Stop", last_assistant_message=ANSWER)
    assert ANSWER in said(await house.reply("general", ANSWER))
    await sums_up(house, asked=1)


async def test_a_session_at_work_reads_it_at_its_end(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    played = PlayedClient("at-work", resting.client, process)
    await played.plays("SessionStart")
    await played.plays("UserPromptSubmit", prompt="HOLD on to something long")
    await asks(house, "Ada", "dm")
    await asks(house, "Ada", "dm", "and who wrote it?")
    assert WORDS in (await played.plays("Stop", stop_hook_active=False)).context
    assert (await played.plays("Stop", stop_hook_active=True)).context == ""
    await played.plays_on()
    await house.reply("D0ADA", ANSWER, count=2)
    await sums_up(house, asked=2)


async def test_a_turn_that_is_stopped_by_escape_does_not_lose_what_it_was_asked(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    played = PlayedClient("escape", resting.client, process)
    await played.plays("SessionStart")
    await asks(house)
    await allowed(house)
    await played.plays("UserPromptSubmit", prompt_id="p1")
    assert await states(house) == ["delivered"]
    await played.plays("UserPromptSubmit", prompt_id="p2")
    assert WORDS in (await played.plays("Stop", stop_hook_active=False)).context
    await played.plays_on()
    await house.reply("general", ANSWER)
    await sums_up(house, asked=1)


async def test_a_session_killed_after_the_click_answers_once_resumed(house: House, process: SessionProcess) -> None:
    played = PlayedClient("killed-after-the-click", process.client, process)
    for name in ("SessionStart", "UserPromptSubmit", "Stop", "UserPromptSubmit"):
        await played.plays(name)
    await asks(house)
    await allowed(house)
    assert await process.kill() == b""
    await house.row("SELECT 1 FROM sessions WHERE state = 'gone'")
    house.clock.turn(3)
    await house.reply("general", "is gone and has not answered")
    await process.start()
    await played.plays("SessionStart", source="resume")
    await played.plays_on()
    await house.reply("general", ANSWER)
    await sums_up(house, asked=1)


async def test_after_clear_questions_and_the_thread_are_those_of_the_next_session(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    played = PlayedClient("clear-with-a-question", resting.client, process)
    await played.plays("SessionStart")
    ts = await bound_thread(house)
    await house.say("Ada", "general", WORDS, thread=ts)
    for name in ("UserPromptSubmit", "SessionEnd", "SessionStart"):
        await played.plays(name)
    await played.plays_on()
    await house.reply("general", ANSWER)
    assert (await house.one("SELECT session FROM bound_threads"))["session"] == "s2"
    await sums_up(house, asked=1)
