"""How an expectation is decided: by a plain rule over what was perceived, never by a model's opinion (seed 002)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from daemon.core.words import holds_whole

Kind = Literal["reply", "mention", "silence", "goal", "tool", "sense", "none"]

_MENTION: Final = re.compile(r"<@([A-Z0-9]+)(?:\|[^>]*)?>")
_PERSON: Final = "user:"


class Outcome(StrEnum):
    """What became of an expectation that has ended."""

    HIT = "hit"
    MISS = "miss"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True)
class Check:
    """What decides an expectation: `reply` waits for words of `who` (anybody if empty), `mention` for any of `words`.

    `silence` waits for no words at all; `goal` for the goal `id` to be completed; `tool` and `sense` for what has that
    `name`, a reading that holds one of `words` where there are any. `none` only a person can decide.
    """

    kind: Kind
    who: str = ""
    words: tuple[str, ...] = ()
    id: str = ""
    name: str = ""

    @property
    def same_thing(self) -> tuple[object, ...]:
        """What is equal for all checks that are decided by the same things."""
        words = frozenset(one.casefold() for one in self.words)
        return self.kind, _levelled_name(self.who), words, self.id.casefold(), self.name.casefold()


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that was perceived at a moment (ms, UTC).

    Words of a person have their `author` (the platform's id) and `name`; any other perception has the name of what it
    came from as its `sense`.
    """

    at_ms: int
    text: str
    author: str = ""
    name: str = ""
    sense: str = ""


@dataclass(frozen=True, slots=True)
class Came:
    """What came meanwhile: what was heard, and the tools that were used with success.

    `exchange`: a person's words are answered by it.
    """

    heard: Sequence[Noticed] = ()
    tools: frozenset[str] = frozenset()
    exchange: bool = False


def decided(check: Check, came: Came, until_ms: int) -> Outcome | None:
    """What the expectation came to by what was perceived until its time was over; None while that leaves it open.

    What waits for a goal is decided where goals are completed.
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
    """What it came to where nothing decided it until its time was over."""
    over = {"silence": Outcome.HIT, "none": Outcome.UNRESOLVED}
    return over.get(check.kind, Outcome.MISS)


def surprise_of(outcome: Outcome, confidence: float) -> float | None:
    """How far the outcome was from what was expected, from 0 to 1; None where it has none."""
    if outcome is Outcome.UNRESOLVED:
        return None
    return abs((1.0 if outcome is Outcome.HIT else 0.0) - confidence)


def _is_by(one: Noticed, who: str) -> bool:
    """Whether a person is the one who is meant: by id, by whole name or by the first word of it; "" means anybody."""
    meant = _levelled_name(who)
    name = _levelled_name(one.name)
    return not meant or meant in (one.author.casefold(), name) or name.split()[:1] == [meant]


def _levelled_name(who: str) -> str:
    found = _MENTION.fullmatch(who.strip())
    bare = found[1] if found else who.strip().removeprefix(_PERSON).strip().removeprefix("@")
    return " ".join(bare.casefold().split())


def _names(wanted: str, tool: str) -> bool:
    """Whether a tool is meant: by its whole name `server/tool`, or by the part behind the server."""
    return wanted.casefold() in (tool.casefold(), tool.casefold().rpartition("/")[2])


def _is_sensed(one: Noticed, check: Check) -> bool:
    if not one.sense or one.sense.casefold() != check.name.casefold():
        return False
    return not check.words or any(holds_whole(one.text, word) for word in check.words)
