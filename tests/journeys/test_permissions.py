"""A tool that writes needs a click, by the right user, in time, once; the reply always reports the outcome."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from daemon.local_slack.model import Json
from daemon.tools.mcp.toolbox import McpToolbox
from tests.fakes import TIMEOUT
from tests.given import shown, tagged
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
    goes_on,
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


async def test_a_click_lets_exactly_what_was_shown_be_done_once_and_a_refused_action_is_not_done(
    empty_house: House, note: Path
) -> None:
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


async def test_presses_of_others_forged_presses_and_second_presses_change_nothing(
    empty_house: House, note: Path
) -> None:
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
    await empty_house.events.until("slack.void_untold")  # an explanation that can't be posted stops nothing
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


async def test_an_approval_after_its_deadline_does_nothing_and_the_reply_says_so(
    empty_house: House, note: Path
) -> None:
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


async def test_after_a_restart_a_click_counts_once(empty_house: House, note: Path) -> None:
    ts = await _question(empty_house, note)
    name = await approval(empty_house)
    await empty_house.restart(name="tess", mcp_servers=shelf(note.parent))
    _answers(empty_house, "It is written down.")
    assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
    await empty_house.reply("D0ADA", "It is written down.")
    await empty_house.idle()
    await empty_house.restart(name="tess", mcp_servers=shelf(note.parent))
    assert await forged(empty_house, "Ada", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
    await empty_house.idle()
    assert lines(note) == 1
    assert [prompt.step for prompt in empty_house.prompts].count("respond") == 1, "it went on where it was"


async def test_a_tool_call_cut_off_by_a_crash_is_reported_as_unknown_and_not_retried(
    empty_house: House, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, begun = empty_house, asyncio.Event()
    use = McpToolbox.use

    async def never_returns(self: McpToolbox, name: str, arguments: dict[str, object], fingerprint: str) -> object:
        await use(self, name, arguments, fingerprint)
        begun.set()
        return await asyncio.Event().wait()

    ts = await _question(house, note)
    with monkeypatch.context() as patch:
        patch.setattr(McpToolbox, "use", never_returns)
        assert await press(house, "Ada", "D0ADA", ts) == "accepted"
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
        await house.cut()
    _answers(house, "I can't tell.")
    await house.start(name="tess", mcp_servers=shelf(note.parent))
    answer = said(await house.reply("D0ADA", "I can't tell."))
    await house.idle()
    assert answer.endswith(
        f"_(`{SHELF}`: begun as allowed, but it is not known whether it was done. It will not be tried again.)_"
    )
    assert lines(note) == 1


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
    assert answer.endswith("it is not known whether it was done. It will not be tried again.)_")
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


async def test_a_decision_visits_problem_solving_after_the_conversation_moved_on(
    empty_house: House, note: Path
) -> None:
    ts = await _question(empty_house, note, modes=("academic",))
    script(empty_house, chosen(("Escalate", "expert")), enters=False, respond=tagged("As the sources have it: no."))
    await empty_house.answered("Ada", "dm", "what do scholars say?")
    assert not await parked(empty_house)
    _answers(empty_house, "It is written down.")
    assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
    assert said(await empty_house.reply("D0ADA", "It is written down.")).endswith(DONE)
    await empty_house.idle()
    assert lines(note) == 1
    assert (await empty_house.path())[-3:] == [
        "visit: academic → problem_solving, rule",
        "stay: problem_solving → problem_solving, rule",
        "return: problem_solving → academic, schedule",
    ]
    ts = await _next_question(empty_house, note, "Ben")
    script(empty_house, chosen(("Escalate", "expert")), enters=False, respond=tagged("As the sources have it: no."))
    await empty_house.answered("Ben", "dm", "what do scholars say?")
    script(empty_house, chosen(("Ask", "which kiln")), enters=False, external_dialog="Which kiln?")
    assert await press(empty_house, "Ben", "D0BEN", ts) == "accepted"
    assert said(await empty_house.reply("D0BEN", "Which kiln?")).endswith(DONE)
    await empty_house.idle()
    assert await parked(empty_house, "D0BEN")
    goes_on(empty_house)
    _answers(empty_house, "The big one it is.")
    assert await empty_house.answered("Ben", "dm", "the big one") == "The big one it is."


async def test_a_question_shows_every_character_of_its_arguments_or_is_not_asked(
    empty_house: House, note: Path
) -> None:
    house = empty_house
    await solver(house, mcp_servers=shelf(note.parent))
    hidden = "safe\u202e.txt ```\n@channel\u200b CANARY"
    script(house, WRITE, use_tool=using(SHELF, path=str(note), text=hidden))
    await house.say("Ada", "dm", PROBLEM)
    words = said(await asked(house))
    assert "\\u202e" in words
    assert "\\u200b" in words
    assert "````\n{" in words, "no text in it ends the block"
    assert "CANARY" in words
    _answers(house, "Written.")
    await press(house, "Ada", "D0ADA", str((await house.reply("D0ADA", "May I?"))["ts"]))
    await house.reply("D0ADA", "Written.")
    assert note.read_text(encoding="utf-8") == f"{hidden}\n"  # noqa: ASYNC240  # a few bytes
    script(house, WRITE, RESPOND, use_tool=using(SHELF, path=str(note), text="x" * 4_000), external_dialog="Too much.")
    assert await house.answered("Ben", "dm", PROBLEM) == "Too much."
    assert "too long to be shown" in shown(house.prompts[-1])
    assert len(await house.rows("SELECT * FROM approvals")) == 1
    assert "May I?" not in str(await house.replies("D0BEN"))
