"""One declaration of what a command prints: its table, and the keys of its JSON, which its help names."""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

import click

from daemon.cli.output import age, say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.timetable import moment

Row = TypeVar("Row")
Function = TypeVar("Function", bound=Callable[..., Any])
Keys = type | Sequence[str]
"""The keys of an object: their names, or the dataclass that has fields of these names."""

Column = str | tuple[str, str | Callable[[Any, int], object]]
"""A field, under its name; or a heading, and the field (`fact.id` in a field) or a function of the row and the time."""


def names_of(keys: Keys, without: Collection[str] = ()) -> tuple[str, ...]:
    """The names that keys stand for."""
    found = [one.name for one in fields(keys)] if isinstance(keys, type) else keys
    return tuple(name for name in found if name not in without)


def json_of(keys: Keys, without: Collection[str] = ()) -> Callable[[Function], Function]:
    """`--json`, with a line of help that names the keys of the object, or of each of the objects, that it prints."""

    def decorate(function: Function) -> Function:
        named = f"JSON keys: {', '.join(names_of(keys, without))}."
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{named}"
        option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        return option(function)

    return decorate


class RowListing(Generic[Row]):
    """The rows that a command lists; `nothing` is said in place of a table without rows."""

    def __init__(self, keys: Keys, *columns: Column, without: Collection[str] = (), nothing: str = "") -> None:
        self._columns = [(one.upper(), one) if isinstance(one, str) else one for one in columns]
        self._nothing = nothing
        self.option = json_of(keys, without)

    def show(
        self,
        rows: Sequence[Row],
        *,
        as_json: bool,
        plain: Callable[[Row], object] | None = None,
        more: Sequence[tuple[str, Callable[[Row, int], object]]] = (),
        now_ms: int | None = None,
    ) -> bool:
        """Print rows as JSON, each as `plain` makes it, or as a table; tells whether it was the table.

        `more` are columns that depend on what may be shown; `now_ms` is the time of ages, the machine's unless given.
        """
        if as_json:
            say_json([plain(row) for row in rows] if plain is not None else rows)
            return False
        if self._nothing and not rows:
            say(self._nothing)
            return True
        now = SystemClock().now_ms() if now_ms is None else now_ms
        cells = [[*self.cells(row, now), *(str(cell(row, now)) for _, cell in more)] for row in rows]
        table([heading for heading, _ in (*self._columns, *more)], cells)
        return True

    def cells(self, row: Row, now: int) -> list[str]:
        """The cells of a row at a time in ms."""
        return [str(attrgetter(cell)(row) if isinstance(cell, str) else cell(row, now)) for _, cell in self._columns]


def ago(field: str, heading: str = "AGE", *, never: str = "-") -> Column:
    """The age of the time in a field, or `never` where it has none."""
    return heading, lambda row, now: never if (then := attrgetter(field)(row)) is None else age(now, then)


def at(field: str, heading: str) -> Column:
    """The time in a field, in UTC; empty where it has none."""
    return heading, lambda row, _: moment(then) if (then := attrgetter(field)(row)) else ""
