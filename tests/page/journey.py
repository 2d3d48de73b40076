"""Ada's first days with a soul, on the page: her messages, the model's replies, and what the page shows.

The test runs it to check the daemon; `scripts/screenshots.py` runs it to take the pictures of docs/ENGINE.md.
"""

import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.async_api import Locator, expect

from daemon.local_slack.client import WorkspaceClient
from tests.page.loopback_model import LoopbackModel, ModelCall, tagged
from tests.page.running import ROOT, RunningDaemon
from tests.page.window import Window
from tests.tools.parts import listing, program

A_VISIT_ENDS: Final = 4 * 3600 + 60
"""Seconds of silence after which a visit has ended (SOUL_VISIT_SILENCE is four hours)."""

Look = Callable[[str, str], Awaitable[None]]
"""Takes a picture; its arguments are the picture's name and the view to show, as in the page's URL."""

GREETED, BACK, POEM = "good morning! I'm Ada, I look after the imports.", "I'm back. The import is fixed!", "haiku"
SCHOLARLY = "Is Linear A related to Linear B? I'd like a scholarly answer."
HARD, ASKED = "why is the nightly import slower since Tuesday?", "figure out which deploy broke the report"
ANSWERED, WRITTEN = "the one of Tuesday, on staging", "look into the shelf and note that we freeze on Friday"

_HANDBOOK: Final = """\
# Imports

The nightly import reads the events of one day in batches of 50,000 rows.

Since Tuesday's release each row's country is looked up by itself, not once a batch: an import of a million rows makes a
million requests. Setting `IMPORT_LOOKUP=batch` brings the old way back until the next release.
"""
_REPLIES: Final[Mapping[str, str]] = {
    GREETED: tagged(
        "Good morning, Ada, and welcome. I'm Kothar; I mend things here, mostly by asking early.\n\n"
        "Imports are a good place to begin: is one of them giving you trouble today?",
        "New here. Don't overwhelm her.",
        learned=True,
    ),
    "The nightly one": tagged("Then tell me when it began, and I'll look at what changed that day.", learned=True),
    BACK: tagged(
        "There you are again, and with good news. **Fixed** is a fine word: was it the lookup, as it seemed yesterday?",
        "Visit two. The import she worried about.",
        learned=True,
        moved=True,
    ),
    SCHOLARLY: tagged(
        "**What is certain.** The two scripts share some sixty signs, and Linear B was made from Linear A.\n\n"
        "**What is widely held.** The *scripts* are kin, the *languages* are not: Linear B writes Greek; the language "
        "of Linear A is unknown.\n\n"
        "**What a minority holds.** Gordon read it as Semitic. The argument rests on few words, *ku-ro* (“total”) "
        "among them, and most epigraphers are not convinced.\n\n"
        "**My own guess** is worth little here: the corpus is too small.",
        "Keep the weights apart.",
    ),
    f"Write me a {POEM}": tagged(
        "Night ships unload rows,\nthe quay lamp counts them twice — once\nfor the sea, once home.",
        "Rows, and who counts them.",
    ),
    "Make the last line colder": tagged(
        "Night ships unload rows,\nthe quay lamp counts them twice — once\nfor the sea, once frost.",
        "Home was the warm word.",
    ),
    "Now name the harbour": tagged(
        "Ugarit unloads rows,\nthe quay lamp counts them twice — once\nfor the sea, once frost.",
        "The first line alone.",
    ),
    "what do you look after?": tagged("The hearth, and the words that are meant to last. Bring me a launch to sing."),
    "The standup": tagged("It's time, Ada: **the standup**. You wanted to tell them about the import."),
}
_WISHES: Final[Mapping[str, str]] = {
    f"Write me a {POEM}": "poem",
    SCHOLARLY: "scholarship",
    HARD: "research",
    ASKED: "research",
    WRITTEN: "research",
}


def chosen(*actions: tuple[str, str], why: str = "It is the shortest way.") -> str:
    """A model reply that chooses actions."""
    return json.dumps({"actions": [{"name": name, "input": given} for name, given in actions], "reasoning": why})


def answer(call: ModelCall) -> str:
    """The model's reply to a call of the journey."""
    reply = _ANSWERS.get(call.step, "She cares for the import; it will come up again.")
    return reply if isinstance(reply, str) else reply(call)


def _reply(call: ModelCall) -> str:
    """What was scripted for the newest message, after the wish that it calls for."""
    reply = next((words for begin, words in _REPLIES.items() if begin in call.last), tagged("I see. Go on."))
    wish = next((word for begin, word in _WISHES.items() if begin in call.last), "nothing")
    return reply.replace("<calls_for>nothing<", f"<calls_for>{wish}<")


