"""Transitions: the table of entries, the cues, and those that the model has to confirm."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.errors import ModelUnavailable
from daemon.core.limits import Limits
from daemon.mind.mental_process import ProcessContext
from daemon.mind.recall.visit import Visit
from daemon.mind.transitions import SPOKEN, TABLE, Situation, opening_process, situation_of, why_refused
from daemon.mind.transitions.cues import match_cue
from daemon.mind.transitions.following import HANDED_OVER, confirmed, follow_cues
from daemon.soul import Contact, Mode
from tests.given import soul
from tests.unit.playing import WORDS, Play, stay
from tests.unit.process_parts import current_cycle
from tests.unit.thinking import END, Head, Script, head

SOUL = soul().model_copy(
    update={
        "modes": (Mode(name="academic", personality="Scholarly."), Mode(name="poetic", personality="Singing.")),
        "contacts": (Contact(name="Ben", slack="U0BEN", can="grants access"),),
    }
)
BARE = soul()
TALKING = Visit(number=1, exchanges=1, met=True)
FIRST = Visit(number=1, met=False, fresh=True)
BACK = Visit(number=2, met=True, fresh=True)
HOSTILE_SIZE = 100_000


def situation(words: str = "", visit: Visit = TALKING, *, bare: bool = False, autonomous: bool = True) -> Situation:
    return Situation(visit, words, BARE if bare else SOUL, autonomous=autonomous)


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "visit", "may"),
    [
        ("greeting", FIRST, True),
        ("greeting", BACK, False),
        ("greeting", replace(FIRST, exchanges=1), False),
        ("returning", BACK, True),
        ("returning", FIRST, False),
        ("returning", replace(BACK, exchanges=1), False),
        ("returning", replace(BACK, fresh=False), False),
        ("engaged", TALKING, True),
        ("dormant", TALKING, True),
        ("exiting", TALKING, True),
    ],
)
def test_the_visit_decides_between_greeting_and_returning(target: str, visit: Visit, may: bool) -> None:
    assert (why_refused("engaged", target, situation(visit=visit)) == "") is may


@pytest.mark.parametrize(("exchanges", "may"), [(0, True), (3, True), (4, False)])
def test_curious_is_entered_only_at_a_beginning(exchanges: int, may: bool) -> None:
    reason = why_refused("greeting", "curious", situation(visit=replace(TALKING, exchanges=exchanges)))
    assert (reason == "") is may


@pytest.mark.parametrize("target", ["ready", "academic", "poetic", "problem_solving"])
def test_a_process_that_needs_what_the_soul_lacks_is_refused(target: str) -> None:
    assert why_refused("engaged", target, situation()) == ""
    assert why_refused("engaged", target, situation(bare=True, autonomous=False))


def test_a_process_the_soul_does_not_use_and_an_unknown_one_are_refused() -> None:
    apart = replace(situation(), soul=SOUL.model_copy(update={"processes": ("engaged",)}))
    assert "takes no part" in why_refused("engaged", "poetic", apart)
    assert "no process" in why_refused("engaged", "sleeping", situation())


def test_from_dormant_only_exiting_is_entered() -> None:
    for target in TABLE:
        expected = target == "exiting"
        assert (why_refused("dormant", target, situation(visit=FIRST)) == "") is expected
        assert why_refused("exiting", target, situation(visit=FIRST))


@pytest.mark.parametrize(
    ("visit", "target"), [(FIRST, "greeting"), (BACK, "returning"), (TALKING, None), (replace(BACK, number=1), None)]
)
def test_a_visit_begins_with_greeting_or_returning_or_goes_on(visit: Visit, target: str | None) -> None:
    begun = opening_process("engaged", situation(visit=visit))
    assert (begun[0] if begun else None) == target


# -- leads -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "target", "certain"),
    [
        ("Write me a haiku about tin", "poetic", True),
        ("could you compose, for the launch, a short ODE?", "poetic", True),
        ("I read a sonnet", "poetic", False),
        ("may I talk to a human", "ready", True),
        ("whom should I ask?", "ready", True),
        ("who owns the vault", "ready", False),
        ("who is in charge of it", "ready", False),
        ("any scholarship on Linear B?", "academic", False),
        ("the etymology of tin", "academic", False),
        ("find out why it fails", "problem_solving", False),
        ("what is the root cause", "problem_solving", False),
    ],
)
def test_a_message_gives_a_certain_cue_or_one_with_a_question(words: str, target: str, certain: bool) -> None:
    found = match_cue("engaged", situation(words))
    assert found is not None
    assert (found.target, found.question == "") == (target, certain)
    assert found.reason


@pytest.mark.parametrize(
    "words",
    ["", "hello", "write it down", "who am I", "the solver", "a scholarshipless"],
)
def test_an_ordinary_message_gives_no_cue(words: str) -> None:
    assert match_cue("engaged", situation(words)) is None


def test_no_cue_leads_to_the_current_or_a_refused_process() -> None:
    assert match_cue("poetic", situation("write a poem")) is None
    assert match_cue("engaged", situation("write a poem, whom should I ask, scholars, find out", bare=True)) is not None
    assert match_cue("engaged", situation("write a poem, whom should I ask", bare=True)) is None
    assert match_cue("dormant", situation("write a poem")) is None


CUES = (
    "write ",
    "poem",
    "who ",
    "whom do i ask",
    "hand this over to a human",
    "etymolog",
    "why does",
    " ",
    "\n",
    "\u017f",
    "İ",
)


@given(words=st.one_of(st.text(), st.lists(st.sampled_from(CUES)).map("".join)), origin=st.sampled_from(sorted(SPOKEN)))
def test_no_message_breaks_the_rules(words: str, origin: str) -> None:
    found = match_cue(origin, situation(words))
    assert found is None or (found.target != origin and not why_refused(origin, found.target, situation(words)))


@pytest.mark.parametrize(
    "piece",
    [
        "write ",
        "write a ",
        "who ",
        "whom should i ",
        "talk to ",
        "hand this over ",
        "look it ",
        "why ",
        "etymolog",
        "w",
        " ",
        "is able to ",
        "find\n",
        "linear ",
        "bronze ",
        "in charge ",
        "İ",
        "poe",
        "a",
        "-poem",
    ],
)
def test_a_hundred_thousand_hostile_characters_are_read_at_once(piece: str) -> None:
    text = piece * (HOSTILE_SIZE // len(piece))
    for words in (text, f"who{' ' * HOSTILE_SIZE}x", f"write {text}", f"talk to {text}"):
        began = time.thread_time()  # CPU time, so that other processes do not count
        match_cue("engaged", situation(words))
        assert time.thread_time() - began < 1.5


# -- following ---------------------------------------------------------------------------------------------------------


async def context_of(words: str, *scripts: Script) -> tuple[ProcessContext, Head]:
    play = Play({"engaged": stay})
    await play.perceive()
    thinking = head(*scripts)
    perception = replace(WORDS, content=words)
    return replace(play.ran[0], perception=perception, mind=thinking.mind, soul=SOUL, visit=TALKING), thinking


async def test_a_certain_cue_is_followed_without_a_call() -> None:
    context, thinking = await context_of("write a hymn to tin, a poem")
    found = await follow_cues(context)
    assert found is not None
    assert (found.to, found.decided_by, found.execute_now) == ("poetic", "rule", True)
    assert thinking.llm.prompts == []


@pytest.mark.parametrize(("answer", "target"), [('{"true": true}', "ready"), ('{"true": false}', None)])
async def test_an_uncertain_cue_is_followed_if_the_model_confirms_it(answer: str, target: str | None) -> None:
    context, thinking = await context_of("who decides?", [answer, END])
    found = await follow_cues(context)
    assert (found.to if found else None) == target
    assert found is None or (found.decided_by, found.memory) == ("model", context.memory)
    assert [prompt.step for prompt in thinking.llm.prompts] == ["mental_query"]


async def test_a_message_without_a_cue_costs_no_call() -> None:
    context, thinking = await context_of("hello")
    assert await follow_cues(context) is None
    assert thinking.llm.prompts == []


async def test_a_message_that_was_handed_over_follows_no_cue_and_the_next_one_does() -> None:
    context, _ = await context_of("write me a poem")
    assert (
        await follow_cues(replace(context, state=replace(context.state, params={HANDED_OVER: context.perception.id})))
        is None
    )
    assert (
        await follow_cues(replace(context, state=replace(context.state, params={HANDED_OVER: "another"}))) is not None
    )


async def test_a_failing_model_confirms_no_cue() -> None:
    context, _ = await context_of("who decides?", [ModelUnavailable("busy", hint="wait")])
    assert not await confirmed(context, "It is so.")


async def test_only_a_soul_with_limits_is_autonomous() -> None:
    context, _ = await context_of("find out")
    assert not situation_of(context).autonomous
    limits = Limits(loops=1, tokens=1, usd=1.0, seconds=1.0)
    assert situation_of(replace(context, cycle=current_cycle(limits))).autonomous


# -- modes of one's own ------------------------------------------------------------------------------------------------


def _with_hints(*hints: str, triggers: tuple[str, ...] = ()) -> Situation:
    """The situation of a soul whose academic mode has these hints."""
    mode = Mode(name="academic", personality="Scholarly.", hints=hints, triggers=triggers)
    return replace(situation(), soul=SOUL.model_copy(update={"modes": (mode,)}))


@pytest.mark.parametrize(
    ("words", "led"), [("the kilns of Ugarit", True), ("UGARIT?", True), ("ugarits", False), ("C++ or not", True)]
)
def test_a_mode_has_hints_of_its_own_as_whole_words(words: str, led: bool) -> None:
    found = match_cue("engaged", replace(_with_hints("Ugarit", "c++"), words=words))
    assert (found is not None and found.target == "academic") is led


def test_the_question_lists_the_triggers_of_the_mode() -> None:
    found = match_cue("engaged", replace(_with_hints("Ugarit", triggers=("They ask of kilns.",)), words="Ugarit"))
    assert found is not None
    assert "They ask of kilns." in found.question
