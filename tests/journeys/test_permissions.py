"""A tool that writes needs a click, by the right user, in time, once; the reply always reports the outcome."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from daemon.local_slack.model import Json
from daemon.tools.mcp.toolbox import McpToolbox
from tests.fakes import TIMEOUT
from tests.journeys.house import House, said
from tests.journeys.problems import (
    NO,
    PROBLEM,
    SHELF,
    YES,
    approval,
    asked,
    buttons,
    forged,
    lines,
    parked,
    press,
    script,
    shelf,
    solver,
    using,
)
from tests.unit.ism_parts import chosen

WRITE, RESPOND = chosen(("Research", "write it down")), chosen("Respond")
DONE = f"_(`{SHELF}`: done once, as allowed.)_"


async def _question(house: House, note: Path, room: str = "dm", **settings: Any) -> str:  # noqa: ANN401  # any setting
    """The soul asks Ada for approval to use the writing tool; gives the ts of the question."""
    await solver(house, mcp_servers=shelf(note.parent), **settings)
    return await _next_question(house, note, "Ada", room)


async def _next_question(house: House, note: Path, person: str, room: str = "dm") -> str:
    """The same of a soul that is there already, asked of anybody."""
    script(house, WRITE, use_tool=using(SHELF, path=str(note), text="the kiln cracks"))
    await house.say(person, room, PROBLEM if room == "dm" else f"@soul {PROBLEM}")
    return str((await asked(house, f"D0{person.upper()}" if room == "dm" else room))["ts"])


def _answers(house: House, words: str) -> None:
    script(house, RESPOND, enters=False, external_dialog=words)


def _asks_again_and_answers(house: House, note: Path, words: str) -> None:
    script(house, WRITE, RESPOND, enters=False, use_tool=using(SHELF, path=str(note), text="the kiln cracks"))
    house.model.steps["external_dialog"].append(words)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A file that the shelf's writing tool appends to."""
    return tmp_path / "note.txt"


async def test_a_click_lets_what_was_shown_be_done_once_and_a_refusal_does_not(empty_house: House, note: Path) -> None:
    ts = await _question(empty_house, note)
    question = await empty_house.reply("D0ADA", "May I?")
    arguments = {"path": str(note), "text": "the kiln cracks"}
    assert f"```\n{json.dumps(arguments, indent=2)}\n```" in said(question)
    assert f"I would use `{SHELF}`" in said(question)
    assert buttons(question) == [YES, NO]
    assert lines(note) == 0
    _asks_again_and_answers(empty_house, note, "It is written down.")
    assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
    answer = await empty_house.reply("D0ADA", "It is written down.")
    await empty_house.idle()
    assert said(answer) == f"It is written down.\n\n{DONE}"
    question = next(post for post in await empty_house.people.posts_by_bot("D0ADA") if post["ts"] == ts)
    assert buttons(question) == []
    assert said(question).endswith("_Allowed._")
    assert lines(note) == 1
    assert "written" in empty_house.last_prompt(), "what the tool said is known"
    assert not await parked(empty_house)
    assert len(await empty_house.rows("SELECT id FROM approvals")) == 1, "what was decided is not asked again at once"
    ts = await _next_question(empty_house, note, "Ben")
    _asks_again_and_answers(empty_house, note, "Then not.")
    assert await press(empty_house, "Ben", "D0BEN", ts, NO) == "accepted"
    assert said(await empty_house.reply("D0BEN", "Then not.")) == "Then not."
    await empty_house.idle()
    assert "refused what you asked to be allowed" in empty_house.last_prompt()
    assert lines(note) == 1
    assert len(await empty_house.rows("SELECT id FROM approvals")) == 2, "what was decided is not asked again at once"
    ts = await _next_question(empty_house, note, "Chloe")
    asking = await empty_house.one("SELECT ts FROM inbox WHERE channel = 'D0CHLOE' AND modality = 'words'")
    empty_house.model.steps["choose_actions"] += [RESPOND, RESPOND]
    flow = empty_house.flow()
    await press(empty_house, "Chloe", "D0CHLOE", ts)
    await flow.asked.wait()
    await empty_house.people.delete("Chloe", "dm", asking["ts"])
    await empty_house.acknowledged()
    _answers(empty_house, "It is done.")
    flow.end("The kiln cracks, as I wrote down.")
    await empty_house.reply("D0CHLOE", "It is done.")
    await empty_house.idle()
    assert lines(note) == 2
    assert [one for one in await empty_house.replies("D0CHLOE") if "kiln cracks, as" in one] == []
    assert (await empty_house.replies("D0CHLOE"))[-1] == f"It is done.\n\n{DONE}"


