"""The parts of a thought that take effect when it is stored: one function for each field."""

from collections.abc import Callable
from typing import Final

from daemon.core.expectations import Check
from daemon.core.initiative import NEVER_QUIET, QuietHours
from daemon.core.tempo import SURPRISING
from daemon.core.timeframes import due_time, timeframe
from daemon.core.timetable import InThePast, TooFarAhead
from daemon.core.value import Value
from daemon.memory.expectations.settling import NewPrediction, PredictionsMade
from daemon.memory.knowledge.soul_states import OwnFeeling
from daemon.memory.mind.allowing import IntendedInThought, KnownOutcome, NotedInThought, ToDo
from daemon.memory.mind.goal_changes import GoalChange, GoalChanges
from daemon.memory.mind.self_model import IdentityPatch, SelfModelPatch, ValueChange, ValuesPatch
from daemon.memory.mind.world_model import MoodShift, WorldModelPatch
from daemon.memory.queues.next_tick import WakeWish
from daemon.memory.queues.remembering import Journaled, Remembered
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.process import ProcessContext
from daemon.mind.recall.mood import current_mood
from daemon.mind.steps.feel import qualia_in
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.cognitive_output import GoalUpdate, MemoryOp, Prediction
from daemon.soul.field_types import Physio


class Moment(Value):
    """The time of a thought's effect (ms, UTC), and the zone of the person whom it answers, empty if unknown.

    An admin may allow a part long after its cycle. A part therefore depends on the thought and its moment alone.
    `surprise` (0 to 1) is the greatest among the prediction errors. `values` are those of soul.toml. `moods` are the
    known ones, empty where they were checked before. A mood has the half-life `half_life_minutes`. `mood` is the one
    before, and `physio` describes each in the body. `wakes`: the soul may think by itself. `promises` is how many more
    things it may promise the person, None for none. In `quiet` hours it says nothing unasked.
    """

    now_ms: int
    zone: str = ""
    surprise: float = 0.0
    values: tuple[str, ...] = ()
    moods: tuple[str, ...] = ()
    half_life_minutes: float = 120.0
    mood: str = ""
    physio: Physio = ()
    wakes: bool = True
    promises: int | None = None
    quiet: QuietHours = NEVER_QUIET


def due_by(text: str, moment: Moment) -> int | str:
    """Return a time in ms, UTC, that a thought wrote, or the reason why there is none."""
    try:
        return due_time(text, moment.now_ms, moment.zone)
    except InThePast:
        return "past"
    except TooFarAhead:
        return "too_far"
    except ValueError:
        return "out_of_range"


def of_self(_moment: Moment, output: CognitiveOutput) -> tuple[SelfModelPatch, ...]:
    patch = SelfModelPatch(**output.self_model_updates.model_dump())
    return (patch,) if patch.size else ()


def of_world(_moment: Moment, output: CognitiveOutput) -> tuple[WorldModelPatch, ...]:
    return (WorldModelPatch(output.world_model_updates),) if output.world_model_updates else ()


def of_values(moment: Moment, output: CognitiveOutput) -> tuple[ValuesPatch, ...]:
    changes = tuple(ValueChange(one.action, one.value, one.meaning, one.why) for one in output.value_updates)
    return (ValuesPatch(changes, moment.values),) if changes else ()


def of_identity(_moment: Moment, output: CognitiveOutput) -> tuple[IdentityPatch, ...]:
    update = output.identity_update
    return (IdentityPatch(update.action, update.text, update.why),) if update is not None else ()


_WEIGHS: Final = 2
_MOST_SIGNIFICANT: Final = 10


