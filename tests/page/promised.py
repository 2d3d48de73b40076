"""A soul that thinks whole thoughts, on the page: it promises to come back, does so, and says what it has in mind.

The test runs it to check the daemon; `scripts/screenshots.py` runs it to take the pictures of README.md.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from playwright.async_api import expect

from tests.journeys.thinking import adding, expecting, thought
from tests.page.journey import Look, Opener, PageTalk
from tests.page.loopback_model import ModelCall, loopback_model
from tests.page.running import running_daemon

ADA: Final = ("U0ADA", "D0ADA")

_ASKED: Final = "The nightly import failed again. I've restarted it; can you check on it within the hour?"
_PROMISED: Final = """\
I will. The last two failures came after the **same table**, `events_archive`; if it happens a third time, \
I'd look at its lock first."""
_KEPT: Final = """\
You wanted to hear of the nightly import. I have seen no new failure since you restarted it. \
If it ran through for you as well, I'd leave the lock alone."""
_THANKS: Final = "Gladly."
_MISSION: Final = "find out what locks events_archive"
_REPLIES: Final[Mapping[str, str]] = {
    _ASKED: thought(
        _PROMISED,
        goal_updates=[
            adding("the nightly import", due="in 55m", follow_up=True),
            adding(_MISSION, priority=0.5),
        ],
        predictions=[expecting("the import fails again", 0.3, "in 55m")],
        inner_speech="She sounds tired of it. I will look in an hour.",
    ),
    "thank you!": thought(_THANKS),
}
_ALONE: Final = "its time has come"
_SETTINGS: Final = {
    "SOUL_NAME": "soul",
    "SOUL_CYCLE_ENABLED": "true",
    "SOUL_CYCLE_TOKENS_HOUR": "100000",
    "SOUL_CYCLE_USD_DAY": "1000",  # the price of the scripted model is unknown, so that it counts with the most
    "SOUL_QUIET_HOURS": "",
}


def _answer(call: ModelCall) -> str:
    if call.step != "think":
        return "Let them speak."
    if _ALONE in call.prompt:
        done = {"action": "complete", "goal_id": "G1", "why": "she knows"}
        return thought(_KEPT, goal_updates=[done])
    return _REPLIES.get(call.last, thought("Yes."))


@asynccontextmanager
async def begun(home: Path, open_window: Opener, look: Look) -> AsyncIterator["PromiseKept"]:
    """A daemon in `home` whose soul thinks whole thoughts, also by itself, and Ada's window."""
    folder = home / "souls" / "soul"
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text('name = "soul"\ndisplay_name = "Soul"\nmind = "cycle"\nsubprocesses = []\n')
    (folder / "soul.md").write_text("You are a colleague who keeps an eye on things.\n")
    async with loopback_model(_answer) as model, running_daemon(home, _SETTINGS | model.settings) as daemon:
        yield PromiseKept(await open_window(daemon.page_url, *ADA), daemon, model, look)


class PromiseKept(PageTalk):
    """What Ada is promised."""

    __slots__ = ()

    async def promises(self) -> None:
        """Below the reply the house says when the soul comes back to it, and how to decline."""
        await self._asked(_ASKED, "same table")
        await expect(self._last()).to_contain_text("I'll come back to “the nightly import”")
        await expect(self._last()).to_contain_text("not now")

    async def keeps_it(self) -> None:
        await self.window.move_the_clock("In an hour")
        await expect(self.window.timeline.locator(".message").last).to_contain_text("no new failure")
        await self.daemon.answered()
        await self._asked("thank you!", _THANKS)
        await self.look("kept", ADA[1])
