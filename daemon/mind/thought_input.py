"""What a whole thought is given, as the typed view of the regions of its prompt (seed 002, *Input*)."""

from datetime import UTC, datetime
from typing import Final

from daemon.core.working_memory import DEFAULT_REGION, Memory, Role, WorkingMemory
from daemon.core.zones import zone_of
from daemon.memory.stream.reading import LastThoughts
from daemon.mind.mental_process import ProcessContext
from daemon.mind.recall.documents import active_values, held_self, held_world
from daemon.mind.recall.expected import what_came
from daemon.mind.recall.looked_up import SIGNIFICANCE, TONE, WHEN
from daemon.mind.recall.mood import felt_now
from daemon.mind.recall.occasion import day_in_words, passed, span_in_words
from daemon.mind.recall.stream import held_in, left_out, settled_lines
from daemon.mind.thought.cognitive_input import (
    CognitiveInput,
    Environment,
    Percept,
    PredictionError,
    PreviousThought,
    SelfModel,
    SurfacedMemory,
    TemporalContext,
    WorldModel,
)
from daemon.soul_engine import MEMORIES, PERSON

_SOURCE: Final = "source"  # a key of the metadata of what people said
_PARTS_OF_DAY: Final = ((5, "night"), (12, "morning"), (18, "afternoon"), (22, "evening"), (24, "night"))


def given_to(context: ProcessContext) -> CognitiveInput:
    """What the thought of this moment is given: all that its prompt shows beside the earlier talk."""
    previous, now_ms = context.cycle.thoughts.previous, context.mind.clock.now_ms()
    held, memory = held_in(previous), context.memory
    since = [] if previous is None else [_temporal((now_ms - previous.at_ms) / 1000)]
    since += [Percept(modality="temporal", content=one) for one in passed(context.perception, context.visit)]
    return CognitiveInput(
        previous_thought=None
        if held is None
        else PreviousThought(
            inner_speech=held.inner_speech,
            predictions_made=held.predictions,
            self_model_snapshot=held.self_model_updates.model_dump(exclude_defaults=True),
        ),
        new_percepts=(*_percepts(memory), *_motor(context.cycle.thoughts), *_meant(context), *since),
        prediction_errors=tuple(
            PredictionError(predicted=one.what, actual=what_came(one), surprise=one.surprise)
            for one in context.cycle.at_hand.expected.errors
        ),
        surfaced_memories=tuple(
            _surfaced(one, now_ms, context.perception.zone)
            for one in memory.region(MEMORIES)
            if one.role is not Role.SYSTEM
        ),
        emotional_state=felt_now(context.own_state, now_ms, context.soul),
        temporal_context=_time(context, now_ms),
        self_model=_self_model(context),
        world_model=_world_model(context),
    )


def _surfaced(one: Memory, now_ms: int, zone: str) -> SurfacedMemory:
    """A memory with what is known of it; 1 is the significance of one of which nothing is."""
    known, when_ms = one.metadata, int(one.metadata.get(WHEN, "0"))
    return SurfacedMemory(
        content=one.content,
        significance=min(10, max(1, int(known.get(SIGNIFICANCE, "0")))),
        emotional_tone=known.get(TONE, ""),
        when=day_in_words(when_ms, now_ms, zone) if when_ms else "",
    )


def _self_model(context: ProcessContext) -> SelfModel:
    documents = context.cycle.at_hand.documents
    held = held_self(documents)
    return SelfModel(
        current_state=held.current_state,
        recent_growth=held.recent_growth,
        active_goals=tuple(f"{one.id} {one.goal}" for one in context.cycle.at_hand.goals),
        uncertainties=held.uncertainties,
        values=tuple(one.name for one in active_values(context.soul, documents)),
    )


def _world_model(context: ProcessContext) -> WorldModel:
    """What is known of people, and what the soul holds beside it."""
    held = held_world(context.cycle.at_hand.documents)
    entities = {name: dict(attributes) for name, attributes in held.entities.items()}
    for one in context.memory.region(PERSON):
        if one.name and one.role is not Role.SYSTEM:
            known = entities.setdefault(one.name, {})
            known["known"] = "\n".join(filter(None, (known.get("known"), one.content)))
    return WorldModel(
        entities=entities,
        environment=Environment(context=held.context or context.perception.place.value, safety=held.safety),
        causal_beliefs=held.causal_beliefs,
    )


def _percepts(memory: WorkingMemory) -> tuple[Percept, ...]:
    """What came since the soul's last reply, oldest first."""
    turns = memory.region(DEFAULT_REGION)
    replies = [place for place, one in enumerate(turns) if one.role is Role.ASSISTANT]
    fresh = turns[replies[-1] + 1 if replies else 0 :]
    return tuple(
        Percept(
            modality="language" if _SOURCE in one.metadata else "internal",
            content=one.content,
            source=f"user:{one.name}" if _SOURCE in one.metadata else one.name or "",
        )
        for one in fresh
    )


def _motor(thoughts: LastThoughts) -> tuple[Percept, ...]:
    """What of the last thought did not take effect, and what an admin decided of what was proposed."""
    came = (*left_out(thoughts.previous), *settled_lines(thoughts))
    return tuple(Percept(modality="motor", content=one) for one in came)


def _meant(context: ProcessContext) -> tuple[Percept, ...]:
    """What was meant to be done by now."""
    return tuple(
        Percept(modality="temporal", content=one.words, source=f"intention:{one.id}")
        for one in context.cycle.at_hand.intended
    )


def _temporal(seconds: float) -> Percept:
    return Percept(modality="temporal", content=f"{max(0.0, seconds):.1f} seconds since last cycle")


def _time(context: ProcessContext, now_ms: int) -> TemporalContext:
    previous = context.cycle.thoughts.previous
    there = datetime.fromtimestamp(now_ms / 1000, zone_of(context.perception.zone) or UTC)
    return TemporalContext(
        time_since_last_thought="" if previous is None else span_in_words((now_ms - previous.at_ms) / 1000),
        session_duration=span_in_words((now_ms - context.visit.begun_ms) / 1000) if context.visit.begun_ms else "",
        time_of_day=next(name for until, name in _PARTS_OF_DAY if there.hour < until),
        interactions_this_session=context.visit.exchanges,
    )
