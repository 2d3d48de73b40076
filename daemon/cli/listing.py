"""Commands by declaration: one gives the options, the help, the table and the JSON; with memory.db open."""

import asyncio
import inspect
import json
import os
import pwd
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import click

from daemon.channels.terminal import printable
from daemon.cli.options import MOST_AT_ONCE, Function, chosen_rows, many_options, words_options
from daemon.cli.words import ids_inside, left_out, opened, plain
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.services import Clock, SystemClock
from daemon.core.settings_place import settings_place
from daemon.core.text import one_line
from daemon.core.timetable import moment
from daemon.core.value import Value
from daemon.memory.admin.schedule_admin import find_conversation
from daemon.memory.database import Database, open_database
from daemon.memory.people.readings import record_readings, worded
from daemon.memory.records import Row
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.stream.reading import list_thoughts

T = TypeVar("T")
Column = str | tuple[str, str | Callable[[Row], object]]
"""Keys, each its own heading or with one (`id TOOL=name`); or a heading, with a key or a function of a timed row."""
Keys = type[Value] | str | Sequence[str]
"""The keys of an object: a text such as `id, links [{origin, target}]`, names, or the value with these fields."""

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def say(text: str = "") -> None:
    click.echo(printable(text))


def say_lines(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)


def say_json(value: object) -> None:
    """Print a value as JSON, in ASCII with escapes. Dataclasses become objects with their fields as keys."""
    click.echo(json.dumps(plain(value), default=str, indent=2))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns, each as wide as its widest cell. A cell is one line."""
    cells = [list(header), *([one_line(printable(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def facts(values: Mapping[str, object], without: Collection[str] = ()) -> None:
    """Print one name and value per line. Empty values are left out."""
    shown = {name: value for name, value in values.items() if value not in (None, "") and name not in without}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        say(f"{name.ljust(width)}  {value}")


def age(now_ms: int, then_ms: int) -> str:
    """Return the time since then in the largest unit that fits: `3 min`."""
    seconds = max(0, now_ms - then_ms) // 1000
    return next((f"{seconds // size} {unit}" for size, unit in _UNITS if seconds >= size), "0 s")


def ago(key: str, heading: str = "AGE") -> Column:
    """Make a column with the age of the time at a key, or `-` if there is none."""
    return heading, lambda row: "-" if row[key] is None else age(row["now_ms"], row[key])


def at(key: str, heading: str) -> Column:
    """Make a column with the time at a key, in UTC; empty if there is none."""
    return heading, lambda row: moment(row[key]) if row[key] else ""


def over(key: str, past: str) -> Column:
    """Make a column that says whether a row is in force, or since when it is not."""
    return "STATE", lambda row: "in force" if row[key] is None else f"{past} {age(row['now_ms'], row[key])} ago"


def names_of(keys: Keys) -> tuple[str, ...]:
    """Return the names of keys, without the keys inside of them."""
    text = keys_in_words(keys)
    while (outer := re.sub(r"[\[{][^\[\]{}]*[\]}]", "", text)) != text:
        text = outer
    return tuple(name.strip() for name in text.split(","))


def keys_in_words(keys: Keys) -> str:
    names = keys.__struct_fields__ if isinstance(keys, type) else keys
    return names if isinstance(names, str) else ", ".join(names)


def json_of(keys: Keys) -> Callable[[Function], Function]:
    """Add `--json`, with a line of help that names the keys of the printed objects."""

    def decorate(function: Function) -> Function:
        named = f"JSON keys: {keys_in_words(keys)}."
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{named}"
        return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)

    return decorate


def os_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def existing_database(settings: Settings) -> Path:
    """Return the path of memory.db. Raises StoreError when there is none."""
    path = settings.database_path.absolute()
    if not path.exists():
        hint = f"start the daemon with `{settings_place().start}`, or set SOUL_HOME to its data folder"
        raise StoreError(f"there is no {path} yet", hint=hint)
    return path


def with_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do some work on memory.db. Raises StoreError, and SchemaMismatch when it has to be migrated first."""
    path = existing_database(settings)

    async def opened() -> T:
        async with open_database(path, SystemClock(), create=False) as database:
            return await work(database)

    return asyncio.run(opened())


