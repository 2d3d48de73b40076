"""Predictions: the plain rule that decides each by what was perceived, their statistics, and budgets (seed 002)."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, Literal

from msgspec import Meta
from msgspec.structs import asdict

from daemon.core.sentences import Sentence
from daemon.core.value import Value, from_plain
from daemon.core.words import holds_whole

Kind = Literal["reply", "mention", "silence", "goal", "tool", "sense", "none"]

_MENTION: Final = re.compile(r"<@([A-Z0-9]+)(?:\|[^>]*)?>")
_PERSON: Final = "user:"


class Outcome(StrEnum):
    """The outcome of an expectation that has ended."""

    HIT = "hit"
    MISS = "miss"
    UNRESOLVED = "unresolved"


class Check(Value):
    """The condition that decides an expectation. `reply` waits for words of `who` (anybody if empty).

    `mention` waits for any of `words`, `silence` for no words at all, `goal` for the goal `id` to be completed. `tool`
    waits for the tool `name`, `sense` for a reading of `name` with any of `words`, if given. A person decides `none`.
    """

    kind: Kind
    who: str = ""
    words: tuple[str, ...] = ()
    id: str = ""
    name: str = ""

    @property
    def same_thing(self) -> tuple[object, ...]:
        words = frozenset(one.casefold() for one in self.words)
        return self.kind, _levelled_name(self.who), words, self.id.casefold(), self.name.casefold()


class Noticed(Value):
    """The record of a perception at a moment (ms, UTC).

    Words of a person have `author` (the platform's id) and `name`. Any other perception has its source as `sense`.
    """

    at_ms: int
    text: str
    author: str = ""
    name: str = ""
    sense: str = ""


class Came(Value):
    """The record of what was perceived, and of the tools that were used with success.

    `exchange`: a person's words are answered by it.
    """

    heard: Sequence[Noticed] = ()
    tools: frozenset[str] = frozenset()
    exchange: bool = False


def decided(check: Check, came: Came, until_ms: int) -> Outcome | None:
    """Return the outcome by what was perceived until the deadline, or None while it is open.

    Expectations of goals are decided where goals are completed.
    """
    heard = [one for one in came.heard if one.at_ms <= until_ms]
    by_persons = [one for one in heard if one.author and _is_by(one, check.who)]
    if check.kind == "silence":
        return Outcome.MISS if by_persons else None
    happened = {
        "reply": bool(by_persons),
        "mention": any(holds_whole(one.text, word) for one in by_persons for word in check.words),
        "tool": any(_names(check.name, tool) for tool in came.tools),
        "sense": any(_is_sensed(one, check) for one in heard),
    }
    return Outcome.HIT if happened.get(check.kind) else None


def when_over(check: Check) -> Outcome:
    """Return the outcome where nothing decided the expectation before its deadline."""
    over = {"silence": Outcome.HIT, "none": Outcome.UNRESOLVED}
    return over.get(check.kind, Outcome.MISS)


def surprise_of(outcome: Outcome, confidence: float) -> float | None:
    """Return the surprise of an outcome, from 0 to 1. None for an unresolved one."""
    if outcome is Outcome.UNRESOLVED:
        return None
    return abs((1.0 if outcome is Outcome.HIT else 0.0) - confidence)


def _is_by(one: Noticed, who: str) -> bool:
    meant = _levelled_name(who)
    name = _levelled_name(one.name)
    return not meant or meant in (one.author.casefold(), name) or name.split()[:1] == [meant]


def _levelled_name(who: str) -> str:
    found = _MENTION.fullmatch(who.strip())
    bare = found[1] if found else who.strip().removeprefix(_PERSON).strip().removeprefix("@")
    return " ".join(bare.casefold().split())


def _names(wanted: str, tool: str) -> bool:
    return wanted.casefold() in (tool.casefold(), tool.casefold().rpartition("/")[2])


def _is_sensed(one: Noticed, check: Check) -> bool:
    if not one.sense or one.sense.casefold() != check.name.casefold():
        return False
    return not check.words or any(holds_whole(one.text, word) for word in check.words)


_BINS: Final = 10
_ENOUGH: Final = 20
_TOO_FAR: Final = 0.1  # of the mean confidence from the share of hits


class Forecast(Value):
    """The record of one decided expectation. `confidence` is from 0 to 1, `kind` its kind of check."""

    confidence: float
    hit: bool
    kind: str


class Sums(Value):
    """The number of scored and true forecasts, and the sums of confidence and of squared error."""

    scored: int = 0
    hits: int = 0
    confidence: float = 0.0
    squared: float = 0.0

    @classmethod
    def of(cls, forecasts: Iterable[Forecast]) -> "Sums":
        every = list(forecasts)
        return cls(
            len(every),
            sum(one.hit for one in every),
            sum(one.confidence for one in every),
            sum((one.confidence - one.hit) ** 2 for one in every),
        )

    @property
    def brier(self) -> float | None:
        return self.squared / self.scored if self.scored else None

    @property
    def base_rate(self) -> float | None:
        return self.hits / self.scored if self.scored else None

    @property
    def brier_base(self) -> float | None:
        return None if self.base_rate is None else self.base_rate * (1 - self.base_rate)

    @property
    def skill(self) -> float | None:
        if self.brier is None or not self.brier_base:
            return None
        return 1 - self.brier / self.brier_base

    @property
    def figures(self) -> Mapping[str, float | int | None]:
        names = ("scored", "hits", "brier", "base_rate", "brier_base", "skill")
        return {name: getattr(self, name) for name in names}

    @property
    def in_words(self) -> str:
        if self.scored < _ENOUGH or self.base_rate is None:
            return ""
        sure = self.confidence / self.scored
        line = f"Of {self.scored} things you expected, {self.base_rate:.0%} came true; you were {sure:.0%} sure."
        if sure - self.base_rate > _TOO_FAR:
            return f"{line} You are too sure: be less so."
        if self.base_rate - sure > _TOO_FAR:
            return f"{line} You are not sure enough: be more so."
        return line


NOTHING_SCORED: Final = Sums()


def bins_of(forecasts: Sequence[Forecast]) -> list[dict[str, float | int | None]]:
    """Return ten bins by confidence: bounds, count, mean confidence, and the count of hits."""
    found = []
    for number in range(_BINS):
        inside = Sums.of(one for one in forecasts if min(_BINS - 1, int(one.confidence * _BINS)) == number)
        mean = inside.confidence / inside.scored if inside.scored else None
        ends = {"from": number / _BINS, "to": (number + 1) / _BINS}
        found.append({**ends, "n": inside.scored, "confidence": mean, "hits": inside.hits})
    return found


Count = Annotated[int, Meta(ge=0)]
Figure = Annotated[float, Meta(ge=0, le=sys.float_info.max)]


class Spent(Value):
    """The usage of one piece of work: choices, tokens in and out, US dollars, seconds."""

    loops: Count = 0
    tokens: Count = 0
    usd: Figure = 0.0
    seconds: Figure = 0.0

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> "Spent":
        """Read the output of `to_json`. A missing value is zero. Raises ValueError."""
        return from_plain(cls, dict(stored))


class Limits(Value):
    """The most that one piece of work may use, in the units of `Spent`. Its last model call may exceed it.

    `reads_only`: the work may look things up, ask and answer, but change nothing.
    """

    loops: int
    tokens: int
    usd: float
    seconds: float
    reads_only: bool = False

    def met_by(self, spent: Spent) -> str:
        """Return the limit that is reached while an action runs, as a clause; empty for none."""
        if spent.tokens >= self.tokens:
            return Sentence("why_tokens", limit=self.tokens)
        if spent.usd >= self.usd:
            return Sentence("why_usd", limit=f"{self.usd:g}")
        return self.out_of_time if spent.seconds >= self.seconds else ""

    @property
    def out_of_loops(self) -> str:
        return Sentence("why_loops", limit=self.loops)

    @property
    def out_of_time(self) -> str:
        return Sentence("why_seconds", limit=f"{self.seconds:g}")
