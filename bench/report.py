"""Rows of figures as one table for people and as JSON for machines; sheets have columns of their own."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import asdict

from daemon.core.value import Value

_HEAD: Final = ("figure", "ours", "echo", "ratio", "target", "")


class Row(Value):
    """One figure; `echo` is the bare bot's, where it can be measured. A target bounds ours from above or below."""

    figure: str
    unit: str
    ours: float
    echo: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether ours is within its bounds; None without a target."""
        if self.at_most is None and self.at_least is None:
            return None
        above = self.at_least is None or self.ours >= self.at_least
        return above and (self.at_most is None or self.ours <= self.at_most)

    @property
    def ratio(self) -> float | None:
        """Ours divided by the echo's."""
        return self.ours / self.echo if self.echo else None

    @property
    def target(self) -> str:
        """The bounds in signs."""
        if self.at_most is not None and self.at_most in {self.at_least, 0}:
            return _number(self.at_most)
        low = "" if self.at_least is None else f">= {_number(self.at_least)}"
        high = "" if self.at_most is None else f"<= {_number(self.at_most)}"
        return " ".join(part for part in (low, high) if part)

    def cells(self) -> tuple[str, ...]:
        """Its cells in the table."""
        name = f"{self.figure}, {self.unit}" if self.unit else self.figure
        verdict = {None: "", True: "pass", False: "MISSED"}[self.passed]
        echo = "" if self.echo is None else _number(self.echo)
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return name, _number(self.ours), echo, ratio, self.target, verdict

    def as_json(self) -> dict[str, object]:
        """Its fields as plain values."""
        return asdict(self) | {"ratio": self.ratio, "passed": self.passed}


class Section(Value):
    """What the JSON holds under a name of its own, for machines alone."""

    name: str
    content: Mapping[str, object]


class Sheet(Value):
    """Figures that need columns of their own: cells as they are shown, and a sentence on how to read them."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    note: str = ""

    def drawn(self) -> str:
        """The sheet in Markdown, its title above and its note below."""
        return "\n".join(
            [f"{self.title}:", "", *_drawn([self.head, *self.lines]), *(["", self.note] if self.note else [])]
        )

    def as_json(self) -> dict[str, object]:
        """Its fields as plain values."""
        return asdict(self)


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, notes below."""
    notes = [f"{row.figure}: {row.note}" for row in rows if row.note]
    return "\n".join([*_drawn([_HEAD, *(row.cells() for row in rows)]), *(["", *notes] if notes else [])])


def _drawn(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """A table in Markdown, the head its first line; all columns but the first stand to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = [
        "| " + " | ".join(cell.rjust(width) if n else cell.ljust(width) for n, (cell, width) in fitted) + " |"
        for fitted in (list(enumerate(zip(line, widths, strict=True))) for line in lines)
    ]
    rule = "|" + "|".join("-" * (width + 1) + (":" if n else "-") for n, width in enumerate(widths)) + "|"
    return [drawn[0], rule, *drawn[1:]]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of them lies (nearest rank); NaN for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def _number(value: float) -> str:
    if value != value:  # noqa: PLR0124  # NaN: nothing was measured
        return "none"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:,.0f}"  # noqa: PLR2004  # two digits are enough from here on
