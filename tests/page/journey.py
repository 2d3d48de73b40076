"""A person's first days with a soul, on the page: their messages, the model's replies, and what the page shows.

The test runs it to check the daemon; `scripts/screenshots.py` runs it to take the pictures of docs/ENGINE.md.
"""

import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Locator, expect

from tests.page.lines import Exchange, Lines
from tests.page.loopback_model import LoopbackModel, loopback_model
from tests.page.running import ROOT, RunningDaemon, running_daemon
from tests.page.window import Window
from tests.tools.parts import listing, program
from tests.workspace_client import WorkspaceClient

Look = Callable[[str, str], Awaitable[None]]
"""Takes a picture; its arguments are the picture's name and the view to show, as in the page's URL."""

Opener = Callable[[str, str, str], Awaitable[Window]]
"""Opens a window: the page's URL, the id of the person, the view to show."""


@dataclass(frozen=True, slots=True)
class PageTalk:
    """A person's window, the daemon and its model; `look` is called at each view worth a picture."""

    window: Window
    daemon: RunningDaemon
    model: LoopbackModel
    look: Look

    async def _asked(self, words: str, seen: str) -> None:
        await self.window.say(words)
        await expect(self._last()).to_contain_text(seen)
        await self.daemon.answered()

    def _last(self) -> Locator:
        return self.window.timeline.locator(".message.nested").last


def _furnish(home: Path, lines: Lines) -> dict[str, str]:
    """Write two souls, a library and a list of MCP servers to a folder; gives the settings that name them."""
    shutil.copytree(ROOT / "souls" / "minoan", home / "souls" / "minoan")
    shutil.copytree(ROOT / "souls" / "plain", home / "souls" / "tamarru")
    (home / "souls" / "tamarru" / "soul.toml").write_text(
        'name = "tamarru"\ndisplay_name = "Tamarru"\nicon = ":fire:"\nchannels = ["C0RANDOM"]\n', encoding="utf-8"
    )
    with (home / "souls" / "minoan" / "soul.toml").open("a", encoding="utf-8") as more:
        more.write('\n[[contacts]]\nname = "Chloe"\nslack = "U0CHLOE"\ncan = "decides about releases"\n')
    (home / "handbook").mkdir()
    for name, text in lines.search.files.items():
        (home / "handbook" / name).write_text(text, encoding="utf-8")
    servers = listing(home, shelf=program(cwd=str(home), env={"PYTHONPATH": str(ROOT)}))
    return {
        "ISM_ENABLED": "true",
        "SOUL_SOULS": "tamarru",
        "SOUL_LEARN_AFTER": "0",
        "SOUL_LIBRARY": str(home / "handbook"),
        "SOUL_MCP_SERVERS": str(servers),
    }


@asynccontextmanager
async def begun(home: Path, lines: Lines, open_window: Opener, look: Look) -> AsyncIterator["Journey"]:
    """A daemon in `home` with its model, and the window of the person who speaks these lines."""
    async with (
        loopback_model(lines.answer) as model,
        running_daemon(home, _furnish(home, lines) | model.settings) as daemon,
        WorkspaceClient(daemon.page_url) as people,
    ):
        person, room = "U0ADA", "D0ADA"
        if lines.locale != "en-US":
            made = await people.add_person(lines.person, locale=lines.locale, zone=lines.zone)
            person, room = str(made["id"]), await people.open_dm(lines.person)
        await daemon.logged("tools.server_connected")  # a connection for which the clock is moved would be given up
        window = await open_window(daemon.page_url, person, room)
        yield Journey(window, daemon, model, look, person, room, lines, people)


