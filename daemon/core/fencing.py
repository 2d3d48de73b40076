"""Turns users' words into data: clean names, texts in fences that nothing inside can close, cut texts."""

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
"""Most characters of a user's name in a prompt."""

_MARKUP = str.maketrans(dict.fromkeys('<>"&'))
_FENCE = re.compile(r"<(?=[^\w<>]{0,8}(?:said|note|context)\b)", re.IGNORECASE)
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\U000e0000-\U000e007f]")


def clean_name(name: str) -> str:
    """A name on one line, without invisible characters and markup, cut to its cap."""
    return one_line(visible_line(name).translate(_MARKUP))[:NAME_CAP].strip() or "somebody"


def fence(tag: str, text: str, nonce: str, **attributes: str) -> str:
    """Data between `<tag-NONCE …>` and `</tag-NONCE>`; nothing in it can look like the end."""
    given = "".join(f' {key}="{defang(clean_name(value), nonce)}"' for key, value in attributes.items() if value)
    return f"<{tag}-{nonce}{given}>\n{defang(text, nonce)}\n</{tag}-{nonce}>"


def defang(text: str, nonce: str) -> str:
    """Remove everything that could pass for a fence: invisible characters, the nonce, tags like ours."""
    return _FENCE.sub("&lt;", re.sub(re.escape(nonce), "~", _UNSEEN.sub("", text), flags=re.IGNORECASE))


NONCE_LASTS_MS = 24 * 3_600_000
"""How long one conversation's fences bear the same code, so that a provider may read its prompts from a cache."""


@dataclass(frozen=True, slots=True)
class Nonce:
    """The code of one conversation's fences, and when it was drawn (ms); an empty code stands for none yet."""

    code: str = ""
    drawn_ms: int = 0

    def kept_or_drawn(self, now_ms: int, said: Iterable[str]) -> "Nonce":
        """This nonce, or a new one after a day, or once its code stands in any of the words said, who ever said it."""
        texts = [text.casefold() for text in said]
        code = self.code if 0 <= now_ms - self.drawn_ms < NONCE_LASTS_MS else ""
        if code and not any(code in text for text in texts):
            return self
        while not code or any(code in text for text in texts):
            code = fresh_nonce()
        return Nonce(code, now_ms)


NO_NONCE = Nonce()


def fresh_nonce() -> str:
    """A random code for fences, unknown to every user who wrote before."""
    return secrets.token_hex(5)


def cut(text: str, budget: int, *, tail: float = 0.25) -> str:
    """A text of at most `budget` tokens: whole, or its beginning and end around a visible note.

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
        return self.level(Function.INITIATIVE) >= Level.CHECKED

    def and_also(self, other: "Authority") -> "Authority":
        """What both allow."""
        return Authority({one: min(self.level(one), other.level(one)) for one in Function})


AS_AT_FIRST: Final = Authority()
