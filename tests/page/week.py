"""A week of talk on the page: what the soul comes to remember of a person, why it says so, and how they end it.

The test runs it to check the daemon; `scripts/screenshots.py` runs it to take the pictures of docs/MEMORY.md.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw
from playwright.async_api import expect

from tests.page.journey import Look, Opener, PageTalk
from tests.page.loopback_model import PICTURE, ModelCall, loopback_model, tagged
from tests.page.running import running_daemon

ADA: Final = ("U0ADA", "D0ADA")

_WORK: Final = "I'm Ada, I look after the nightly imports."
_LISTS: Final = "Please answer me in short lists, never in long prose."
_BOARD: Final = "This is our whiteboard after the planning."
_ASKED_LATER: Final = "When is the cutover, by the whiteboard of yesterday?"
_SEEN: Final = "cutover 18:00, Chloe decides"
_UNKNOWN: Final = "I don't remember that."

_REPLIES: Final[Mapping[str, str]] = {
    _WORK: "Welcome, Ada. Nightly imports want a patient keeper.",
    _LISTS: "Noted:\n- short lists\n- no long prose",
    _BOARD: "Three columns, and a cutover with a name beside it.",
}
_NOTES: Final = {
    "add": [
        {"text": "Looks after the nightly imports", "group": "work", "quote": "I look after the nightly imports"},
        {"text": "Wants short lists, never long prose", "group": "answering", "quote": _LISTS},
    ]
}
_PICTURE: Final = {"description": "A whiteboard with three columns.", "visible_text": _SEEN}
_STEPS: Final[Mapping[str, str]] = {
    "visitor_notes": json.dumps(_NOTES),
    "look": json.dumps({"pictures": [_PICTURE]}),
    "feel": json.dumps({"emotional_state": "calm", "topic": "the imports", "task": ""}),
    "close_episode": json.dumps({"content": "Ada spoke of the nightly imports.", "significance": 4}),
}


def _answer(call: ModelCall) -> str:
    if call.step != "respond":
        return _STEPS.get(call.step, "Let them speak.")
    if _ASKED_LATER in call.last:
        remembered = _SEEN in call.prompt and PICTURE in call.prompt
        return tagged(f"- {_SEEN}" if remembered else _UNKNOWN)
    known = (reply for words, reply in _REPLIES.items() if words in call.last)
    return tagged(next(known, "Yes."), learned=call.last in (_WORK, _LISTS))


@asynccontextmanager
async def begun(home: Path, open_window: Opener, look: Look) -> AsyncIterator["WeekOfTalk"]:
    """A daemon in `home` with its model, and Ada's window."""
    async with loopback_model(_answer) as model, running_daemon(home, model.settings) as daemon:
        yield WeekOfTalk(await open_window(daemon.page_url, *ADA), daemon, model, look)


class WeekOfTalk(PageTalk):
    """Ada's week."""

    __slots__ = ()

    async def gets_to_know_her(self) -> None:
        """Two things about herself are learned in a lull; the first reply says that it remembers."""
        await self._asked(_WORK, _REPLIES[_WORK])
        await expect(self._last()).to_contain_text("I remember")
        await self._asked(_LISTS, "short lists")
        await self._until("In an hour")
        await self.daemon.until("SELECT count(*) >= 2 FROM facts")

    async def is_shown_a_picture(self) -> None:
        """A picture is looked at; a day later it is remembered, and shown to the model again."""
        await self._until("Tomorrow at nine")
        picture = Image.new("RGB", (640, 360), "white")
        ImageDraw.Draw(picture).text((40, 150), _SEEN, fill="navy", font_size=32)
        picture.save(self.daemon.home / "whiteboard.png")
        await self.window.page.locator("#room input[type=file]").set_input_files([self.daemon.home / "whiteboard.png"])
        await self._asked(_BOARD, _REPLIES[_BOARD])
        await self.look("picture", ADA[1])
        await self._until("Tomorrow at nine")
        await self._asked(_ASKED_LATER, _SEEN)
        await self.look("remembered", ADA[1])

    async def tells_what_it_knows(self) -> None:
        """The list of what is known, the words that prove a line, and a line corrected."""
        await self._until("In a week")
        await self._asked("what do you know about me", "nightly imports")
        await expect(self._last()).to_contain_text("short lists")
        await expect(self._last()).to_contain_text("in your files (1)")
        await self.look("known", ADA[1])
        await self._asked("why 1", "I look after the nightly imports")
        await self._asked("wrong 1: I look after all exports now", "all exports now")
        await self._asked("what do you know about me", "all exports now")
        await expect(self._last()).not_to_contain_text("nightly imports")
        await self.look("corrected", ADA[1])

    async def forgets_her(self) -> None:
        """After a click nothing of her is left, and the soul knows nothing."""
        await self._asked("forget me", "yes, forget me")
        await self.look("forget", ADA[1])
        await self._last().get_by_role("button").first.click()
        await expect(self.window.timeline.locator(".message").last).to_contain_text("Forgotten:")
        await self.look("forgotten", ADA[1])
        await self._asked("what do you know about me", "noted nothing about you")

    # -- steps ------------------------------------------------------------------------------------------------------

    async def _until(self, later: str) -> None:
        await self.daemon.answered()  # a cycle under way would miss its deadline
        await self.window.move_the_clock(later)
        await self.daemon.at_rest()