@dataclass(frozen=True, slots=True)
class Journey(PageTalk):
    """The talk of a person with this id, and that of their DM, who speaks these lines."""

    person: str
    dm: str
    lines: Lines
    people: WorkspaceClient

    async def greets_and_welcomes_back(self) -> None:
        """The soul greets a new user; after a visit has ended it welcomes them back."""
        await self._talk(self.lines.greeting, self.lines.trouble)
        await self.look("greeting", self.dm)
        await self._end_the_visit()
        await self._talk(self.lines.back)
        await self.look("returning", self.dm)

    async def turns_poet_and_scholar(self) -> None:
        await self._talk(self.lines.poem)
        await self.look("poem", self.dm)
        await self._talk(self.lines.scholarly)
        await self.look("modes", self.dm)

    async def solves_a_problem(self) -> None:
        """A problem in a channel: a live plan, and a reply with its three sources."""
        gate = self.model.hold("external_dialog")
        thread = await self._mention(f"@Kothar {self.lines.search.says}")
        tasks = self.window.thread.get_by_role("list", name="Steps").get_by_role("listitem")
        await expect(tasks.last).to_contain_text(f"{self.lines.house['doing_respond']}, In progress")
        await expect(tasks.filter(has_text=self.lines.house["doing_think"])).to_have_count(1)
        await self.look("plan", f"C0GENERAL/{thread}")
        gate.set()
        last = self._last_in_thread()
        for name in self.lines.search.files:
            await expect(last).to_contain_text(f"handbook/{name}")
        await expect(last.locator(".feedback").get_by_role("button").first).to_have_attribute(
            "aria-label", self.lines.house["good_label"]
        )
        await self.look("sources", f"C0GENERAL/{thread}")

    async def asks_for_permission(self) -> None:
        """A tool that writes needs an approval; after it the tool runs once and the buttons disappear."""
        thread = await self._mention(f"@Kothar {self.lines.note.says}")
        question, approve = self._last_in_thread(), self.lines.house["approve"]
        await expect(question.get_by_role("button", name=approve)).to_be_visible()
        assert not (self.daemon.home / "notes.txt").exists()
        await self.daemon.at_rest()
        await self.look("permission", f"C0GENERAL/{thread}")
        await question.get_by_role("button", name=approve).click()
        await expect(self._last_in_thread()).to_contain_text(self.lines.note.seen)
        await expect(self.window.thread.get_by_role("button", name=approve)).to_have_count(0)
        await expect(self.window.thread.get_by_text(self.lines.house["allowed"], exact=True)).to_be_visible()
        assert (self.daemon.home / "notes.txt").read_text(encoding="utf-8") == f"{self.lines.note.thought}\n"
        await self.look("permitted", f"C0GENERAL/{thread}")

    async def meets_a_second_soul(self) -> None:
        """Another soul replies in its own channel, under its own name."""
        for one in ("Kothar", self.lines.person):
            await self.people.join(one, "random")
        thread = await self._mention(f"@Kothar {self.lines.other_soul.says}", channel="C0RANDOM")
        await expect(self._last_in_thread()).to_contain_text(self.lines.other_soul.seen)
        await expect(self._last_in_thread().locator(".author")).to_have_text("Tamarru")
        await self.look("second-soul", f"C0RANDOM/{thread}")

    async def is_reminded(self) -> None:
        """The soul sets a reminder, says when it is due, and begins a conversation about it then."""
        await self._open(self.dm)
        await self._talk(self.lines.reminder)
        await expect(self._last()).to_contain_text(re.compile(r"\d\d:\d\d"))
        await self.people.advance(20 * 60 + 1)
        await expect(self.window.timeline.locator(".message").last).to_contain_text(self.lines.due.seen)
        await self.daemon.at_rest()
        await self.look("reminder", self.dm)

    # -- steps ------------------------------------------------------------------------------------------------------

    async def _talk(self, *exchanges: Exchange) -> None:
        for one in exchanges:
            await self.window.say(one.says)
            await expect(self._last()).to_contain_text(one.seen)
            await expect(self._last().locator(".feedback")).to_be_visible()
            await self.daemon.at_rest()

    async def _mention(self, words: str, *, channel: str = "C0GENERAL") -> str:
        """Mention the soul in a channel; its reply opens the thread. Gives the thread's ts."""
        await self._open(channel)
        await self.window.say(words)
        message = self.window.timeline.locator(".message:not(.nested)").last
        await expect(self.window.thread.locator(".message").first).to_contain_text(words.removeprefix("@Kothar "))
        return str(await message.get_attribute("data-ts"))

    async def _open(self, room: str) -> None:
        await self.window.page.locator(f'#sidebar a[href="#/{room}"]').click()
        await expect(self.window.page.locator(f'#sidebar a[href="#/{room}"]')).to_have_attribute("aria-current", "page")

    async def _end_the_visit(self) -> None:
        await self.window.move_the_clock("Tomorrow at nine")
        await self.daemon.until("SELECT count(*) FROM transitions WHERE target = 'exiting'")

    def _last_in_thread(self) -> Locator:
        return self.window.thread.locator(".message").last
