"""Prompt fences around users' words, clean names, cut texts, and the levels of a soul's functions."""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final

from daemon.core.text import one_line, visible_line
from daemon.core.working_memory import estimate_tokens

NAME_CAP = 80
"""Characters of a user's name in a prompt, at most."""

_MARKUP = str.maketrans(dict.fromkeys('<>"&'))
_FENCE = re.compile(r"<(?=[^\w<>]{0,8}(?:said|note|context)\b)", re.IGNORECASE)
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\U000e0000-\U000e007f]")


def clean_name(name: str) -> str:
    """Return a name on one line without invisible characters and markup, at most `NAME_CAP` characters."""
    return one_line(visible_line(name).translate(_MARKUP))[:NAME_CAP].strip() or "somebody"


def fence(tag: str, text: str, nonce: str, **attributes: str) -> str:
    """Return data between `<tag-NONCE …>` and `</tag-NONCE>`. Nothing in it can look like the end."""
    given = "".join(f' {key}="{defang(clean_name(value), nonce)}"' for key, value in attributes.items() if value)
    return f"<{tag}-{nonce}{given}>\n{defang(text, nonce)}\n</{tag}-{nonce}>"


def defang(text: str, nonce: str) -> str:
    """Remove everything that could pass for a fence: invisible characters, the nonce, tags like ours."""
    return _FENCE.sub("&lt;", re.sub(re.escape(nonce), "~", _UNSEEN.sub("", text), flags=re.IGNORECASE))


NONCE_LASTS_MS = 24 * 3_600_000
"""Milliseconds for which a conversation's fences keep their nonce, which lets a provider cache its prompts."""


@dataclass(frozen=True, slots=True)
class Nonce:
    """The nonce of one conversation's fences, and when it was drawn (ms). An empty code means none yet."""

    code: str = ""
    drawn_ms: int = 0

    def kept_or_drawn(self, now_ms: int, said: Iterable[str]) -> "Nonce":
        """Return this nonce, or a new one after a day or once its code occurs in any text of `said`."""
        texts = [text.casefold() for text in said]
        code = self.code if 0 <= now_ms - self.drawn_ms < NONCE_LASTS_MS else ""
        if code and not any(code in text for text in texts):
            return self
        while not code or any(code in text for text in texts):
            code = fresh_nonce()
        return Nonce(code, now_ms)


NO_NONCE = Nonce()


def fresh_nonce() -> str:
    return secrets.token_hex(5)


def cut(text: str, budget: int, *, tail: float = 0.25) -> str:
    """Return a text of at most `budget` tokens: whole, or its beginning and end around a visible note.

    `tail` is the share of the end.
    """
    if estimate_tokens(text) <= budget:
        return text
    low, high = 0, min(len(text), 4 * budget)  # no character takes less than a quarter token
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(_shortened(text, middle, tail)) <= budget:
            low = middle
        else:
            high = middle - 1
    return _shortened(text, low, tail)


def _shortened(text: str, kept: int, share: float) -> str:
    tail = int(kept * share)
    end = text[len(text) - tail :]
    return f"{text[: kept - tail]}\n[… {len(text) - kept} characters left out here …]\n{end}".strip()


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


@dataclass(frozen=True, slots=True)
class Authority:
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
