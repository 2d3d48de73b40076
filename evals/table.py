"""The scores as a table for a terminal, with what failed below it, and as JSON for machines."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TextIO

from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evals.run import Rehearsal, Run, missed_faults
from evals.scenario import Category
from evals.seen import Figures, Played, Score, figures_of

_WIDTH: Final = 160  # columns, where no terminal says how many there are
_FIGURES: Final = ("calls", "in", "cached", "out", "USD", "s")


def print_table(run: Run, to: TextIO, hide: Callable[[str], str]) -> None:
    """Write a row for each scenario, one for all, and every check that failed; `hide` takes keys out of a line."""
    console = Console(file=to, width=None if to.isatty() else _WIDTH, highlight=False)
    console.print(_table(run.plays))
    for play in run.plays:
        for line in failures(play, run.order.rehearsal):
            console.print(Text(hide(line)))
    if run.stopped:
        console.print(Text(hide(f"Stopped: {run.stopped}. {len(run.plays)} scenarios were begun.")))


def failures(play: Played, rehearsal: Rehearsal = Rehearsal.NONE) -> list[str]:
    """A line for each failed check of a scenario, and for what broke it off; in a rehearsal of wrong samples those
    categories that did not fail.
    """
    found = [f"{play.scenario.name}: broke off: {play.broke_off}"] if play.broke_off else []
    if rehearsal is Rehearsal.WRONG:
        missed = missed_faults(play)
        return [*found, *(f"{play.scenario.name}: {one} should have failed, and passed" for one in missed)]
    for number, turn in enumerate(play.turns, start=1):
        found += [
            f"{play.scenario.name}, turn {number}, {one.category}: {one.wanted}; {one.seen}"
            for one in turn.checks
            if not one.passed
        ]
    found += [
        f"{play.scenario.name}, {one.category}: {one.wanted}; {one.seen}" for one in play.checks if not one.passed
    ]
    if play.split:
        found.append(f"{play.scenario.name}: {', '.join(play.split)} lost the form so often that it speaks split")
    return found


def as_json(run: Run, host: dict[str, str]) -> dict[str, Any]:
    """Everything as plain values."""
    model = run.order.model
    return {
        "host": host,
        "persona": model.persona,
        "thinking": model.thinking,
        "rehearsal": str(run.order.rehearsal),
        "stopped": run.stopped,
        "total": _figures_json(figures_of(run.plays)),
        "scenarios": [_play_json(play) for play in run.plays],
    }


def _play_json(play: Played) -> dict[str, Any]:
    return {
        "name": play.scenario.name,
        "repeat": play.repeat,
        "passed": play.passed,
        "broke_off": play.broke_off,
        "speaks_split": list(play.split),
        **_figures_json(figures_of([play])),
        "checks": [asdict(check) for check in play.checks],
        "turns": [
            {
                "who": one.turn.who,
                "place": one.place,
                "says": one.turn.says,
                "replies": [asdict(post) for post in one.posts],
                "path": [asdict(row) for row in one.rows.path],
                "calls": [asdict(call) for call in one.rows.calls],
                "tools": list(one.tools),
                "seconds": round(one.seconds, 3),
                "checks": [asdict(check) for check in one.checks],
            }
            for one in play.turns
        ],
    }


def _figures_json(figures: Figures) -> dict[str, Any]:
    scores = {category: {**asdict(one), "share": one.share} for category, one in figures.scores.items()}
    return {**asdict(figures), "scores": {**scores, "all": {**asdict(figures.all), "share": figures.all.share}}}


def _table(plays: Sequence[Played]) -> Table:
    table = Table(pad_edge=False)
    table.add_column("scenario", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in (*Category, *_FIGURES):
        table.add_column(str(name), justify="right", no_wrap=True)
    for play in plays:
        name = play.scenario.name if play.repeat == 1 else f"{play.scenario.name} #{play.repeat}"
        table.add_row(name, verdict(play), *_cells(figures_of([play])))
    table.add_section()
    total = figures_of(plays)
    table.add_row("all", shown_score(total.all), *_cells(total))
    return table


def verdict(play: Played) -> str:
    """In a word, how a scenario went."""
    return "broke off" if play.broke_off else "pass" if play.passed else "FAIL"


def _cells(figures: Figures) -> tuple[str, ...]:
    tokens = (figures.tokens_in, figures.tokens_cached, figures.tokens_out)
    return (
        *(shown_score(figures.scores[category]) for category in Category),
        str(figures.calls),
        *(f"{count:,}" for count in tokens),
        shown_money(figures),
        f"{figures.seconds:.0f}",
    )


def shown_score(score: Score) -> str:
    """A share for people: `7/8`, empty without a check."""
    return f"{score.passed}/{score.total}" if score.total else ""


def shown_money(figures: Figures) -> str:
    """Dollars for people; a mark shows that it is an upper bound, since some prices are not known."""
    return f"{'≤ ' if figures.unpriced else ''}{figures.usd:.4f}"
