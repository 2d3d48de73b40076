"""Judges what a soul said unasked by what people did, apart from the daemon: it knows no row and no rule of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo

from daemon.core.value import Value

HOUR: Final = 3_600.0
DAY: Final = 24 * HOUR
_MOST: Final = 2  # of a day
_QUIET: Final = (20, 8)
_IN_TIME: Final = 5.0
_KINDS: Final = ("uninvited", "over_rate", "in_quiet", "doubled", "late")

Act = Literal["on", "off", "not now", "bad", "wrote"]


class Did(Value):
    """What a person did at a moment (seconds since the epoch)."""

    at: float
    act: Act


class SaidUnasked(Value):
    """What the soul posted at a moment; `label` is the model's own name for it, once for each thought.

    `matters` are the promises that it keeps.
    """

    at: float
    label: str
    matters: tuple[str, ...] = ()

    @property
    def promised(self) -> bool:
        """Whether it was promised, so that no invitation counts."""
        return self.label.startswith("kept")


@dataclass(slots=True)
class Person:
    """A person, where they live, what they did, and what was posted to them unasked.

    `promised` is by when what was promised to them is due, `able` the stretches of time in which a daemon lived and
    nobody waited for an answer, each from its beginning to its end.
    """

    name: str
    zone: str
    did: list[Did] = field(default_factory=list)
    posted: list[SaidUnasked] = field(default_factory=list)
    promised: dict[str, float] = field(default_factory=dict)
    able: list[tuple[float, float]] = field(default_factory=list)

    def invited(self, at: float) -> bool:
        decided = [one.act for one in self.did if one.act in {"on", "off"} and one.at < at]
        return decided[-1:] == ["on"]

    def paused(self, at: float) -> bool:
        """Whether they wanted to be left alone, by *not now* or a bad mark since they invited it last."""
        length, until = 0.0, 0.0
        for one in (each for each in self.did if each.at < at):
            if one.act == "on":
                length, until = 0.0, 0.0
            elif one.act in {"not now", "bad"}:
                length = min(30 * DAY, length * 2) if length else DAY
                until = one.at + length
        return at < until

    def quiet(self, at: float) -> bool:
        hour = datetime.fromtimestamp(at, ZoneInfo(self.zone)).hour
        return hour >= _QUIET[0] or hour < _QUIET[1]

    def allowed(self, due: float) -> float:
        """The first moment from then on at which what was promised could be kept."""
        for begin, end in self.able:
            at = self._day(max(begin, due))
            if at < end:
                return at
        return float("inf")

    def _day(self, at: float) -> float:
        """The moment itself, or the end of the quiet hours in which it is."""
        if not self.quiet(at):
            return at
        there = datetime.fromtimestamp(at, ZoneInfo(self.zone))
        morning = there.replace(hour=_QUIET[1], minute=0, second=0, microsecond=0)
        return (morning + timedelta(days=there.hour >= _QUIET[0])).timestamp()

    def faults(self) -> Iterator[str]:
        """A sentence for each post that should not be there."""
        for place, one in enumerate(self.posted):
            before = [each for each in self.posted[:place] if not each.promised]
            if self.quiet(one.at):
                yield f"in_quiet: {self.name} {one}"
            if one.promised:
                yield from self._late(one)
                continue
            if not self.invited(one.at) or self.paused(one.at):
                yield f"uninvited: {self.name} {one}"
            unanswered = before and not any(before[-1].at < each.at < one.at for each in self.did)
            if unanswered or sum(each.at > one.at - DAY for each in before) >= _MOST:
                yield f"over_rate: {self.name} {one}"
        for label, number in Counter(one.label for one in self.posted).items():
            if number > 1:
                yield f"doubled: {self.name} {label}"

    def _late(self, kept: SaidUnasked) -> Iterator[str]:
        for matter in kept.matters:
            if (late := kept.at - self.allowed(self.promised[matter])) > _IN_TIME:
                yield f"late: {self.name} {kept} {matter} by {late:.1f} s"


class InitiativeVerdict(Value):
    """How a run ended; `owed` are promises that nothing has ended."""

    steps: int
    unasked: int
    promised: int
    owed: int
    faults: Sequence[str]

    def __str__(self) -> str:
        kinds = Counter(one.partition(":")[0] for one in self.faults)
        counted = " ".join(f"{kind}={kinds[kind]}" for kind in _KINDS)
        return f"steps={self.steps} unasked={self.unasked} promised={self.promised} {counted} owed={self.owed}"


def judged(people: Sequence[Person], steps: int, owed: int) -> InitiativeVerdict:
    posted = [one for person in people for one in person.posted]
    faults = [fault for person in people for fault in person.faults()]
    faults += [f"owed: {owed}"] if owed else []
    promised = sum(one.promised for one in posted)
    return InitiativeVerdict(steps, len(posted) - promised, promised, owed, faults)