def _verdict(call: ModelCall) -> str:
    return json.dumps({"holds": "answers the question that you asked" in call.prompt})


def _talk(call: ModelCall) -> str:
    """What users said in this conversation; a search may show words of others in the prompt, too."""
    return "\n".join(call.messages)


def _choice(call: ModelCall) -> str:
    if HARD in _talk(call):
        if "## Results" not in call.prompt:
            return chosen(("Research", "nightly import lookup Tuesday release"), ("Think", "what changed on Tuesday"))
        return chosen(("Respond", "the cause and the setting"))
    if ASKED in _talk(call):
        return chosen(("Respond", "")) if ANSWERED in _talk(call) else chosen(("Ask", "which deploy is meant"))
    allowed = "has allowed what you asked" in call.prompt
    return chosen(("Respond", "it is noted") if allowed else ("Research", "the shelf"))


def _tool(call: ModelCall) -> str:
    if HARD in _talk(call):
        return json.dumps({"tool": "shelf/look_up", "arguments": {"word": "lookup"}})
    written = {"path": "notes.txt", "text": "Freeze on Friday"}
    return json.dumps({"tool": "shelf/write_down", "arguments": written})


def _aloud(call: ModelCall) -> str:
    if HARD in _talk(call):
        return (
            "Since Tuesday's release every row looks its country up by itself; before, one lookup served a whole "
            "batch [1]. With a million rows that is a million requests.\n\n"
            "Setting `IMPORT_LOOKUP=batch` brings the old way back until the next release [1]."
        )
    if ASKED in _talk(call):
        return (
            "Then it is the one that renamed the column `week`: the report still asks for `isoweek`."
            if ANSWERED in _talk(call)
            else "Which deploy do you mean: Monday's on production, or Tuesday's on staging? They changed other files."
        )
    return "It is noted: **we freeze on Friday**."


_ANSWERS: Final[Mapping[str, str | Callable[[ModelCall], str]]] = {
    "respond": _reply,
    "mental_query": _verdict,
    "choose_actions": _choice,
    "use_tool": _tool,
    "external_dialog": _aloud,
    "feel": json.dumps({"emotional_state": "delighted", "topic": "the nightly import", "task": ""}),
    "visitor_notes": json.dumps({"add": ["Looks after the nightly imports"], "correct": [], "retire": []}),
    "visitor_whispers": "I would like my team to see how much work this was.",
}


def furnish(home: Path) -> dict[str, str]:
    """Write two souls, a library and a list of MCP servers to a folder; gives the settings that name them."""
    shutil.copytree(ROOT / "souls" / "minoan", home / "souls" / "minoan")
    shutil.copytree(ROOT / "souls" / "plain", home / "souls" / "tamarru")
    (home / "souls" / "tamarru" / "soul.toml").write_text(
        'name = "tamarru"\ndisplay_name = "Tamarru"\nicon = ":fire:"\nchannels = ["C0RANDOM"]\n', encoding="utf-8"
    )
    with (home / "souls" / "minoan" / "soul.toml").open("a", encoding="utf-8") as more:
        more.write('\n[[contacts]]\nname = "Chloe"\nslack = "U0CHLOE"\ncan = "decides about releases"\n')
    (home / "handbook").mkdir()
    (home / "handbook" / "imports.md").write_text(_HANDBOOK, encoding="utf-8")
    servers = listing(home, shelf=program(cwd=str(home), env={"PYTHONPATH": str(ROOT)}))
    return {
        "ISM_ENABLED": "true",
        "SOUL_SOULS": "tamarru",
        "SOUL_LIBRARY": str(home / "handbook"),
        "SOUL_MCP_SERVERS": str(servers),
    }


