"""Prints tables, ages and JSON; words of users and models can't control the terminal."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass

import click

from daemon.channels.terminal import printable
from daemon.core.text import one_line

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def say(text: str = "") -> None:
    """Print a line."""
    click.echo(printable(text))


def say_json(value: object) -> None:
    """Print a value as JSON, in ASCII with escapes; dataclasses become objects with their fields as keys."""
    click.echo(json.dumps(value, default=_as_json, indent=2))


def show_row(values: Mapping[str, object], *, as_json: bool) -> None:
    """Print one row as JSON, or as its fields and then its `body`."""
    if as_json:
        say_json(values)
        return
    facts({name: value for name, value in values.items() if name != "body"})
    say(f"\n{values['body']}")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns, each as wide as its widest cell; a cell is one line."""
    cells = [list(header), *([one_line(printable(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def facts(values: Mapping[str, object]) -> None:
    """Print one name and value per line; empty values are left out."""
    shown = {name: value for name, value in values.items() if value not in (None, "")}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        say(f"{name.ljust(width)}  {value}")


def age(now_ms: int, then_ms: int) -> str:
    """Time since then in the largest unit that fits: `3 min`."""
    seconds = max(0, now_ms - then_ms) // 1000
    return next((f"{seconds // size} {unit}" for size, unit in _UNITS if seconds >= size), "0 s")


def _as_json(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)