def daemons_clock(settings: Settings) -> Clock:
    """Return the machine's clock, in a rehearsal (`SOUL_REHEARSAL_CLOCK`) the local workspace's if it can be reached.

    Outside of a rehearsal the network is not used. Do not call this while an event loop runs.
    """
    if not settings.rehearsal_clock:
        return SystemClock()
    from daemon.app.lifecycle import clock_at_hand  # slow to import

    clock = asyncio.run(clock_at_hand(settings))
    if clock is None:
        note = f"note: no local workspace says its time at {settings.slack_api_url}, so the machine's time counts"
        click.echo(printable(note), err=True)
        return SystemClock()
    return clock


def silent(_event: str, /, **_fields: object) -> None:
    """Drop an event: a command's own work is not logged."""


class Here(Value):
    """The place of a command: memory.db, the settings, the daemon's clock, and who types.

    `words` and `private`: whether words may be printed, and those not said to the whole workspace.
    """

    settings: Settings
    clock: Clock
    database: Database
    actor: str
    as_json: bool = False
    words: bool = False
    private: bool = False

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    def admin(self, kind: Callable[[Database, Clock, str], T]) -> T:
        """Return the changes of a kind, by this admin."""
        return kind(self.database, self.clock, self.actor)

    async def workspace(self) -> str:
        """Return the workspace of memory.db. Raises StoreError if no daemon has used it."""
        found = await self.database.read(workspace_of_file)
        if not found:
            raise StoreError("memory.db knows no workspace yet", hint="start the daemon once with `soul run`")
        return found

    async def soul(self, name: str) -> str:
        """Return the soul of this name, by default the one of SOUL_NAME.

        Raises StoreError for a soul that is neither hosted here nor ever thought.
        """
        known = {self.settings.name, *self.settings.souls}
        if name and name not in known and not await list_thoughts(self.database, name, "", 1):
            raise StoreError(f"no soul {name[:40]!r} is known here", hint=f"hosted are: {', '.join(sorted(known))}")
        return name or self.settings.name

    async def conversation(self, name: str) -> ConversationKey:
        """Return the conversation whose id contains this text. Raises StoreError for none and for several."""
        return await self.database.read(partial(find_conversation, name=name))

    async def soul_and_conversation(self, soul: str, name: str) -> tuple[str, str]:
        """Return the soul and the conversation of two options; by default the conversation's soul, and none."""
        found = await self.soul(soul)
        if not name:
            return found, ""
        where = await self.conversation(name)
        return soul or where.soul, str(where)

    async def open_words(self, found: object) -> tuple[Any, list[str]]:
        """Return an answer with the words that may be shown, and lines on those that were left out.

        It is recorded which words a command shows. Raises StoreError.
        """
        bare, command = plain(found), click.get_current_context().command_path.partition(" ")[2]
        ids = ids_inside(bare)
        known = await self.database.read(partial(worded, ids=ids)) if ids else []
        kept = [one for one in known if self.words and (self.private or not one.private)]
        if kept:
            record = partial(record_readings, shown=kept, actor=self.actor, command=command)
            await self.database.write(partial(record, now=SystemClock().now_ms()))
        shown = {one.id for one in kept}
        left = {one.id: one.private for one in known if one.id not in shown}
        return opened(bare, shown), left_out([left[name] for name in ids if name in left])


def run_here(work: Callable[[Here], Awaitable[T]], **asked: bool) -> T:
    """Do some work of a command on memory.db. `asked` are the options of its output."""
    settings = load_settings()
    clock = daemons_clock(settings)
    return with_database(settings, lambda database: work(Here(settings, clock, database, os_user(), **asked)))


def _named(columns: str) -> Iterable[tuple[str, str]]:
    for one in columns.split():
        heading, _, key = one.rpartition("=")
        yield heading or key.upper(), key


class TextTable:
    """The table of a list. `nothing` is printed in place of an empty one, `below` the lines of each row after it."""

    def __init__(
        self, *columns: Column, nothing: str = "", below: Callable[[Row], Iterable[str]] = lambda _: ()
    ) -> None:
        self._cells = dict[str, str | Callable[[Row], object]]()
        for one in columns:
            self._cells.update(_named(one) if isinstance(one, str) else [one])
        self.header = tuple(self._cells)
        self._nothing = nothing
        self._below = below

    def print(self, rows: Sequence[Row], now_ms: int) -> None:
        if self._nothing and not rows:
            say(self._nothing)
            return
        table(self.header, [self.cells(row, now_ms) for row in rows])
        for row in rows:
            say_lines(self._below(row))

    def cells(self, row: Row, now_ms: int) -> list[str]:
        timed = {**row, "now_ms": now_ms}
        return [str(row[cell] if isinstance(cell, str) else cell(timed)) for cell in self._cells.values()]