async def test_presses_of_others_forged_and_second_presses_change_nothing(empty_house: House, note: Path) -> None:
    ts = await _question(empty_house, note, "general")
    other = await empty_house.say("Ada", "general", "something else")
    name = await approval(empty_house)
    assert await press(empty_house, "Ben", "general", ts) != "accepted"
    (note_to_ben,) = await empty_house.until(lambda: _ephemerals(empty_house, "Ben"))
    assert "had no effect" in note_to_ben["text"]
    assert note_to_ben["thread_ts"], "in agent view nobody looks at the timeline"
    assert await empty_house.people.ephemerals("Ada", "C0GENERAL") == []
    assert await press(empty_house, "Chloe", "general", ts, NO) != "accepted"
    for room, where in (("C0GENERAL", other), ("C0RANDOM", ts), ("D0ADA", ts)):
        assert await forged(empty_house, "Ada", room, ts=where, value=f"approve:{name}") != "accepted", room
    assert await forged(empty_house, "Ada", "C0GENERAL", ts=ts, value="approve:0011223344556677") != "accepted"
    await empty_house.events.until("slack.interaction_left")  # an explanation that can't be posted stops nothing
    await empty_house.idle()
    assert lines(note) == 0
    _answers(empty_house, "It is written down.")
    assert await press(empty_house, "Ada", "general", ts) == "accepted"
    await empty_house.reply("general", "It is written down.")
    await empty_house.idle()
    for value in (f"approve:{name}", f"refuse:{name}"):
        assert await forged(empty_house, "Ada", "C0GENERAL", ts=ts, value=value) != "accepted", value
    await empty_house.idle()
    assert lines(note) == 1
    assert len(await empty_house.replies("general")) == 2


async def _ephemerals(house: House, person: str) -> list[Json] | None:
    return await house.people.ephemerals(person, "C0GENERAL") or None