@dataclass(frozen=True, slots=True)
class Journey:
    """Ada's window, her daemon and its model; `look` is called at each view worth a picture."""

    ada: Window
    daemon: RunningDaemon
    people: WorkspaceClient
    model: LoopbackModel
    look: Look

    async def greets_and_welcomes_back(self) -> None:
        """The soul greets a new user; after a visit has ended it welcomes her back."""
        await self._dm(GREETED, "welcome")
        await self._dm("The nightly one is slow.", "when it began")
        await self.look("greeting", "D0ADA")
        await self._end_the_visit()
        await self._dm(BACK, "There you are again")
        await self.look("returning", "D0ADA")

    async def turns_poet_and_scholar(self) -> None:
        """A poem that is mended twice, then a scholarly reply."""
        await self._dm(f"Write me a {POEM} about the nightly import.", "Night ships")
        await self._dm("Make the last line colder, please.", "once frost")
        await self._dm("Now name the harbour in the first.", "Ugarit unloads rows")
        await self._dm(SCHOLARLY, "widely held")
        await self.look("modes", "D0ADA")

    async def solves_a_problem(self) -> None:
        """A problem in a channel: a live plan, and a reply with its source."""
        await self.daemon.logged("tools.server_connected")
        gate = self.model.hold("external_dialog")
        thread = await self._mention(f"@Kothar {HARD}")
        tasks = self.ada.thread.get_by_role("list", name="Steps").get_by_role("listitem")
        await expect(tasks.last).to_contain_text("Writing the answer, In progress")
        await self.look("plan", f"C0GENERAL/{thread}")
        gate.set()
        last = self._last_in_thread()
        await expect(last).to_contain_text("handbook/imports.md")
        await expect(last.locator(".feedback")).to_be_visible()
        await self.look("sources", f"C0GENERAL/{thread}")

    async def asks_back(self) -> None:
        """The soul asks a question back, and uses the user's answer."""
        thread = await self._mention(f"@Kothar {ASKED}")
        await expect(self._last_in_thread()).to_contain_text("Which deploy do you mean")
        await self.daemon.at_rest()
        await self.ada.reply_box.fill(ANSWERED)
        await self.ada.reply_box.press("Enter")
        await expect(self._last_in_thread()).to_contain_text("isoweek")
        await self.look("asking", f"C0GENERAL/{thread}")

    async def asks_for_permission(self) -> None:
        """A tool that writes needs an approval; after it the tool runs once and the buttons disappear."""
        thread = await self._mention(f"@Kothar {WRITTEN}")
        question = self._last_in_thread()
        await expect(question.get_by_role("button", name="Approve")).to_be_visible()
        assert not (self.daemon.home / "notes.txt").exists()
        await self.daemon.at_rest()
        await self.look("permission", f"C0GENERAL/{thread}")
        await question.get_by_role("button", name="Approve").click()
        await expect(self._last_in_thread()).to_contain_text("It is noted")
        await expect(self.ada.thread.get_by_role("button", name="Approve")).to_have_count(0)
        assert (self.daemon.home / "notes.txt").read_text(encoding="utf-8") == "Freeze on Friday\n"
        await self.look("permitted", f"C0GENERAL/{thread}")

    async def meets_a_second_soul(self) -> None:
        """Another soul replies in its own channel, under its own name."""
        await self.people.join("Kothar", "random")
        thread = await self._mention("@Kothar what do you look after?", channel="C0RANDOM")
        await expect(self._last_in_thread()).to_contain_text("The hearth")
        await expect(self._last_in_thread().locator(".author")).to_have_text("Tamarru")
        await self.look("second-soul", f"C0RANDOM/{thread}")

    async def is_reminded(self) -> None:
        """The soul starts a conversation about a scheduled reminder."""
        conversation = "minoan/T0LOCAL/D0ADA/"
        reminder = "The standup begins: mention the import."
        await self.daemon.soul("schedule", "add", conversation, reminder, "--in", "1s", "--on-behalf", "U0ADA")
        await self._open("D0ADA")
        await expect(self.ada.timeline.locator(".message").last).to_contain_text("It's time, Ada")
        await self.look("reminder", "D0ADA")

    # -- steps ------------------------------------------------------------------------------------------------------

    async def _dm(self, words: str, answered: str) -> None:
        await self.ada.say(words)
        await expect(self._dm_answers().last).to_contain_text(answered)
        await expect(self._dm_answers().last.locator(".feedback")).to_be_visible()
        await self.daemon.at_rest()

    async def _mention(self, words: str, *, channel: str = "C0GENERAL") -> str:
        """Mention the soul in a channel; its reply opens the thread. Gives the thread's ts."""
        await self._open(channel)
        await self.ada.say(words)
        message = self.ada.timeline.locator(".message:not(.nested)").last
        await expect(self.ada.thread.locator(".message").first).to_contain_text(words.removeprefix("@Kothar "))
        return str(await message.get_attribute("data-ts"))

    async def _open(self, room: str) -> None:
        await self.ada.page.locator(f'#sidebar a[href="#/{room}"]').click()
        await expect(self.ada.page.locator(f'#sidebar a[href="#/{room}"]')).to_have_attribute("aria-current", "page")

    async def _end_the_visit(self) -> None:
        self.daemon.turn_clock(A_VISIT_ENDS)
        await self.daemon.until("SELECT count(*) FROM transitions WHERE target = 'exiting'")

    def _dm_answers(self) -> Locator:
        return self.ada.timeline.locator(".message.nested")

    def _last_in_thread(self) -> Locator:
        return self.ada.thread.locator(".message").last
