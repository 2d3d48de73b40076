"""What a cycle leaves behind, as the one value that its commit makes lasting: turns, states, intentions, jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from daemon.core.perception import Modality, Perception
from daemon.core.ports import LLMCall
from daemon.core.timetable import CLOCKS_DIFFER_S
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.edits import HEARD
from daemon.memory.queues.intentions import IDLE, NewIntention
from daemon.memory.records import Claim, Heard, Speaks, Spell, Turn
from daemon.mind.motor import Motor
from daemon.mind.recall import as_memory
from daemon.mind.recall.visit import Visit
from daemon.mind.state_machine import Course
from daemon.soul import Soul
from daemon.soul_engine import transcript_window


@dataclass(frozen=True, slots=True)
class Habits:
    """The silence that ends a visit, the one after which the soul grows dormant (both ms), how much may be intended."""

    silence_ms: int
    dormant_ms: int
    most_intentions: int


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What is known at the end of a cycle: who thought, what was done, said and recalled, and when."""

    soul: Soul
    motor: Motor
    course: Course
    parts: tuple[str, ...]
    transcript: Transcript
    visit: Visit
    habits: Habits
    now_ms: int


def effect_of(
    aftermath: Aftermath,
    *,
    claim: Claim,
    trace_id: str,
    perceptions: Sequence[Perception],
    reply_to: str,
    answered: tuple[Heard, ...],
    ignored: Mapping[str, str],
    calls: tuple[LLMCall, ...],
) -> CycleEffect:
    """The whole effect of a cycle on memory.db."""
    soul, motor, habits, newest = aftermath.soul, aftermath.motor, aftermath.habits, perceptions[-1]
    turns = tuple(heard_turn(one) for one in perceptions if one.modality is Modality.WORDS)
    if aftermath.parts:
        said = Turn(Speaks.SOUL, soul.name, soul.display_name, newest.ts, motor.reply, motor.reflections)
        turns = (*turns, said)
    return CycleEffect(
        claim=claim,
        trace_id=trace_id,
        state=aftermath.course.state,
        spell=_spell(aftermath, claim.spell, newest),
        turns=turns,
        parts=aftermath.parts,
        reply_to=reply_to,
        recipient=newest.source,
        posted_after=posted_after(perceptions[0]),
        answered=answered,
        ignored=ignored,
        path=aftermath.course.path,
        intentions=(*_asked_for(motor, perceptions), *_idle(aftermath, claim.spell, newest)),
        cancelled=motor.cancelled,
        approval=motor.approval,
        errand=motor.errand,
        jobs=_jobs(aftermath, turns),
        calls=calls,
        silence_ms=habits.silence_ms,
        most_intentions=habits.most_intentions,
    )


def heard_turn(perception: Perception) -> Turn:
    """Somebody's words as a turn."""
    return Turn(Speaks.PERSON, perception.source, perception.name, perception.ts, perception.content)


def posted_after(perception: Perception) -> str:
    """A ts of the platform's that the answer is surely younger than; what has no message goes by our own clock."""
    if perception.modality is Modality.WORDS:
        return perception.ts
    return f"{max(0.0, float(perception.ts) - CLOCKS_DIFFER_S):.6f}"


def _spell(aftermath: Aftermath, before: Spell, newest: Perception) -> Spell:
    """Words begin or continue a spell of talk; what falls due by itself leaves it as it was."""
    if newest.modality is Modality.TIME:
        return before
    visit = before.visit + 1 if aftermath.visit.begins else before.visit
    return Spell(visit, aftermath.visit.exchanges + bool(aftermath.parts), aftermath.now_ms)


def _asked_for(motor: Motor, perceptions: Sequence[Perception]) -> tuple[NewIntention, ...]:
    """What is to be perceived later, each with the words that asked for it: it goes when they are taken back."""
    heard = [one.ts for one in perceptions if one.modality is Modality.WORDS]
    return tuple(replace(one, params={**one.params, HEARD: heard}) for one in motor.intentions)


def _idle(aftermath: Aftermath, spell: Spell, newest: Perception) -> tuple[NewIntention, ...]:
    """What silence leads to from here: dormancy some time after words, the end of the visit after that."""
    soul, habits, now = aftermath.soul, aftermath.habits, aftermath.now_ms
    if newest.modality is not Modality.TIME:
        process, due = "dormant", now + habits.dormant_ms
        if habits.dormant_ms >= habits.silence_ms or not soul.may_be(process):
            process, due = "exiting", now + habits.silence_ms
    elif newest.process == "dormant":
        process, due = "exiting", max(now, spell.spoken_ms + habits.silence_ms)
    else:
        return ()
    if not soul.may_be(process):
        return ()
    return (NewIntention(slot=IDLE, due_ms=due, process=process, behalf=newest.source),)


def _jobs(aftermath: Aftermath, turns: Sequence[Turn]) -> tuple[str, ...]:
    """The soul's subprocesses that have something to do, in its order; the reply's own checks spare the others."""
    checks = aftermath.motor.reflections
    wanted = {
        "models_the_visitor": bool(turns) and checks.get("user_model_check") is not False,
        "keeps_its_own_state": checks.get("soul_state_check") is True,
        "summarizes_the_conversation": _outgrown((*aftermath.transcript.turns, *turns), aftermath.soul),
    }
    return tuple(name for name in aftermath.soul.subprocesses if wanted.get(name, bool(turns)))


def _outgrown(turns: Sequence[Turn], soul: Soul) -> bool:
    """Whether turns no longer fit their budget and the older ones should live on as a summary."""
    older, _ = transcript_window([as_memory(turn) for turn in turns], soul.budgets.transcript, soul.budgets.turn)
    return bool(older)
