"""Limits of autonomous work, and what it has used so far."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from daemon.core.sentences import Sentence

Count = Annotated[int, Field(ge=0)]
Figure = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one piece of work has used: choices, tokens in and out, US dollars, seconds."""

    loops: Count = 0
    tokens: Count = 0
    usd: Figure = 0.0
    seconds: Figure = 0.0

    def to_json(self) -> dict[str, object]:
        """Plain values to store with work that waits."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> "Spent":
        """Read what `to_json` gave; a missing value is zero. Raises ValueError for anything else."""
        return TypeAdapter(cls).validate_python(dict(stored))


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one piece of work may use, in the units of `Spent`; its last model call may exceed it.

    `reads_only`: it may look things up, ask and answer, but set, hand on or change nothing.
    """

    loops: int
    tokens: int
    usd: float
    seconds: float
    reads_only: bool = False

    def met_by(self, spent: Spent) -> str:
        """The limit that is reached while an action runs, as a clause; empty for none."""
        if spent.tokens >= self.tokens:
            return Sentence("why_tokens", limit=self.tokens)
        if spent.usd >= self.usd:
            return Sentence("why_usd", limit=f"{self.usd:g}")
        return self.out_of_time if spent.seconds >= self.seconds else ""

    @property
    def out_of_loops(self) -> str:
        """The limit of choices, as a clause."""
        return Sentence("why_loops", limit=self.loops)

    @property
    def out_of_time(self) -> str:
        """The limit of time, as a clause."""
        return Sentence("why_seconds", limit=f"{self.seconds:g}")
