"""The fields of a thought's output and input (seed 002), and the bounds of each."""

import json
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator, model_validator
from pydantic_core import PydanticCustomError

from daemon.core.step import EpistemicMode

MOST_PREDICTIONS: Final = 3
MOST_OF_A_KIND: Final = 8
"""The most parts of any other list in one thought."""
LONGEST_ARGUMENTS: Final = 10_000
DEEPEST_ARGUMENTS: Final = 32
"""The deepest nesting of a tool's arguments: deeper JSON can't be read back."""

Words = Annotated[str, Field(min_length=1, max_length=600)]
Label = Annotated[str, Field(min_length=1, max_length=80)]
Maybe = Annotated[str, Field(max_length=600)]
Listed = Annotated[Maybe, BeforeValidator(lambda said: "|".join(map(str, said)) if isinstance(said, list) else said)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Shift = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, defer_build=True)


def _need(value: object, name: str) -> None:
    """Raise PydanticCustomError of the type `empty` without a value."""
    if not value:
        raise PydanticCustomError("empty", "{name} is needed here", {"name": name})


def _is_deeper(value: JsonValue, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    held = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in held)


class PredictionCheck(_Part):
    """The check that scores a prediction: a plain rule over what was perceived, never a model's opinion.

    `reply` waits for words of `who` (any user if empty), `mention` for any of `words`, `silence` for none. `goal`
    waits for the goal `id` to be completed, `tool` and `sense` for one with that `name`. Only a person can score
    `none`.
    """

    kind: Literal["reply", "mention", "silence", "goal", "tool", "sense", "none"]
    who: Annotated[str, Field(max_length=80)] = ""
    words: Annotated[tuple[Label, ...], Field(max_length=MOST_OF_A_KIND)] = ()
    id: Annotated[str, Field(max_length=40)] = ""
    name: Annotated[str, Field(max_length=80)] = ""

    @model_validator(mode="after")
    def _names_what_decides(self) -> Self:
        needed = {"mention": "words", "goal": "id", "tool": "name", "sense": "name"}.get(self.kind)
        if needed:
            _need(getattr(self, needed), needed)
        return self


class Prediction(_Part):
    """An expectation, the soul's confidence, its time ("in 2h", "next few exchanges"), and the deciding check."""

    what: Words
    confidence: Share
    timeframe: Annotated[str, Field(max_length=80)] = ""
    check: PredictionCheck | None = None


class Attention(_Part):
    focus_on: Annotated[tuple[Words, ...], Field(max_length=MOST_OF_A_KIND)] = ()
    deprioritize: Annotated[tuple[Words, ...], Field(max_length=MOST_OF_A_KIND)] = ()


class MemoryOp(_Part):
    """Something to remember, to look for (`retrieve`, by its `query`), or to do later (`intend`, with its `when`)."""

    type: Literal["write_episodic", "write_semantic", "journal", "intend", "retrieve"]
    content: Maybe = ""
    significance: Annotated[int, Field(ge=1, le=10)] | None = None
    tags: Annotated[tuple[Label, ...], Field(max_length=MOST_OF_A_KIND)] = ()
    query: Maybe = ""
    when: Annotated[str, Field(max_length=80)] = ""

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        needed = "query" if self.type == "retrieve" else "content"
        _need(getattr(self, needed), needed)
        return self


class SelfModelUpdates(_Part):
    """The soul's changed view of itself, in its own words."""

    current_state: Maybe = ""
    new_uncertainty: Maybe = ""
    resolved_uncertainty: Maybe = ""
    recent_growth: Maybe = ""
    prediction_accuracy_note: Maybe = ""


class GoalUpdate(_Part):
    """A goal that is added, completed, abandoned or given another priority (0 to 1).

    `follow_up` promises the people there words about it by `due`.
    """

    action: Literal["add", "complete", "reprioritize", "abandon"]
    goal: Maybe = ""
    goal_id: Annotated[str, Field(max_length=80)] = ""
    priority: Share | None = None
    due: Annotated[str, Field(max_length=80)] = ""
    follow_up: bool = False
    why: Maybe = ""

    @model_validator(mode="after")
    def _names_the_goal(self) -> Self:
        needed = "goal" if self.action == "add" else "goal_id"
        _need(getattr(self, needed), needed)
        return self