class Card(Value):
    """One row in words: its keys, a line each, and then the text at `body`."""

    body: str

    def print(self, row: Row) -> None:
        facts(row, without=(self.body,))
        if row[self.body]:
            say(f"\n{row[self.body]}")


Text = TextTable | Card | str | Callable[[Any], object]
"""An answer in words: a table, a card, a sentence with keys in braces, or a function that prints it."""


def shows(
    keys: Keys, text: Text, *, words: bool = False, fails: Callable[[Any], object] = lambda _: False
) -> Callable[[Callable[..., Awaitable[Any]]], Callable[..., None]]:
    """Make a command of a coroutine that gets a `Here` and its options, and returns an answer or several.

    With --json the answer is an object of these keys, else it is printed as `text`; its help names the keys. `words`
    adds --words and --private, for an answer that holds `Hidden`. If it `fails` the exit code is 1. An answer that is
    None was printed before.
    """
    names = names_of(keys)

    def decorate(function: Callable[..., Awaitable[Any]]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:  # noqa: ANN401 - options of click
            if click.get_current_context().invoked_subcommand is not None:
                return  # a group that has an answer of its own
            asked = {name: given.pop(name) for name in ("as_json", *(("words", "private") if words else ()))}

            async def work(here: Here) -> tuple[Any, list[str], int]:
                return *await here.open_words(await function(here, **given)), here.now_ms

            found, left_out, now_ms = run_here(work, **asked)
            if found is None:
                return
            if asked["as_json"]:
                say_json([_only(one, names) for one in found] if isinstance(found, list) else _only(found, names))
            else:
                _print(text, found, now_ms, names)
                say_lines(left_out)
            if fails(found):
                raise click.exceptions.Exit(1)

        return json_of(keys)(words_options(command) if words else command)

    return decorate


def _only(row: Row, names: Sequence[str]) -> Row:
    return {name: row[name] for name in names}


def _print(text: Text, found: Any, now_ms: int, names: Sequence[str]) -> None:  # noqa: ANN401 - a JSON value
    match text:
        case TextTable():
            text.print(found, now_ms)
        case Card():
            text.print(_only(found, names))
        case str():
            say(text.format_map(found))
        case _:
            text(found)


def lists(
    keys: Keys,
    *columns: Column,
    nothing: str = "",
    below: Callable[[Row], Iterable[str]] = lambda _: (),
    words: bool = False,
) -> Callable[[Callable[..., Awaitable[Sequence[object] | None]]], Callable[..., None]]:
    """Make a command of a coroutine that returns rows: see `shows` and `TextTable`."""
    return shows(keys, TextTable(*columns, nothing=nothing, below=below), words=words)


def acts(function: Callable[..., Awaitable[str]]) -> Callable[..., None]:
    """Make a command of a coroutine that gets a `Here` and its options, and returns a sentence on what it did."""

    @wraps(function)
    def command(**given: object) -> None:
        say(run_here(lambda here: function(here, **given)))

    return command


def acts_on_each(
    metavar: str,
    key: Literal["id", "seq"] = "id",
    *,
    states: Sequence[str] = (),
    found: Callable[[Here, str, int, int], Awaitable[Sequence[Row]]] | None = None,
) -> Callable[[Callable[..., Awaitable[str]]], Callable[..., None]]:
    """Make a command that acts on the named rows one by one, and prints a sentence on each.

    With `states` it also takes all rows in one of them: `found` returns so many, the newest first, that were settled
    since a time in ms. `key` is the name of a row, a text or a number.
    """

    def decorate(function: Callable[..., Awaitable[str]]) -> Callable[..., None]:
        @wraps(function)
        def command(names: Sequence[object], **given: Any) -> None:  # noqa: ANN401 - options of click
            chosen = chosen_rows(names, given.pop("state"), given.pop("since")) if found else None

            async def work(here: Here) -> None:
                rows = await found(here, chosen[0], MOST_AT_ONCE, chosen[1]) if found and chosen else ()
                for name in [row[key] for row in reversed(rows)] or names:
                    say(await function(here, name, **given))

            run_here(work)

        kind = int if key == "seq" else str
        argument = click.argument("names", metavar=f"{metavar}...", nargs=-1, type=kind, required=found is None)
        return argument(many_options(states)(command) if found else command)

    return decorate
