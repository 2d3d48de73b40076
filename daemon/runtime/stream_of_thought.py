"""What a cycle adds to its conversation's stream of thought, where another step thought, too: it has no hole."""

from typing import Final

from daemon.core.perception import Modality
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.mind.goal_changes import StaleShown
from daemon.memory.mind.intended import IntentionsCameBack
from daemon.memory.queues.perceived_readings import ReadingsPerceived
from daemon.memory.stream.keeping import CycleThoughts
from daemon.memory.stream.new_thought import NewThought
from daemon.mind.motor import Motor
from daemon.mind.recall.looked_up import source_id
from daemon.mind.recall.thoughts import DEGRADED, MONOLOGUE
from daemon.mind.state_machine import ProcessRun
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.occasion import occasion_of
from daemon.runtime.cycle_state import Cycle

_RAN: Final = ("stay", "move", "return")  # acts by which a process that ran ends


def thoughts_of(cycle: Cycle, motor: Motor, run: ProcessRun, transcript: Transcript) -> CycleThoughts | None:
    """The thoughts of a cycle with all that they saw; None where it thought nothing."""
    thoughts = motor.thoughts
    if not thoughts or not thoughts[-1].spoke:  # it only looked something up, and another step spoke
        thoughts += _of_another_step(cycle, motor, run)
    if not thoughts:
        return None
    drawn_on = {source_id(one) for one in motor.drawn_on.values() if one.id or one.document}  # else from outside
    return CycleThoughts(
        thoughts,
        cycle.heard_by,
        saw_to=max((one.seq for one in transcript.turns), default=max(transcript.summarized_to, 0)),
        saw=cycle.saw.union(drawn_on, cycle.at_hand.thoughts),
        read_at=cycle.memory_read_at,
        passing=bool(cycle.paused) or cycle.holds_earlier,
    )


def stale_goals_shown(cycle: Cycle) -> tuple[StaleShown, ...]:
    """What is to be noted where a thought or an answer had a prompt that showed goals that were long untouched."""
    stale = tuple(one.id for one in cycle.at_hand.goals if one.stale)
    answered = stale and (cycle.is_tick or cycle.newest.modality is Modality.WORDS)
    return (StaleShown(cycle.claim.conversation.soul, stale),) if answered else ()


def intentions_come_back(cycle: Cycle) -> tuple[IntentionsCameBack, ...]:
    """What is to be noted where a prompt showed what the soul had meant to do by now: it is told once."""
    ids = tuple(one.id for one in cycle.at_hand.intended)
    return (IntentionsCameBack(ids),) if ids and cycle.newest.modality is Modality.WORDS else ()


def readings_perceived(cycle: Cycle) -> tuple[ReadingsPerceived, ...]:
    """What is to be noted where a prompt showed what reached the senses: it is perceived once."""
    sensed = cycle.at_hand.sensed
    return (ReadingsPerceived(sensed, cycle.trace_id),) if sensed.readings or sensed.dropped else ()


def _of_another_step(cycle: Cycle, motor: Motor, run: ProcessRun) -> tuple[NewThought, ...]:
    """A reply's private thought, a poem, or what a run of the autonomous loop said, in the form of a whole thought."""
    monologue = motor.annotations.get(MONOLOGUE)
    inner = monologue.strip() if isinstance(monologue, str) else ""
    if not (inner or motor.said):
        return ()
    output = CognitiveOutput(inner_speech=inner, external_speech=motor.said or None)
    return (
        NewThought(
            occasion_of(cycle.newest),
            thinking_process(run),
            "",
            output.model_dump_json(exclude_defaults=True),
            degraded=motor.annotations.get(DEGRADED) is True,
            spoke=bool(motor.said),
            surprise=cycle.at_hand.expected.surprise,
        ),
    )


def thinking_process(run: ProcessRun) -> str:
    """The mental process in which a perception was thought about last, also where it hands back or moves on then."""
    ran = (one.origin for one in reversed(run.path) if one.act in _RAN)
    return next(ran, run.state.process)
