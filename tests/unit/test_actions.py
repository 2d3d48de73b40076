"""The actions one by one: the prompt, the effect and the observation of each."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.errors import StoreBusy, ToolFailed
from daemon.core.ports.library import Passage
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.ism.actions import actions_for
from daemon.ism.actions.ask import ask
from daemon.ism.actions.escalate import escalate
from daemon.ism.actions.remind import remind
from daemon.ism.actions.research import research
from daemon.ism.actions.respond import respond
from daemon.ism.actions.think import think
from daemon.ism.machine import Action
from daemon.ism.permission import POST_ELSEWHERE
from daemon.ism.problem import RESEARCH_TOKENS, Problem
from daemon.ism.sources import Sources, sources_of
from daemon.memory.records import ProcessState
from daemon.mind.process import Stay, Transition
from daemon.mind.transitions import HANDED_OVER, Lead
from daemon.soul import Contact, IsmLimits, Mode
from tests.given import shown
from tests.unit.solving_parts import FOUND, LIMITS, READER, WRITER, ActionBench, Books, Shelf, observation, scene

POTTERS = Contact(name="The Potters", slack="C0POTTERS", can="repair kilns")
BEN = Contact(name="Ben", slack="U0BEN", can="opens the vault")
ACADEMIC = Mode(name="academic", personality="You are a scholar.")
LOOK_UP = '{"tool": "shelf/look_up", "arguments": {"word": "clay"}}'
WRITE = '{"tool": "shelf/write_down", "arguments": {"text": "clay"}}'


def problem(asker: str = "UADA") -> Problem:
    return Problem(WorkingMemory("Tess"), asker=asker)


def asked(one: ActionBench) -> str:
    return shown(one.llm.prompts[-1])


ALL = Sources({"docs": 2}, (READER, WRITER))
NOWHERE = Sources({}, ())


def test_only_those_actions_are_offered_that_can_do_something() -> None:
    table: list[tuple[bool, Sources, tuple[Contact, ...], str]] = [
        (False, ALL, (BEN,), "Think, Research, Read, Ask, Remember, Remind, Respond, Escalate"),
        (False, ALL, (), "Think, Research, Read, Ask, Remember, Remind, Respond"),
        (False, NOWHERE, (BEN,), "Think, Ask, Remember, Remind, Respond, Escalate"),
        (True, ALL, (BEN,), "Think, Research, Read, Ask, Respond"),
        (True, NOWHERE, (BEN,), "Think, Ask, Respond"),
    ]
    for reads_only, sources, contacts, names in table:
        one = scene(contacts=contacts).having(limits=replace(LIMITS, reads_only=reads_only))
        assert ", ".join(action.name for action in actions_for(one.context, problem(), sources)) == names
    one, known = scene(), problem()
    known.add(FOUND)
    assert "Read" in [action.name for action in actions_for(one.context, known, NOWHERE)], "what was found before"


def handing(one: ActionBench, known: Problem) -> Action:
    action = escalate(one.context, known)
    assert action is not None
    return action


def looking(one: ActionBench, known: Problem, sources: Sources = ALL) -> Action:
    return research(one.context, known, sources)


async def test_a_thought_is_an_observation_an_answer_ends_the_work_and_a_question_parks_it() -> None:
    for words, text in {"the glaze": 'Begin with what stands under "Aim".', "": "what is known leads."}.items():
        one = scene("It cools too fast.")
        result = await one.act(think(one.context), words)
        assert observation(result) == "It cools too fast."
        assert result.memory == one.context.memory
        assert one.context.motor.reply == ""
        assert text in asked(one)
    said = "Clay [1], not fire [9]."
    for words, text in {"the glaze": 'Dwell on what stands under "Aim".', "": "what you found."}.items():
        one, solved = scene(said), problem()
        solved.add(FOUND)
        result = await one.act(respond(one.context, solved), words)
        assert isinstance(result, Stay)
        assert result.memory.at(-1) == Memory(Role.ASSISTANT, said, name="Tess", metadata={"verb": "said"})
        assert one.context.motor.reply == "Clay [1], not fire.\n\n[1] `a.md:1`"
        assert text in asked(one)
        assert "cite by its number" in asked(one)
    nothing_found = scene("I don't know.")
    await nothing_found.act(respond(nothing_found.context, problem()))
    assert "cite by its number" not in asked(nothing_found)
    for words in ("which kiln", ""):
        one, parked = scene("Is it the one in [1]?"), problem()
        parked.add(FOUND)
        assert isinstance(await one.act(ask(one.context, parked), words), Stay)
        assert parked.asks
        assert one.context.motor.reply == "Is it the one in [1]?\n\n[1] `a.md:1`"
        assert ('What you need to know stands under "Aim".' in asked(one)) == bool(words)
        assert ("## Aim\n\n<note-n0nce>\nwhich kiln\n</note-n0nce>" in asked(one)) == bool(words)


async def _recollected(query: str, limit: int) -> tuple[Passage, ...]:
    return (Passage("this conversation", f"{query} {limit}"),)


async def test_all_sources_are_searched_again_in_other_words_and_what_fails_is_reported() -> None:
    shelf = Shelf(offered=(READER,))
    one = scene(LOOK_UP).having(recollect=_recollected, library=Books((Passage("a.md:1", "clay"),) * 9), toolbox=shelf)
    found = problem()
    assert observation(await one.act(looking(one, found), "kilns")) == (
        "[1] this conversation\nkilns 4\n\n" + "[2] a.md:1\nclay" + "\n\n[3] shelf/look_up\nthe shelf says so"
    )
    assert shelf.used == [("shelf/look_up", {"word": "clay"})]
    assert len(found.found) == 3

    class Empty(Books):
        @property
        def folders(self) -> Mapping[str, int]:
            return {}

    for one in (
        scene().having(toolbox=None),
        scene().having(toolbox=Shelf(offered=())),
        scene().having(library=Empty()),
    ):
        assert observation(await one.act(looking(one, problem()), "kilns")) == "Nothing was found."
        assert one.llm.prompts == []
    one = scene('{"tool": "none"}').having(toolbox=Shelf())
    assert observation(await one.act(looking(one, problem()))) == "Nothing was found."
    assert "what the person needs" in asked(one), "without input the prompt still says what is wanted"
    for words, answers in {"kiln": ("no JSON", "none again"), "": ()}.items():
        one = scene(*answers).having(library=Books())
        assert observation(await one.act(looking(one, problem()), words)) == "Nothing was found.", "no other words"
    books = Books((Passage("a.md:1", "the oven"),), under="oven")
    one = scene('{"ideas": ["oven", "old oven"]}').having(library=books)
    assert observation(await one.act(looking(one, problem()), "kiln")) == "[1] a.md:1\nthe oven"
    assert [prompt.step for prompt in one.llm.prompts] == ["brainstorm"]
    assert "kiln" not in one.llm.prompts[0].messages[-1].text.splitlines()[-1]
    long = " ".join(f"clay{number}" for number in range(400)) + " kilns crack " + "ash " * 500
    one = scene().having(library=Books(tuple(Passage(f"{name}.md:1", f"{name} {long}") for name in "abc")))
    text = observation(await one.act(looking(one, problem()), "kilns crack"))
    for number, name in ((1, "a"), (2, "b"), (3, "c")):
        assert f"[{number}] {name}.md:1\n… clay" in text
    assert text.count("kilns crack") == 3
    assert estimate_tokens(text) <= RESEARCH_TOKENS

    class Burnt(Books):
        async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
            raise StoreBusy("memory.db is locked")

    shelf = Shelf(failing=ToolFailed("it fell"))
    one = scene(LOOK_UP).having(toolbox=shelf, library=Books((Passage("a.md:1", "clay"),)))
    text = observation(await one.act(looking(one, problem()), "kilns"))
    assert text == "[1] a.md:1\nclay\n\nshelf/look_up failed: it fell"
    one = scene().having(library=Burnt())
    with pytest.raises(StoreBusy):
        await one.act(looking(one, problem()), "kilns")


async def test_the_model_learns_what_there_is_and_how_much_of_it_and_the_reading_half_only_tools_that_read() -> None:
    one = scene('{"tool": "none"}').having(toolbox=Shelf(), limits=replace(LIMITS, reads_only=True))
    action = looking(one, problem(), await sources_of(one.context))
    await one.act(action, "write it down")
    assert "shelf (1 tool: look_up)" in action.description
    assert "after a click" not in action.description
    assert "write_down" not in asked(one)
    one = scene().having(toolbox=Shelf(), library=Books())
    text = looking(one, problem(), await sources_of(one.context)).description
    assert "search the folder docs (2 documents), shelf (2 tools: look_up, write_down) and earlier talk at once" in text
    assert "after a click" in text


async def test_a_writing_tool_is_not_used_but_asked_for() -> None:
    table: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = [
        ((), "UADA", ("UADA",)),
        (("UBEN", "UCHLOE"), "UADA", ("UBEN", "UCHLOE")),
        ((), "", ("UADA",)),
    ]
    for approvers, asker, may in table:
        shelf = Shelf(offered=(READER, WRITER))
        one = scene(WRITE).having(toolbox=shelf, approvers=approvers)
        parked = problem(asker)
        assert isinstance(await one.act(looking(one, parked), "write it down"), Stay)
        new = one.context.motor.approval
        assert new is not None
        assert (new.id, new.tool, new.arguments, new.asked) == (parked.approval, WRITER.name, {"text": "clay"}, may)
        assert shelf.used == []
        assert one.context.motor.reply == (
            'To go on I would use `shelf/write_down` with exactly this. May I?\n\n```\n{\n  "text": "clay"\n}\n```'
        )


async def test_a_reminder_is_made_once_for_the_same_words_at_a_time_that_can_be_read() -> None:
    one = scene()
    for words in ("in 2h: Ask about  the glaze", "in 3h: ask about the glaze", "in 2h: the clay"):
        assert observation(await one.act(remind(one.context), words)).startswith("It will be brought up on Sunday,")
    now = one.context.mind.clock.now_ms()
    made = one.context.motor.intentions
    assert [(new.due_ms - now, new.content, new.behalf) for new in made] == [
        (3 * 3_600_000, "ask about the glaze", "UADA"),
        (2 * 3_600_000, "the clay", "UADA"),
    ]

    async def full(_: str, __: int) -> bool:
        return False

    one = scene()
    for words in ("the glaze", "in 2h:", "in 2h:   ", ""):
        assert observation(await one.act(remind(one.context), words)).startswith("Give the time"), words
    for words in ("someday: the glaze", "2001-01-01T00:00Z: the glaze"):
        assert observation(await one.act(remind(one.context), words)).startswith("That time can't be read"), words
    one = one.having(may_intend=full)
    assert "as many reminders" in observation(await one.act(remind(one.context), "in 2h: the glaze"))
    assert one.context.motor.intentions == ()


async def test_the_expert_takes_over_at_once_and_follows_no_wish_for_the_message_handed_over() -> None:
    for words in ("expert", "to the EXPERT, please"):
        one = scene(modes=(ACADEMIC,))
        result = await one.act(handing(one, problem()), words)
        assert isinstance(result, Transition)
        assert (result.to, result.execute_now, result.decided_by) == ("academic", True, "model")
        assert result.params == {HANDED_OVER: one.context.perception.id}
    one = scene()
    message = one.context.perception
    context = replace(one.context, state=ProcessState("academic", params={HANDED_OVER: message.id}))
    assert not Lead(context).leads("research")
    assert Lead(replace(context, perception=replace(message, id="p2"))).leads("research")


async def test_a_contact_is_matched_by_the_whole_name_and_only_the_user_with_the_problem_may_approve() -> None:
    souls: tuple[dict[str, Any], ...] = (
        {},
        {"modes": (ACADEMIC,), "ism": IsmLimits(expert="problem_solving")},
        {"modes": (ACADEMIC,), "processes": ("problem_solving", "engaged")},
    )
    for soul in souls:
        one = scene(contacts=(BEN,), **soul)
        action = handing(one, problem())
        assert action.description.endswith("who of these: Ben (opens the vault)")
        text = observation(await one.act(action, "the expert"))
        assert text == "It can't be handed on to them, but to these: Ben (opens the vault)."
    potters = {"the potters", "Please tell THE POTTERS!", "Ben of the Potters"}
    for words in (*potters, "Ben", "Benjamin", "potters"):
        one, parked = scene("Mend it.\u202e", contacts=(BEN, POTTERS), modes=(ACADEMIC,)), problem()
        result = await one.act(handing(one, parked), words)
        new = one.context.motor.approval
        if words in ("Benjamin", "potters"):
            assert new is None, words
            assert "Ben (opens the vault); The Potters (repair kilns); expert" in observation(result)
            continue
        assert isinstance(result, Stay), words
        assert new is not None
        to = "C0POTTERS" if words in potters else "U0BEN"
        assert (new.tool, new.arguments["to"], new.arguments["summary"]) == (POST_ELSEWHERE, to, "Mend it.\\u202e")
        assert "```\nMend it.\\u202e\n```" in one.context.motor.reply
        assert parked.approval == new.id
    one = scene("Mend it.", contacts=(BEN,)).having(approvers=("UCHLOE",))
    await one.act(handing(one, problem()), "Ben")
    assert one.context.motor.approval is not None
    assert one.context.motor.approval.asked == ("UADA",)
    unknown = scene("Mend it.", contacts=(BEN,))
    assert "whose problem this is" in observation(await unknown.act(handing(unknown, problem("")), "Ben"))
    assert unknown.llm.prompts == []
