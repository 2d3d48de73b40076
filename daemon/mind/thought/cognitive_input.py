"""What a thought is given (seed 002, *Input*): the typed view of the regions that its prompt is made of.

Every part may be missing: the first thought has no previous one, and a room without memories surfaces none.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from daemon.mind.thought.cognitive_output import Prediction

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Polar = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class PreviousThought(_Given):
    """The last thought of the same conversation."""

    inner_speech: str = ""
    predictions_made: tuple[Prediction | str, ...] = ()
    self_model_snapshot: dict[str, JsonValue] = {}


class Percept(_Given):
    """One thing that was perceived since; `source` is who or what it came from, `embedding_summary` three labels."""

    modality: str
    content: str
    source: str = ""
    embedding_summary: str = ""


class PredictionError(_Given):
    """What was expected, what came instead, and how surprising that is, from 0 to 1."""

    predicted: str
    actual: str
    surprise: Share


class SurfacedMemory(_Given):
    """A memory that bears on this moment; `significance` is from 1 to 10, `when` in words."""

    content: str
    significance: int = Field(default=1, ge=1, le=10)
    emotional_tone: str = ""
    when: str = ""


class EmotionalState(_Given):
    """How the soul feels, on three axes from -1 to 1, and in its own words."""

    valence: Polar = 0.0
    arousal: Polar = 0.0
    dominance: Polar = 0.0
    felt_quality: str = ""


class TemporalContext(_Given):
    """When this moment is, in words that a person would use."""

    time_since_last_thought: str = ""
    session_duration: str = ""
    time_of_day: str = ""
    interactions_this_session: int = Field(default=0, ge=0)


class SelfModel(_Given):
    """What the soul holds about itself; `active_goals` are lines such as "G3 find out why the import is slow"."""

    current_state: str = ""
    recent_growth: str = ""
    active_goals: tuple[str, ...] = ()
    uncertainties: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


class Environment(_Given):
    """Where the thought is thought."""

    context: str = ""
    safety: str = ""


class WorldModel(_Given):
    """What the soul holds about others: by name, then by attribute."""

    entities: dict[str, dict[str, str]] = {}
    environment: Environment = Environment()
    causal_beliefs: tuple[str, ...] = ()


class CognitiveInput(_Given):
    """All that one thought is given."""

    previous_thought: PreviousThought | None = None
    new_percepts: tuple[Percept, ...] = ()
    prediction_errors: tuple[PredictionError, ...] = ()
    surfaced_memories: tuple[SurfacedMemory, ...] = ()
    emotional_state: EmotionalState = EmotionalState()
    temporal_context: TemporalContext = TemporalContext()
    self_model: SelfModel = SelfModel()
    world_model: WorldModel = WorldModel()