def expected_of(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    found = tuple(_new(one, moment) for one in output.predictions)
    return (PredictionsMade(found),) if found else ()


def weighed(significance: int, surprise: float) -> int:
    """Return the significance (1 to 10) of a memory, raised by a surprising moment."""
    if surprise < SURPRISING:
        return significance
    return min(_MOST_SIGNIFICANT, significance + _WEIGHS)


def _new(one: Prediction, moment: Moment) -> NewPrediction:
    said = one.check
    check = Check("none") if said is None else Check(said.kind, said.who, said.words, said.id, said.name)
    until = timeframe(one.timeframe, moment.now_ms, moment.zone)
    return NewPrediction(one.what, one.confidence, one.timeframe, until, check)


def feeling_parts(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """Return the shift of the mood and its feeling, none where the thought has neither."""
    said = output.emotional_state
    known = {one.casefold(): one for one in moment.moods or (said.mood,)}
    mood = known.get(said.mood.casefold(), "") if said.mood else ""
    qualia = qualia_in(said.qualia)
    shift = MoodShift(
        said.valence_shift,
        said.arousal_shift,
        said.dominance_shift,
        said.felt_quality,
        mood,
        moment.half_life_minutes,
        unknown=bool(said.mood and not mood),
        feeling=OwnFeeling(qualia, dict(dict(moment.physio).get(mood or moment.mood, ()))) if qualia else None,
    )
    return (shift,) if shift.size else ()


_TIMED: Final = ("add", "reprioritize")


def goals_of(moment: Moment, output: CognitiveOutput) -> tuple[GoalChanges, ...]:
    """Return the changes of a thought's goals, promises first. A goal with an impossible time is refused.

    Below a reply, a goal with `follow_up` is a promise. Where the soul may promise nothing further, it is a plain
    goal.
    """
    changes, refused = list[GoalChange](), list[str]()
    for one in output.goal_updates:
        timed = one.due and one.action in _TIMED
        due = due_by(one.due, moment) if timed else 0
        if isinstance(due, str):
            refused.append(due)
            continue
        wants = one.follow_up and one.action == "add"
        why_not = _why_no_promise(moment, output, due, sum(each.promised for each in changes)) if wants else ""
        refused += [why_not] if why_not else []
        promised = wants and not why_not
        changes.append(_change(one, moment.quiet.over(due, moment.zone) if promised else due, promised=promised))
    changes.sort(key=lambda each: not each.promised)
    return (GoalChanges(tuple(changes), tuple(refused)),) if changes or refused else ()


def _why_no_promise(moment: Moment, output: CognitiveOutput, due: int, promised: int) -> str:
    if moment.promises is None or not output.external_speech:
        return "not_invited"
    if promised >= moment.promises:
        return "too_many"
    return "" if due else "empty"


def _change(one: GoalUpdate, due_ms: int, *, promised: bool) -> GoalChange:
    return GoalChange(one.action, one.goal, one.goal_id, one.priority, due_ms, one.why, promised)


def intended_of(moment: Moment, output: CognitiveOutput) -> tuple[IntendedInThought, ...]:
    """Return what a thought means to do. An item without a possible time is refused."""
    planned, refused = list[ToDo](), list[str]()
    for one in output.memory_ops:
        if one.type != "intend":
            continue
        due = due_by(one.when, moment) if one.when else "empty"
        if isinstance(due, str):
            refused.append(due)
        else:
            planned.append(ToDo(one.content, due))
    return (IntendedInThought(tuple(planned), tuple(refused)),) if planned or refused else ()


_NOTED: Final = ("write_episodic", "write_semantic")
_JOURNAL: Final = "journal"
_USUAL_SIGNIFICANCE: Final = 5
_FIELD: Final = "memory_ops"


def wants_noting(output: CognitiveOutput) -> bool:
    return any(one.type in _NOTED for one in output.memory_ops)


def remembering_parts(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """Return what a thought notes, and the number of its looks into memory."""
    tone = output.emotional_state.felt_quality
    notes = tuple(_note(one, tone, moment) for one in output.memory_ops if one.type in (*_NOTED, _JOURNAL))
    looks = sum(one.type == "retrieve" for one in output.memory_ops)
    return (
        *((NotedInThought(notes),) if notes else ()),
        *((KnownOutcome(_FIELD, looks),) if looks else ()),
    )


def _note(one: MemoryOp, tone: str, moment: Moment) -> Remembered | Journaled:
    kind = Journaled if one.type == _JOURNAL else Remembered
    significance = weighed(one.significance or _USUAL_SIGNIFICANCE, moment.surprise)
    return kind(one.content, significance, one.tags, tone)


def wishes_to_wake(moment: Moment, output: CognitiveOutput) -> tuple[WakeWish, ...]:
    """Return the wish to think again, where the soul may think by itself at all."""
    if output.cycle_rate is None or not moment.wakes:
        return ()
    did = (
        *(output.external_speech, output.predictions, output.memory_ops, output.goal_updates, output.tool_calls),
        *(output.world_model_updates, output.value_updates, output.identity_update),
    )
    return (WakeWish(output.cycle_rate.seconds, fruitful=any(did)),)


PartsOf = Callable[[Moment, CognitiveOutput], tuple[ThoughtPart, ...]]

_KINDS: Final[tuple[PartsOf, ...]] = (
    expected_of,
    remembering_parts,
    intended_of,
    feeling_parts,
    of_self,
    of_world,
    goals_of,
    of_values,
    of_identity,
    wishes_to_wake,
)


def moment_of(context: ProcessContext) -> Moment:
    soul, now_ms = context.soul, context.mind.clock.now_ms()
    return Moment(
        now_ms,
        context.perception.zone,
        context.cycle.at_hand.expected.surprise or 0.0,
        soul.values,
        soul.emotional_states,
        soul.mood.half_life_minutes,
        current_mood(context.own_state, now_ms, soul),
        soul.physio,
        wakes=context.cycle.thinks_unasked,
        promises=context.cycle.promises if context.cycle.thoughts.authority.takes_initiative else None,
        quiet=context.cycle.quiet,
    )


def parts_of(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """Return all parts of a thought that take effect apart from its speech, as far as the daemon's checks allow."""
    return tuple(part for of_field in _KINDS for part in of_field(moment, output))
