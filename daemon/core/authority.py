"""How much each function of a mind may do by itself (seed 002): which field of a thought is whose, and its level."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final


class Function(StrEnum):
    """A function of the mind, with a level of its own."""

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
    """What a function may do; no level lifts a click, an invitation, a budget or an audience.

    What is `KEPT` stands in the thought and has no effect; what is `PROPOSED` waits for an admin; what is `CHECKED` is
    in effect within all checks of the daemon.
    """

    KEPT = 0
    PROPOSED = 1
    CHECKED = 2

    @classmethod
    def stored(cls, level: int) -> "Level":
        """The level of a row; 3, which earlier versions had, did the same as 2."""
        return cls(min(level, cls.CHECKED))


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
"""The level of each function of a soul of which nothing else was decided."""

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
"""Whose each field of a thought is."""

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
"""What a reply in words says of itself and of its message, too: a person waits for it, and it has no level."""

WORKSPACE_FIELDS: Final = frozenset({"value_updates", "identity_update"})
"""What holds for the soul everywhere, so that a thought for the whole workspace alone may change it."""


@dataclass(frozen=True, slots=True)
class Authority:
    """The levels of a soul's functions; of those that are not named, those of the beginning."""

    levels: Mapping[Function, Level] = field(default_factory=lambda: MappingProxyType({}))

    def level(self, function: Function) -> Level:
        """The level of a function."""
        return self.levels.get(function, STARTS[function])

    def of(self, name: str) -> Level:
        """The level of a field of a thought."""
        return Level.CHECKED if name in REPLY_FIELDS else self.level(FUNCTION_OF[name])

    def allows(self, name: str) -> bool:
        """Whether a field of a thought is in effect by itself."""
        return self.of(name) >= Level.CHECKED

    @property
    def takes_initiative(self) -> bool:
        """Whether the soul may promise something, and say something unasked where it is invited to."""
        return self.level(Function.INITIATIVE) >= Level.CHECKED

    def and_also(self, other: "Authority") -> "Authority":
        """What both allow."""
        return Authority({one: min(self.level(one), other.level(one)) for one in Function})


AS_AT_FIRST: Final = Authority()
