"""The functions of a soul's mind, and the level that limits each (seed 002)."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import field

from daemon.core.value import Value


class Function(StrEnum):
    """The functions of the mind, each with its own level."""

    INNER_SPEECH = "inner_speech"
    SELF_MODEL = "self_model"
    EMOTION = "emotion"
    PREDICTIONS = "predictions"
    ATTENTION = "attention"
    WORLD_MODEL = "world_model"
    GOALS = "goals"
    MEMORY = "memory"
    TOOLS = "tools"
    TEMPO = "tempo"
    INITIATIVE = "initiative"
    VALUES = "values"
    IDENTITY = "identity"
    GROWTH = "growth"


class Level(IntEnum):
    """The effect that a function may have. No level overrides a click, an invitation, a budget or an audience.

    `KEPT`: stays in the thought without effect. `PROPOSED`: waits for an admin. `CHECKED`: takes effect within all
    checks.
    """

    KEPT = 0
    PROPOSED = 1
    CHECKED = 2


STARTS: Final[Mapping[Function, Level]] = MappingProxyType(
    {
        Function.INNER_SPEECH: Level.CHECKED,
        Function.SELF_MODEL: Level.CHECKED,
        Function.EMOTION: Level.CHECKED,
        Function.PREDICTIONS: Level.CHECKED,
        Function.ATTENTION: Level.CHECKED,
        Function.WORLD_MODEL: Level.CHECKED,
        Function.GOALS: Level.CHECKED,
        Function.MEMORY: Level.CHECKED,
        Function.TOOLS: Level.CHECKED,
        Function.TEMPO: Level.CHECKED,
        Function.INITIATIVE: Level.CHECKED,
        Function.VALUES: Level.PROPOSED,
        Function.IDENTITY: Level.PROPOSED,
        Function.GROWTH: Level.KEPT,
    }
)
"""The default level of each function."""

FUNCTION_OF: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "inner_speech": Function.INNER_SPEECH,
        "self_model_updates": Function.SELF_MODEL,
        "emotional_state": Function.EMOTION,
        "emotion_signal": Function.EMOTION,
        "predictions": Function.PREDICTIONS,
        "attention": Function.ATTENTION,
        "world_model_updates": Function.WORLD_MODEL,
        "goal_updates": Function.GOALS,
        "memory_ops": Function.MEMORY,
        "tool_calls": Function.TOOLS,
        "cycle_rate": Function.TEMPO,
        "value_updates": Function.VALUES,
        "identity_update": Function.IDENTITY,
        "growth_reflection": Function.GROWTH,
    }
)
"""The function of each field of a thought."""

REPLY_FIELDS: Final = frozenset(
    {
        "calls_for",
        "external_speech",
        "short_answers",
        "epistemic_mode",
        "confidence",
        "salience_anchor",
        "intent",
        "user_model_check",
    }
)
"""The fields by which a reply describes itself and its message. They have no level: a person waits for the reply."""

WORKSPACE_FIELDS: Final = frozenset({"value_updates", "identity_update"})
"""The fields that hold for the soul everywhere: only a thought for the whole workspace may change them."""


class Authority(Value):
    """The levels of a soul's functions. A function that is not named has its default level."""

    levels: Mapping[Function, Level] = field(default_factory=lambda: MappingProxyType({}))

    def level(self, function: Function) -> Level:
        return self.levels.get(function, STARTS[function])

    def of(self, name: str) -> Level:
        return Level.CHECKED if name in REPLY_FIELDS else self.level(FUNCTION_OF[name])

    def allows(self, name: str) -> bool:
        """Return true if a field of a thought takes effect by itself."""
        return self.of(name) >= Level.CHECKED

    @property
    def takes_initiative(self) -> bool:
        return self.level(Function.INITIATIVE) >= Level.CHECKED

    def and_also(self, other: "Authority") -> "Authority":
        """Return the lower level of both for each function."""
        return Authority({one: min(self.level(one), other.level(one)) for one in Function})


AS_AT_FIRST: Final = Authority()
