"""What autonomous work may cost, and what it has cost so far."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

Count = Annotated[int, Field(ge=0)]
Figure = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Spent:
    """Choices made, tokens in and out, US dollars and seconds."""

    loops: Count = 0
    tokens: Count = 0
    usd: Figure = 0.0
    seconds: Figure = 0.0

    def to_json(self) -> dict[str, object]:
        """Plain values, so that parked work goes on with its account."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, object]) -> "Spent":
        """Read what `to_json` gave; what is missing is zero. Raises ValueError for anything else."""
        return TypeAdapter(cls).validate_python(dict(kept))


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one piece of work may cost, in the units of `Spent`; a model call under way may pass it, once."""

    loops: int
    tokens: int
    usd: float
    seconds: float

    def met_by(self, spent: Spent) -> str:
        """Which limit is met while a choice is carried out, as a plain clause; empty for none."""
        if spent.tokens >= self.tokens:
            return f"the limit of {self.tokens} tokens for one task is reached"
        if spent.usd >= self.usd:
            return f"the budget of {self.usd:g} US dollars for one task is used up"
        return self.out_of_time if spent.seconds >= self.seconds else ""

    @property
    def out_of_loops(self) -> str:
        """No further choice may be made, as a plain clause."""
        return f"the limit of {self.loops} steps for one task is reached"

    @property
    def out_of_time(self) -> str:
        """Time is over, as a plain clause."""
        return f"the {self.seconds:g} seconds for one task are over"
