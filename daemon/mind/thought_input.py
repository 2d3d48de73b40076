"""What a whole thought is given, as the typed view of the regions of its prompt (seed 002, *Input*)."""

from daemon.core.inner_room import is_inner
from daemon.core.working_memory import Memory, Role
from daemon.mind.mental_process import ProcessContext
from daemon.mind.passing_time import temporal_context
from daemon.mind.recall.documents import active_values, held_self, held_world
from daemon.mind.recall.expected import what_came
from daemon.mind.recall.looked_up import SIGNIFICANCE, TONE, WHEN
from daemon.mind.recall.mood import felt_now
from daemon.mind.recall.occasion import day_in_words
from daemon.mind.recall.stream import held_in
from daemon.mind.senses.percepts import SENSES
from daemon.mind.thought.cognitive_input import (
    CognitiveInput,
    Environment,
    PredictionError,
    PreviousThought,
    SelfModel,
    SurfacedMemory,
    WorldModel,
)
from daemon.soul_engine import MEMORIES, PERSON


def given_to(context: ProcessContext) -> CognitiveInput:
    """What the thought of this moment is given: all that its prompt shows beside the earlier talk."""
    previous, now_ms = context.cycle.thoughts.previous, context.mind.clock.now_ms()
    held = held_in(previous)
    return CognitiveInput(
        previous_thought=None
        if held is None
        else PreviousThought(
            inner_speech=held.inner_speech,
            predictions_made=held.predictions,
            self_model_snapshot=held.self_model_updates.model_dump(exclude_defaults=True),
        ),
        new_percepts=tuple(one for sense in SENSES.values() for one in sense(context)),
        prediction_errors=tuple(
            PredictionError(predicted=one.what, actual=what_came(one), surprise=one.surprise)
            for one in context.cycle.at_hand.expected.errors
        ),
        surfaced_memories=tuple(
            _surfaced(one, now_ms, context.perception.zone)
            for one in context.memory.region(MEMORIES)
            if one.role is not Role.SYSTEM
        ),
        emotional_state=felt_now(context.own_state, now_ms, context.soul),
        temporal_context=temporal_context(context),
        self_model=_self_model(context, now_ms),
        world_model=_world_model(context, now_ms),
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


def _self_model(context: ProcessContext, now_ms: int) -> SelfModel:
    documents = context.cycle.at_hand.documents
    held = held_self(documents, now_ms)
    return SelfModel(
        current_state=held.current_state,
        recent_growth=held.recent_growth,
        active_goals=tuple(f"{one.id} {one.goal}" for one in context.cycle.at_hand.goals),
        uncertainties=held.uncertainties,
        values=tuple(one.name for one in active_values(context.soul, documents)),
    )


def _world_model(context: ProcessContext, now_ms: int) -> WorldModel:
    """What is known of people, and what the soul holds beside it."""
    held = held_world(context.cycle.at_hand.documents, now_ms)
    entities = {name: dict(attributes) for name, attributes in held.entities.items()}
    for one in context.memory.region(PERSON):
        if one.name and one.role is not Role.SYSTEM:
            known = entities.setdefault(one.name, {})
            known["known"] = "\n".join(filter(None, (known.get("known"), one.content)))
    return WorldModel(
        entities=entities,
        environment=Environment(context=held.context or _where(context), safety=held.safety),
        causal_beliefs=held.causal_beliefs,
    )


def _where(context: ProcessContext) -> str:
    """The kind of place in which it is thought."""
    return "inner room" if is_inner(context.perception.conversation) else context.perception.place.value