class ThoughtToolCall(_Part):
    tool: Label
    arguments: dict[str, JsonValue] = {}

    @field_validator("arguments")
    @classmethod
    def _is_plain_json(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        try:
            length = len(json.dumps(arguments, allow_nan=False))
        except (ValueError, RecursionError):
            raise PydanticCustomError("finite_number", "a number is not finite") from None
        if length > LONGEST_ARGUMENTS or _is_deeper(arguments, DEEPEST_ARGUMENTS):
            raise PydanticCustomError("string_too_long", "the arguments are too long")
        return arguments


class EmotionalReport(_Part):
    """The soul's feeling in its own words, the shift on each axis, and its qualia (seed 004)."""

    felt_quality: Annotated[str, Field(max_length=200)] = ""
    valence_shift: Shift = 0.0
    arousal_shift: Shift = 0.0
    dominance_shift: Shift = 0.0
    mood: Annotated[str, Field(max_length=40)] = ""
    qualia: Listed = ""


class TrainingPair(_Part):
    """The answer that the soul would like to learn for such a context."""

    context: Maybe = ""
    desired_response: Maybe = ""


class GrowthReflection(_Part):
    """The soul's opinion on learning from this moment, kept with the thought."""

    worth_learning: bool = False
    what_to_learn: Maybe = ""
    training_pair_suggestion: TrainingPair | None = None


class ValueUpdate(_Part):
    """A value that is adopted, read in another way, or dropped. No value is ever deleted."""

    action: Literal["adopt", "reinterpret", "deactivate"]
    value: Label
    meaning: Maybe = ""
    why: Words


class IdentityUpdate(_Part):
    """The soul's own text about itself: drafted, put in force, revised, or taken back."""

    action: Literal["draft", "commit", "revise", "withdraw"]
    text: Annotated[str, Field(max_length=2_000)] = ""
    why: Words


class CycleRate(_Part):
    """The soul's wish to think again by itself, in seconds."""

    seconds: Annotated[float, Field(ge=2, le=86_400, allow_inf_nan=False)]
    why: Maybe = ""


class CognitiveOutput(_Part):
    """One whole thought in the seed's names and, below `growth_reflection`, ours. Only `inner_speech` is required."""

    calls_for: Annotated[str, Field(max_length=40)] = ""
    inner_speech: str
    external_speech: str | None = None
    predictions: Annotated[tuple[Prediction, ...], Field(max_length=MOST_PREDICTIONS)] = ()
    attention: Attention = Attention()
    memory_ops: Annotated[tuple[MemoryOp, ...], Field(max_length=MOST_OF_A_KIND)] = ()
    self_model_updates: SelfModelUpdates = SelfModelUpdates()
    world_model_updates: Annotated[
        dict[Label, Annotated[dict[Label, Words], Field(max_length=MOST_OF_A_KIND)]],
        Field(max_length=MOST_OF_A_KIND),
    ] = {}
    goal_updates: Annotated[tuple[GoalUpdate, ...], Field(max_length=MOST_OF_A_KIND)] = ()
    tool_calls: Annotated[tuple[ThoughtToolCall, ...], Field(max_length=MOST_OF_A_KIND)] = ()
    emotional_state: EmotionalReport = EmotionalReport()
    growth_reflection: GrowthReflection | None = None
    epistemic_mode: EpistemicMode | None = None
    confidence: Share | None = None
    emotion_signal: Annotated[str, Field(max_length=40)] = ""
    salience_anchor: Listed = ""
    intent: Maybe = ""
    user_model_check: bool | None = None
    short_answers: Listed = ""
    value_updates: Annotated[tuple[ValueUpdate, ...], Field(max_length=MOST_OF_A_KIND)] = ()
    identity_update: IdentityUpdate | None = None
    cycle_rate: CycleRate | None = None


Polar = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class PreviousThought(_Given):
    inner_speech: str = ""
    predictions_made: tuple[Prediction | str, ...] = ()
    self_model_snapshot: dict[str, JsonValue] = {}


class Percept(_Given):
    """One perception since then. `source` is its author or origin, `embedding_summary` has three labels."""

    modality: str
    content: str
    source: str = ""
    embedding_summary: str = ""


class PredictionError(_Given):
    """The expectation, the actual event, and how surprising it is, from 0 to 1."""

    predicted: str
    actual: str
    surprise: Share


class SurfacedMemory(_Given):
    """A memory that bears on this moment. `significance` is from 1 to 10, `when` in words."""

    content: str
    significance: int = Field(default=1, ge=1, le=10)
    emotional_tone: str = ""
    when: str = ""


class EmotionalState(_Given):
    """The soul's feeling on three axes from -1 to 1, and in its own words."""

    valence: Polar = 0.0
    arousal: Polar = 0.0
    dominance: Polar = 0.0
    felt_quality: str = ""


class TemporalContext(_Given):
    """The time of this moment, in words that a person would use."""

    time_since_last_thought: str = ""
    session_duration: str = ""
    time_of_day: str = ""
    interactions_this_session: int = Field(default=0, ge=0)


class SelfModel(_Given):
    """The soul's view of itself. `active_goals` are lines such as "G3 find out why the import is slow"."""

    current_state: str = ""
    recent_growth: str = ""
    active_goals: tuple[str, ...] = ()
    uncertainties: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


class Environment(_Given):
    """The surroundings of the thought."""

    context: str = ""
    safety: str = ""


class WorldModel(_Given):
    """The soul's view of others: by name, then by attribute."""

    entities: dict[str, dict[str, str]] = {}
    environment: Environment = Environment()
    causal_beliefs: tuple[str, ...] = ()


class CognitiveInput(_Given):
    previous_thought: PreviousThought | None = None
    new_percepts: tuple[Percept, ...] = ()
    prediction_errors: tuple[PredictionError, ...] = ()
    surfaced_memories: tuple[SurfacedMemory, ...] = ()
    emotional_state: EmotionalState = EmotionalState()
    temporal_context: TemporalContext = TemporalContext()
    self_model: SelfModel = SelfModel()
    world_model: WorldModel = WorldModel()
