"""How well a soul foresees: Brier scores beside those of the base rate, and what was expected by what came."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_BINS: Final = 10
_ENOUGH: Final = 20
_TOO_FAR: Final = 0.1  # of the mean confidence from the share that came true


@dataclass(frozen=True, slots=True)
class Forecast:
    """One expectation that was decided: how sure it was, from 0 to 1, whether it came true, what decided it."""

    confidence: float
    hit: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Sums:
    """How many were scored and came true, and the sums of confidence and of squared error."""

    scored: int = 0
    hits: int = 0
    confidence: float = 0.0
    squared: float = 0.0

    @classmethod
    def of(cls, forecasts: Iterable[Forecast]) -> "Sums":
        """The sums of forecasts."""
        every = list(forecasts)
        return cls(
            len(every),
            sum(one.hit for one in every),
            sum(one.confidence for one in every),
            sum((one.confidence - one.hit) ** 2 for one in every),
        )

    @property
    def brier(self) -> float | None:
        """The mean squared error; None where nothing was scored."""
        return self.squared / self.scored if self.scored else None

    @property
    def base_rate(self) -> float | None:
        """The share that came true."""
        return self.hits / self.scored if self.scored else None

    @property
    def brier_base(self) -> float | None:
        """The score of one who says the base rate each time."""
        return None if self.base_rate is None else self.base_rate * (1 - self.base_rate)

    @property
    def skill(self) -> float | None:
        """By how much it is better than the base rate: 1 is perfect; None where the base rate is perfect itself."""
        if self.brier is None or not self.brier_base:
            return None
        return 1 - self.brier / self.brier_base

    @property
    def figures(self) -> Mapping[str, float | int | None]:
        """All of these by name."""
        names = ("scored", "hits", "brier", "base_rate", "brier_base", "skill")
        return {name: getattr(self, name) for name in names}

    @property
    def in_words(self) -> str:
        """One line for the soul itself; empty before twenty were scored."""
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
    """Ten bins by confidence: from where to where, how many, their mean confidence, and how many came true."""
    found = []
    for number in range(_BINS):
        inside = Sums.of(one for one in forecasts if min(_BINS - 1, int(one.confidence * _BINS)) == number)
        mean = inside.confidence / inside.scored if inside.scored else None
        ends = {"from": number / _BINS, "to": (number + 1) / _BINS}
        found.append({**ends, "n": inside.scored, "confidence": mean, "hits": inside.hits})
    return found