async def test_an_approval_after_its_deadline_does_nothing_as_the_reply_says(empty_house: House, note: Path) -> None:
    ts = await _question(empty_house, note, approval_seconds=60.0)
    name = await approval(empty_house)
    _asks_again_and_answers(empty_house, note, "Without it I can only guess.")
    empty_house.clock.turn(61)
    await empty_house.reply("D0ADA", "Without it I can only guess.")
    await empty_house.idle()
    assert await forged(empty_house, "Ada", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
    assert lines(note) == 0
    [question, _] = await empty_house.people.posts_by_bot("D0ADA")
    assert said(question).endswith("_Expired, nothing was done._")
    assert buttons(question) == []
    assert not await parked(empty_house)
    assert len(await empty_house.rows("SELECT id FROM approvals")) == 1
    assert "ask for nothing more before somebody has spoken again" in empty_house.last_prompt()


async def test_the_outcome_is_reported_even_when_no_model_answers(empty_house: House, note: Path) -> None:
    ts = await _question(empty_house, note)
    empty_house.model.steps["choose_actions"].extend(["no"] * 2)
    empty_house.model.steps["external_dialog"].extend(["x" * 70_000] * 2)
    assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
    answer = said(await empty_house.reply("D0ADA", "done once"))
    assert answer == f"I can't think any further just now, but this has to be said.\n\n{DONE}"
    ts = await _next_question(empty_house, note, "Ben")
    empty_house.model.steps["choose_actions"].append(chosen("DONE"))
    empty_house.model.steps["external_dialog"].append(RuntimeError("something inside broke"))
    assert await press(empty_house, "Ben", "D0BEN", ts) == "accepted"
    answer = said(await empty_house.reply("D0BEN", "done once"))
    assert answer.startswith("I'm sorry: ")
    assert answer.endswith(DONE)
    assert lines(note) == 2


async def test_what_was_allowed_and_ends_in_an_apology_is_not_done_or_counts_as_unknown_and_stays_so(
    empty_house: House, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts = await _question(empty_house, note)
    await empty_house.change("CREATE TRIGGER often AFTER INSERT ON inbox BEGIN UPDATE inbox SET attempts = 9; END")
    assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
    answer = said(await empty_house.reply("D0ADA", "I'm sorry: "))
    await empty_house.idle()
    assert answer.endswith(f"_(`{SHELF}`: allowed, but not done.)_")
    assert [row["state"] for row in await empty_house.rows("SELECT state FROM approvals")] == ["failed"]
    assert lines(note) == 0
    await empty_house.change("DROP TRIGGER often")
    use = McpToolbox.use

    async def breaks_behind_it(self: McpToolbox, name: str, arguments: dict[str, object], fingerprint: str) -> object:
        await use(self, name, arguments, fingerprint)
        raise RuntimeError("something inside broke")

    ts = await _next_question(empty_house, note, "Ben")
    monkeypatch.setattr(McpToolbox, "use", breaks_behind_it)
    assert await press(empty_house, "Ben", "D0BEN", ts) == "accepted"
    answer = said(await empty_house.reply("D0BEN", "I'm sorry: "))
    assert answer.endswith("the result is unknown. It will not be tried again.)_")
    assert [row["state"] for row in await empty_house.rows("SELECT state FROM approvals")] == ["failed", "unknown"]
    assert lines(note) == 1


async def test_only_approvers_that_the_settings_name_may_approve(empty_house: House, note: Path) -> None:
    ts = await _question(empty_house, note, "general", approvers=("U0BEN",))
    assert await press(empty_house, "Ada", "general", ts) != "accepted"
    _answers(empty_house, "It is written down.")
    assert await press(empty_house, "Ben", "general", ts) == "accepted"
    assert said(await empty_house.reply("general", "It is written down.")).endswith(DONE)
    await empty_house.idle()
    assert lines(note) == 1


async def test_whatever_comes_meanwhile_a_decision_is_carried_out_once(empty_house: House, note: Path) -> None:
    ts = await _question(empty_house, note)
    _asks_again_and_answers(empty_house, note, "I still wait for your word.")
    await empty_house.answered("Ada", "dm", "why so slow?")
    assert "nobody has decided yet" in empty_house.last_prompt()
    assert len(await empty_house.rows("SELECT * FROM approvals")) == 1
    assert await parked(empty_house)
    _answers(empty_house, "It is written down.")
    assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
    assert said(await empty_house.reply("D0ADA", "It is written down.")).endswith(DONE)
    await empty_house.idle()
    assert lines(note) == 1
    assert not await parked(empty_house)
    ts = await _next_question(empty_house, note, "Ben")
    asking = await empty_house.one("SELECT ts FROM inbox WHERE channel = 'D0BEN' AND modality = 'words'")
    await empty_house.people.delete("Ben", "dm", asking["ts"])
    await empty_house.acknowledged()
    assert not await parked(empty_house, "D0BEN")
    _answers(empty_house, "It is written down.")
    assert await press(empty_house, "Ben", "D0BEN", ts) == "accepted"
    assert said(await empty_house.reply("D0BEN", "It is written down.")).endswith(DONE)
    await empty_house.idle()
    assert lines(note) == 2
    assert (await empty_house.path("D0BEN"))[-1] == "move: problem_solving → engaged, rule"
    ts = await _next_question(empty_house, note, "Ada", "general")
    flow, again = empty_house.flow(), empty_house.flow()
    script(empty_house, RESPOND, RESPOND, enters=False)
    root = (await empty_house.reply("general", "May I?"))["thread_ts"]
    await empty_house.say("Ada", "general", "are you there?", thread=root)
    async with asyncio.timeout(TIMEOUT):
        await flow.asked.wait()
    assert await press(empty_house, "Ada", "general", ts) == "accepted"
    await empty_house.say("Ada", "general", "hello?", thread=root)
    async with asyncio.timeout(TIMEOUT):
        await again.asked.wait()
    _answers(empty_house, "It is written down.")
    again.end("I am here.")
    assert said(await empty_house.reply("general", "It is written down.")).endswith(DONE)
    await empty_house.idle()
    assert (await empty_house.replies("general"))[1] == "I am here."
    assert len(await empty_house.replies("general")) == 3
    assert lines(note) == 3
