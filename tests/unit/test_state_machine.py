"""The state machine: paths without gaps, visits that end, and refusals that still answer."""

import asyncio
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.errors import ProcessFailed
from daemon.core.perception import Modality
from daemon.memory.records import ProcessState
from daemon.mind.motor import Motor
from daemon.mind.pipelines import FALLBACK, ProcessRun, run_processes
from daemon.mind.process import MentalProcess, Outcome, ProcessContext, Stay, Transition
from daemon.mind.recall.visit import Visit
from daemon.mind.transitions import TABLE
from daemon.processes import PROCESSES
from tests.unit.playing import SOUL, WORDS, Act, Play, due, keep_count, stay, to

SILENCE = replace(due("dormant"), content=" ")
BACK = Visit(number=2, met=True, fresh=True)


def acts(course: ProcessRun) -> list[tuple[str, str, str]]:
    return [(one.act, one.origin, one.target) for one in course.path]


def process_of(act: Act) -> MentalProcess:
    async def process(context: ProcessContext) -> Outcome:
        return act(context)

    return process


async def a_context() -> ProcessContext:
    play = Play({"engaged": stay})
    await play.perceive()
    return replace(play.ran[0], visit=BACK)


STAYING: Mapping[str, MentalProcess] = dict.fromkeys(TABLE, process_of(stay))


async def test_what_falls_due_is_no_return_of_a_user_and_a_removed_process_falls_back() -> None:
    context = await a_context()
    note = replace(due("engaged"), process=None)
    course = await run_processes(replace(context, perception=note), ProcessState(), STAYING)
    assert acts(course) == [("stay", "engaged", "engaged")]
    course = await run_processes(context, ProcessState(), STAYING)
    assert acts(course) == [("enter", "engaged", "returning"), ("stay", "returning", "returning")]
    waiting = ProcessState("problem_solving", process_memory={"problem": 1})
    course = await run_processes(await a_context(), waiting, STAYING)
    assert (course.state.process, course.state.process_memory) == ("problem_solving", {"problem": 1})
    for process in ("forgotten", "academic"):
        context = await a_context()
        soul = SOUL.model_copy(update={"processes": ("engaged",)})
        state = ProcessState(process, "curious", 3, {"a": 1}, {"b": 2})
        course = await run_processes(replace(context, soul=soul), state, STAYING)
        assert course.state == ProcessState(FALLBACK, process, 1)
    assert set(PROCESSES) == set(TABLE)


async def test_a_note_or_time_event_for_a_refused_process_is_handled_by_the_current_one_or_none() -> None:
    for process, why in (("nowhere", "no process"), ("curious", "nothing leads")):
        play = Play({"engaged": keep_count, "curious": stay, "ready": stay})
        course = await play.perceive(due(process, topic="tin"))
        assert acts(course) == [("refuse", "engaged", process), ("stay", "engaged", "engaged")]
        assert (course.path[0].decided_by, course.path[0].params) == ("schedule", {"topic": "tin"}), process
        assert why in course.path[0].reason
        assert play.names == ["engaged"], process
    state = ProcessState("curious", "greeting", 1, {"a": 1}, {"b": 2})
    play = Play({"engaged": stay, "curious": stay}, state=state)
    course = await play.perceive(SILENCE)
    assert acts(course) == [("refuse", "curious", "dormant")]
    assert (play.names, play.state) == ([], state)


