"""A day in a team of four on the page: from the invitation in the morning to the digest of the next one.

The test runs it to check the daemon; `scripts/screenshots.py` runs it to take the pictures of the README.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from playwright.async_api import Locator, expect

from daemon.core.value import Value
from tests.page.journey import Look, Opener
from tests.page.loopback_model import LoopbackModel, ModelCall, loopback_model, tagged
from tests.page.running import RunningDaemon, running_daemon
from tests.page.window import Window
from tests.workspace_client import WorkspaceClient

RANDOM: Final = "C0RANDOM"

_CUTOVER: Final = "@Kothar who decides when we cut over?"
_TABLE: Final = "can you move the events table for us?"
_CHOICES: Final = {_TABLE: "\n<short_answers>Postgres | SQLite</short_answers>"}
_STANDUP: Final = "Remind me every day at nine of the stand-up."
_DIGEST: Final = "@Kothar post a digest of this channel here every day at nine"
_ESSAY: Final = "Tell me all about the history of the harbour, please."

_REPLIES: Final[Mapping[str, str]] = {
    _TABLE: "Gladly. From which database?",
    "the stand-up": "Good morning, Kei: the stand-up begins.",
    "SQLite": "Then one file moves, and nothing else: I'd stop the writers, copy it, and start them again.",
    "who decides when we cut over?": "**Chloe** does; she wants the readers first. I'd ask her before 18:00.",
}
_WISHES: Final[Mapping[str, str]] = {
    _STANDUP: json.dumps({"what": "the stand-up", "every": "daily 09:00", "drop": []}),
    _DIGEST.removeprefix("@Kothar "): json.dumps({"what": "", "every": "daily 09:00", "digest": True, "drop": []}),
}
_DIGEST_OF_DAY: Final = "- It ships on **Thursday at four**.\n- Chloe writes the notes tonight."


def _answer(call: ModelCall) -> str:
    """What the model says to a call: a wish for a reminder first, then its words."""
    last = next((words for words in (*_WISHES, *_REPLIES) if words in call.last), "")
    if call.step == "respond" and last in _WISHES and "You have set a reminder" not in call.prompt:
        return tagged("It leads nowhere.").replace("<calls_for>nothing", "<calls_for>reminder")
    if call.step == "intend":
        return _WISHES[last]
    if call.step == "digest":
        return _DIGEST_OF_DAY
    return tagged(_REPLIES.get(last, "Noted.")) + _CHOICES.get(last, "") if call.step == "respond" else "{}"


@asynccontextmanager
async def begun(home: Path, open_window: Opener, look: Look) -> AsyncIterator["TeamDay"]:
    """A daemon in `home` with its model, and the windows of Ada, Ben, Chloe and Kei, who lives in Tokyo."""
    async with (
        loopback_model(_answer) as model,
        running_daemon(home, model.settings) as daemon,
        WorkspaceClient(daemon.page_url) as people,
    ):
        kei = str((await people.add_person("Kei", zone="Asia/Tokyo"))["id"])
        await people.join("Kei", "random")
        who = {"Ada": "U0ADA", "Ben": "U0BEN", "Chloe": "U0CHLOE", "Kei": kei}
        windows = {name: await open_window(daemon.page_url, user, RANDOM) for name, user in who.items()}
        yield TeamDay(windows, daemon, people, model, look)


class TeamDay(Value):
    """The windows by name; `look` is called at each view worth a picture."""

    windows: Mapping[str, Window]
    daemon: RunningDaemon
    people: WorkspaceClient
    model: LoopbackModel
    look: Look

    async def is_lived(self) -> None:
        await self.invites_it()
        await self.answers_in_a_thread()
        await self.asks_back()
        await self.keeps_time()
        await self.stops()
        await self.shows_its_home()
        await self.tells_the_day()

    async def invites_it(self) -> None:
        """Ada adds the soul to a channel."""
        ada = self.windows["Ada"]
        await ada.page.get_by_role("button", name="Add Kothar").click()
        await expect(self._last(ada)).to_contain_text("Hello, I am Kothar")
        await self.daemon.answered()
        await self.look("invited", "Ada")

    async def answers_in_a_thread(self) -> None:
        """Ben asks in the channel; Chloe talks to him below the answer, and is left alone."""
        ben, chloe = self.windows["Ben"], self.windows["Chloe"]
        await ben.say(_CUTOVER)
        await expect(ben.thread.locator(".message").last).to_contain_text("Chloe")
        await self.daemon.answered()
        await chloe.message("cut over").get_by_role("button", name="1 reply").click()
        await chloe.reply_box.fill("@Ben yes, at six. The alert of the night was the disk of the old host.")
        await chloe.reply_box.press("Enter")
        await self.daemon.answered()
        await expect(ben.thread.locator(".message")).to_have_count(3)
        await self.look("thread", "Ben")

    async def asks_back(self) -> None:
        """The soul asks Ben a question with two answers; he presses one, which no one else could."""
        ben, chloe = self.windows["Ben"], self.windows["Chloe"]
        await ben.say(f"@Kothar {_TABLE}")
        await expect(ben.thread.get_by_role("button", name="SQLite")).to_be_visible()
        await self.daemon.answered()
        await self.look("asked", "Ben")
        question = chloe.message("events table")
        await question.get_by_role("button", name="1 reply").click()
        await chloe.thread.get_by_role("button", name="SQLite").click()
        await expect(chloe.page.get_by_text("that had no effect")).to_be_visible()
        await ben.thread.get_by_role("button", name="SQLite").click()
        await expect(ben.thread.locator(".message").last).to_contain_text("one file moves")
        await expect(chloe.thread.get_by_role("button", name="Postgres")).to_have_count(0)
        await self.daemon.answered()
        await self.look("answered", "Ben")

    async def keeps_time(self) -> None:
        """Kei is to be reminded at nine in Tokyo, the channel of its day at nine in Athens."""
        kei, ada = self.windows["Kei"], self.windows["Ada"]
        await kei.go("Kothar")
        await kei.say(_STANDUP)
        await expect(self._last(kei)).to_contain_text("09:00")
        await self.look("reminder", "Kei")
        await ada.say(_DIGEST)
        await expect(ada.thread.locator(".message").last).to_contain_text("09:00")
        await self.daemon.at_rest()
        await self.look("digest-ordered", "Ada")
        ben, chloe = self.windows["Ben"], self.windows["Chloe"]
        await ben.say("We ship on Thursday, at four.")
        await chloe.say("Then I'll write the notes tonight.")

    async def stops(self) -> None:
        """Chloe stops an answer that she needs no more."""
        chloe = self.windows["Chloe"]
        await chloe.go("Kothar")
        gate = self.model.hold("respond")
        await chloe.say(_ESSAY)
        await self.daemon.until("SELECT count(*) FROM inbox WHERE state = 'claimed'")
        await chloe.say("stop")
        await expect(self._last(chloe)).to_contain_text("top")
        gate.set()
        self.model.held.clear()
        await self.daemon.answered()
        await self.look("stopped", "Chloe")

    async def shows_its_home(self) -> None:
        ada = self.windows["Ada"]
        await ada.go("Kothar")
        await ada.page.get_by_role("button", name="Home", exact=True).click()
        await expect(ada.page.get_by_role("region", name="Home")).to_contain_text("digest")
        await self.look("home", "Ada")

    async def tells_the_day(self) -> None:
        """The next morning brings the digest into the channel, and Kei's reminder."""
        ada, kei = self.windows["Ada"], self.windows["Kei"]
        await ada.go("random")
        await ada.move_the_clock("Tomorrow at nine")
        await expect(ada.timeline.locator(".message").last).to_contain_text("Thursday at four")
        await expect(ada.timeline.get_by_role("separator")).to_have_text(["Yesterday", "Today"])
        await expect(self._last(kei)).to_contain_text("the stand-up begins")
        await self.daemon.at_rest()
        await self.look("digest", "Ada")
        await self.look("reminded", "Kei")

    def _last(self, window: Window) -> Locator:
        return window.timeline.locator(".message").last
