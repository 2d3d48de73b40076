"""Open Souls' mental processes, turns, hooks and scheduled perceptions, row by row."""

import asyncio

import pytest

from daemon.core.errors import ProcessFailed
from daemon.core.timetable import when
from daemon.core.working_memory import WorkingMemory, thought
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.records import ProcessState
from daemon.mind.motor import Motor
from daemon.mind.process import MOST_HOPS, Interrupt, Interrupted, Outcome, ProcessContext, Stay, Transition
from daemon.mind.steps.external_dialog import external_dialog
from tests.fakes import FakeSpeech
from tests.unit.playing import NOW_MS, SOUL, WORDS, Play, due, keep_count, stay, to
from tests.unit.thinking import END, head

# -- mental processes -------------------------------------------------------------------------------------------------


async def test_a_process_stays_unless_it_hands_over_for_the_next_perception_or_at_once() -> None:
    play = Play({"engaged": stay, "academic": stay})
    await play.perceive()
    await play.perceive()
    assert play.names == ["engaged", "engaged"]
    play.acts = {"engaged": to("academic"), "academic": to("engaged", now=True)}
    await play.perceive()
    assert play.names[2:] == ["engaged"]
    play.acts = {"engaged": stay, "academic": to("engaged", now=True)}
    await play.perceive()
    assert play.names[3:] == ["academic", "engaged"]
    assert play.ran[3].perception is play.ran[4].perception
    assert [one.state.previous for one in play.ran] == ["", "", "", "engaged", "academic"]


async def test_the_memory_goes_over_to_the_next_process() -> None:
    play = Play(
        {
            "engaged": lambda context: Transition(
                context.memory.with_memory(thought("hm")), "academic", "because", execute_now=True
            ),
            "academic": stay,
        }
    )
    course = await play.perceive()
    assert [one.content for one in play.ran[1].memory] == ["hello", "hm"]
    assert course.memory == play.ran[1].memory


async def test_ten_hops_are_run_and_an_eleventh_is_an_error() -> None:
    play = Play({})

    def hop(context: ProcessContext) -> Outcome:
        other = "poetic" if context.state.process == "academic" else "academic"
        return Transition(context.memory, other, "on", execute_now=len(play.ran) <= hops)

    play.acts = {"engaged": hop, "academic": hop, "poetic": hop}
    hops = MOST_HOPS
    await play.perceive()
    assert len(play.ran) == MOST_HOPS + 1 == 11
    play.ran.clear()
    hops = MOST_HOPS + 1
    with pytest.raises(ProcessFailed):
        await play.perceive()
    assert len(play.ran) == MOST_HOPS + 1


async def test_returning_the_same_process_is_no_transition() -> None:
    for now in (False, True):
        play = Play({"engaged": to("engaged", now=now, other=1)}, state=ProcessState("engaged", "curious", 3, {"a": 1}))
        await play.perceive()
        assert play.names == ["engaged"]
        assert play.state == ProcessState("engaged", "curious", 4, {"a": 1})


async def test_process_memory_and_the_count_outlive_a_run_and_begin_anew_after_a_transition() -> None:
    play = Play({"engaged": keep_count, "academic": stay})
    await play.perceive()
    await play.perceive()
    play.acts = {"engaged": to("academic"), "academic": to("engaged")}
    for _ in range(3):
        await play.perceive()
    runs = [(one.state.process, one.state.invocations, dict(one.state.process_memory)) for one in play.ran]
    assert runs == [
        ("engaged", 0, {}),
        ("engaged", 1, {"runs": 1}),
        ("engaged", 2, {"runs": 2}),
        ("academic", 0, {}),
        ("engaged", 0, {}),
    ]


async def test_params_are_stored_until_the_next_transition() -> None:
    play = Play({"engaged": to("academic", topic="tin"), "academic": stay})
    for _ in range(3):
        await play.perceive()
    assert [dict(one.state.params) for one in play.ran] == [{}, {"topic": "tin"}, {"topic": "tin"}]
    play.acts = {"academic": to("engaged"), "engaged": stay}
    await play.perceive()
    assert dict(play.state.params) == {}


async def test_a_process_is_given_the_perception_in_its_memory_and_may_look_whether_more_came() -> None:
    def look(context: ProcessContext) -> Outcome:
        assert not context.interrupt.pending
        context.interrupt.call()
        return Stay(context.memory, {"saw": context.interrupt.pending})

    play = Play({"engaged": look})
    await play.perceive()
    newest = play.ran[0].memory.at(-1)
    assert (newest.content, newest.name) == ("hello", "Ada")
    assert dict(play.state.process_memory) == {"saw": True}


# -- hooks ------------------------------------------------------------------------------------------------------------


async def test_speak_takes_a_stream() -> None:
    speech = FakeSpeech()
    thought = head(["Hello, ", "Ada.", END]).mind.stream(WorkingMemory("Kothar"), external_dialog(SOUL, "Greet."))
    await Motor(speech).speak(thought)
    assert "".join(speech.texts) == (await thought.finished())[1] == "Hello, Ada."


def intention(slot: str, time: str, process: str = "", **params: object) -> NewIntention:
    return NewIntention(slot=slot, due_ms=when(time, NOW_MS), process=process, params=params, behalf="U0ADA")


def test_an_event_is_scheduled_in_or_at_with_a_process_and_params() -> None:
    motor = Motor(None)
    motor.schedule(intention("tea", "in 20m", "academic", topic="tea"))
    motor.schedule(intention("noon", "2025-06-16T12:00Z"))
    tea, noon = motor.intentions
    assert (tea.due_ms - NOW_MS, tea.process, dict(tea.params)) == (20 * 60_000, "academic", {"topic": "tea"})
    assert noon.due_ms == 1_750_075_200_000


def test_the_invoking_perception_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        WORDS.content = "other"  # type: ignore[misc]  # the point of the test


async def test_pending_perceptions_are_seen_while_they_arrive() -> None:
    interrupt = Interrupt()
    waiting = asyncio.ensure_future(interrupt.unless_called(asyncio.Event().wait()))
    await asyncio.sleep(0)
    assert not interrupt.pending
    interrupt.call()
    assert interrupt.pending
    with pytest.raises(Interrupted):
        await waiting


# -- scheduled perceptions --------------------------------------------------------------------------------------------


async def test_a_scheduled_perception_visits_its_process_and_comes_back_unless_that_moves_on() -> None:
    play = Play({"engaged": stay, "dormant": stay, "academic": to("poetic", verse=3), "poetic": stay})
    for perception in (WORDS, due("dormant"), WORDS, due("academic"), WORDS):
        await play.perceive(perception)
    assert play.names == ["engaged", "dormant", "engaged", "academic", "poetic"]
    assert dict(play.ran[4].state.params) == {"verse": 3}


# -- faults not inherited ---------------------------------------------------------------------------------------------


async def test_a_refused_transition_resets_nothing() -> None:
    state = ProcessState("engaged", "curious", 2, {"topic": "tin"}, {"runs": 2})
    for target in ("greeting", "nowhere"):
        play = Play({"engaged": to(target), "greeting": stay}, state=state)
        course = await play.perceive()
        assert course.path[0].act == "refuse"
        assert (play.state.process, play.state.params, play.state.process_memory) == (
            "engaged",
            state.params,
            state.process_memory,
        )