async def test_a_visit_restores_the_process_memory_and_a_decision_stays_where_more_is_asked() -> None:
    home = ProcessState("problem_solving", "engaged", 2, {"a": 1}, {"b": 2})
    play = Play({"engaged": stay, "academic": to("curious", now=True), "problem_solving": stay}, state=home)
    course = await play.perceive(due("academic"))
    assert [one[0] for one in acts(course)] == ["visit", "refuse", "visit", "stay", "return"]
    assert play.names == ["academic", "engaged"]
    assert play.state == home
    home = ProcessState("engaged", "curious", 2, {"a": 1}, {"b": 2})
    play = Play({"engaged": keep_count}, state=home)
    await play.perceive(due("engaged"))
    assert play.state == home
    context = await a_context()
    visiting = replace(context, perception=replace(WORDS, process="academic"))
    course = await run_processes(visiting, ProcessState(), STAYING)
    assert [one.act for one in course.path] == ["visit", "stay", "return"]
    home = ProcessState("academic", "engaged", 2, {"a": 1}, {"b": 2})
    play = Play({"academic": stay, "problem_solving": stay}, state=home)
    course = await play.perceive(DECISION)
    assert [one[0] for one in acts(course)] == ["visit", "stay", "return"]
    assert (play.names, dict(play.ran[0].state.params)) == (["problem_solving"], {"approved": True})
    assert play.state == home
    play = Play({"academic": stay, "problem_solving": keep_count}, state=ProcessState("academic"))
    course = await play.perceive(DECISION)
    assert [one[0] for one in acts(course)] == ["visit", "stay"]
    assert (play.state.process, play.state.process_memory) == ("problem_solving", {"runs": 1})
    waiting = ProcessState("problem_solving", process_memory={"problem": 1})
    play = Play({"problem_solving": stay}, state=waiting)
    course = await play.perceive(DECISION)
    assert acts(course) == [("stay", "problem_solving", "problem_solving")]
    assert dict(play.ran[0].state.process_memory) == {"problem": 1}


DECISION = replace(WORDS, modality=Modality.DECISION, content="", params={"approved": True})


async def test_after_a_refused_transition_the_fallback_answers_unless_there_was_a_reply() -> None:
    play = Play({"engaged": stay, "academic": to("curious", now=True)}, state=ProcessState("academic"))
    course = await play.perceive()
    assert acts(course) == [
        ("refuse", "academic", "curious"),
        ("move", "academic", "engaged"),
        ("stay", "engaged", "engaged"),
    ]
    assert play.names == ["academic", "engaged"]

    def answers(context: ProcessContext) -> Outcome:
        context.motor.settle("Said.")
        return Transition(context.memory, "curious", "because", execute_now=True)

    play = Play({"engaged": stay, "academic": answers}, state=ProcessState("academic"))
    course = await play.perceive(motor=Motor(None))
    assert acts(course) == [("refuse", "academic", "curious"), ("stay", "academic", "academic")]


NAMES = ("engaged", "academic", "poetic", "curious", "dormant", "nowhere")
OUTCOMES = st.one_of(st.just(stay), st.just(keep_count), st.builds(to, st.sampled_from(NAMES), now=st.booleans()))
ACTS = st.fixed_dictionaries(dict.fromkeys(NAMES[:-1], OUTCOMES))


@given(acts=ACTS, home=st.sampled_from(NAMES), visited=st.sampled_from((*NAMES, None)))
def test_every_path_is_without_gaps_and_ends_where_the_conversation_is(
    acts: Mapping[str, Act], home: str, visited: str | None
) -> None:
    play = Play(acts, state=ProcessState(home))
    perception = WORDS if visited is None else due(visited)
    try:
        course = asyncio.run(play.perceive(perception))
    except ProcessFailed:
        assert play.state == ProcessState(home), "nothing has happened"
        assert len(play.ran) == 11
        return
    here = home if home in acts else FALLBACK
    came_from = here
    for one in course.path:
        assert one.origin == here
        if one.act in ("move", "visit", "return", "stay"):
            here = one.target
    assert course.state.process == here
    assert len(play.ran) <= 11
    assert [one.hop for one in course.path] == sorted(one.hop for one in course.path)
    if visited is not None and all(one.act != "move" for one in course.path):
        assert course.state.process == came_from


async def test_params_and_process_memory_do_not_pass_to_the_next_process() -> None:
    def leaves(context: ProcessContext) -> Outcome:
        return Transition(context.memory, "academic", "because", {"b": 2}, execute_now=True)

    play = Play({"engaged": leaves, "academic": keep_count}, state=ProcessState("engaged", "", 4, {"a": 1}, {"k": 1}))
    await play.perceive()
    assert [
        (dict(one.state.params), dict(one.state.process_memory), one.state.invocations, one.state.previous)
        for one in play.ran
    ] == [({"a": 1}, {"k": 1}, 4, ""), ({"b": 2}, {}, 0, "engaged")]
    assert play.state == ProcessState("academic", "engaged", 1, {"b": 2}, {"runs": 1})
    play = Play(
        {"engaged": lambda context: Stay(context.memory)}, state=ProcessState("engaged", process_memory={"k": 1})
    )
    await play.perceive()
    assert play.state == ProcessState("engaged", invocations=1, process_memory={"k": 1})
