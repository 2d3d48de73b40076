"""Output of commands as tables or JSON, access to memory.db, and the words that may be printed."""

import asyncio
import inspect
import json
import os
import pwd
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import partial, wraps
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import click

from daemon.channels.terminal import printable
from daemon.core.config import Settings, load_settings
from daemon.core.errors import SoulError, StoreError
from daemon.core.ports.services import Clock, SystemClock
from daemon.core.settings_place import settings_place
from daemon.core.text import one_line
from daemon.core.timetable import moment
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.job_admin import JobAdmin
from daemon.memory.admin.queue_admin import Admin
from daemon.memory.admin.schedule_admin import Agenda
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.people.readings import record_readings, worded
from daemon.memory.retrieval.vectors import Vectors
from daemon.soul import Soul, find_souls_directory, load_soul

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def say(text: str = "") -> None:
    click.echo(printable(text))


def say_json(value: object) -> None:
    """Print a value as JSON, in ASCII with escapes. Dataclasses become objects with their fields as keys."""
    click.echo(json.dumps(value, default=_as_json, indent=2))


def show_row(values: Mapping[str, object], *, as_json: bool) -> None:
    """Print a row as JSON, or as its fields and then its `body`."""
    if as_json:
        say_json(values)
        return
    facts({name: value for name, value in values.items() if name != "body"})
    say(f"\n{values['body']}")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns, each as wide as its widest cell. A cell is one line."""
    cells = [list(header), *([one_line(printable(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def facts(values: Mapping[str, object]) -> None:
    """Print one name and value per line. Empty values are left out."""
    shown = {name: value for name, value in values.items() if value not in (None, "")}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        say(f"{name.ljust(width)}  {value}")


def age(now_ms: int, then_ms: int) -> str:
    """Return the time since then in the largest unit that fits: `3 min`."""
    seconds = max(0, now_ms - then_ms) // 1000
    return next((f"{seconds // size} {unit}" for size, unit in _UNITS if seconds >= size), "0 s")


def _as_json(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


Row = TypeVar("Row")
Function = TypeVar("Function", bound=Callable[..., Any])
Keys = type | Sequence[str]
"""The keys of an object: their names, or the dataclass that has fields of these names."""

Column = str | tuple[str, str | Callable[[Any, int], object]]
"""A field, named in the heading; or a heading with a field (such as `fact.id`) or a function of row and time."""


def names_of(keys: Keys, without: Collection[str] = ()) -> tuple[str, ...]:
    found = [one.name for one in fields(keys)] if isinstance(keys, type) else keys
    return tuple(name for name in found if name not in without)


def json_of(keys: Keys, without: Collection[str] = ()) -> Callable[[Function], Function]:
    """Add `--json`, with a line of help that names the keys of the printed objects."""

    def decorate(function: Function) -> Function:
        named = f"JSON keys: {', '.join(names_of(keys, without))}."
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{named}"
        option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        return option(function)

    return decorate


class RowListing(Generic[Row]):
    """The output of a list command. `nothing` is printed in place of an empty table."""

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
        """Print rows as JSON, each as `plain` makes it, or as a table. Return true for the table.

        `more` are columns that depend on what may be shown. `now_ms` is the time for ages, by default the machine's.
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
        return [str(attrgetter(cell)(row) if isinstance(cell, str) else cell(row, now)) for _, cell in self._columns]


def ago(field: str, heading: str = "AGE", *, never: str = "-") -> Column:
    """Make a column with the age of the time in a field, or `never` if it has none."""
    return heading, lambda row, now: never if (then := attrgetter(field)(row)) is None else age(now, then)


def at(field: str, heading: str) -> Column:
    """Make a column with the time in a field, in UTC; empty if it has none."""
    return heading, lambda row, _: moment(then) if (then := attrgetter(field)(row)) else ""


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


T = TypeVar("T")


def existing_database(settings: Settings) -> Path:
    """Return the path of memory.db. Raises StoreError when there is none."""
    path = settings.database_path.absolute()
    if not path.exists():
        hint = f"start the daemon with `{settings_place().start}`, or set SOUL_HOME to its data folder"
        raise StoreError(f"there is no {path} yet", hint=hint)
    return path


def with_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do some work on memory.db. || Raises StoreError, and SchemaMismatch when it has to be migrated first."""
    path = existing_database(settings)

    async def opened() -> T:
        async with open_database(path, SystemClock(), create=False) as database:
            return await work(database)

    return asyncio.run(opened())


def with_admin(work: Callable[[Admin], Awaitable[T]]) -> T:
    """Read or change the queues. Raises StoreError."""
    return with_database(load_settings(), lambda database: work(Admin(database, SystemClock(), os_user())))


def with_jobs(work: Callable[[JobAdmin], Awaitable[T]]) -> T:
    """Read or change background jobs. Raises StoreError."""
    return with_database(load_settings(), lambda database: work(JobAdmin(database, SystemClock(), os_user())))


def with_agenda(work: Callable[[Agenda], Awaitable[T]], clock: Clock | None = None) -> T:
    """Read or change schedules, approvals and conversations, by the daemon's clock. Raises StoreError."""
    settings = load_settings()
    by = clock or daemons_clock(settings)
    return with_database(settings, lambda database: work(Agenda(database, by, os_user())))


def os_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


_SLOW_S: Final = 10.0  # a command waits for the embedder to be loaded


def meaning_of(settings: Settings, stack: AsyncExitStack) -> Meaning:
    """Return the search by meaning, closed with the stack. Vectors are scanned: only a daemon opens Chroma."""
    embedder = build_embedder(settings)
    if embedder is None:
        return Meaning(None, None)
    vectors = Vectors(settings.index_folder, embedder.id, silent)
    stack.push_async_callback(embedder.aclose)
    stack.push_async_callback(vectors.aclose)
    return Meaning(embedder, vectors, _SLOW_S)


def silent(_event: str, /, **_fields: object) -> None:
    """Drop an event: a command's own work is not logged."""


def souls_that_nod(settings: Settings) -> tuple[str, ...]:
    """Return the display names of the configured souls that may nod. An unreadable soul counts as none."""
    found = (_soul(settings, name) for name in (settings.name, *settings.souls))
    return tuple(one.display_name for one in found if one is not None and one.mind == "cycle" and one.presence.nod)


def called_in(settings: Settings) -> dict[str, str]:
    """Return the shown names of the configured souls. An unreadable soul has its folder's name."""
    found = {name: _soul(settings, name) for name in (settings.name, *settings.souls)}
    return {name: name if one is None else one.display_name for name, one in found.items()}


def _soul(settings: Settings, name: str) -> Soul | None:
    try:
        return load_soul(find_souls_directory(settings.souls_dir, settings.home, name), name)
    except SoulError:
        return None


@dataclass(frozen=True, slots=True)
class WordsWanted:
    """The request for words, and for those that were not said to the whole workspace."""

    words: bool
    private: bool


@dataclass(frozen=True, slots=True)
class WordsShown:
    """The ids whose words may be printed, which was recorded, and the numbers of other texts."""

    ids: frozenset[str]
    private: int
    other: int

    def of(self, name: str, text: str) -> str:
        """Return the text of an id, or an empty one if it may not be shown."""
        return text if name in self.ids else ""

    def say_what_is_missing(self) -> None:
        """Print what was left out, and the option that shows it."""
        if self.other:
            say(f"{_texts(self.other)} not shown: add --words, which is recorded and told to the people.")
        if self.private:
            say(f"{_texts(self.private)} not shown, said in private: add --words --private.")


def words_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--words` and `--private`, which the command gets as `wanted`, a `WordsWanted`."""

    @wraps(function)
    def command(*, words: bool, private: bool, **given: object) -> object:
        if private and not words:
            raise click.UsageError("--private shows more of the words: give --words, too")
        return function(wanted=WordsWanted(words, private), **given)

    words = click.option("--words", is_flag=True, help="Show words, too; that is recorded, and the people learn of it.")
    private = click.option(
        "--private", is_flag=True, help="With --words: those of direct messages and private rooms, too."
    )
    return words(private(command))


async def words_of(database: Database, wanted: WordsWanted, command: str, ids: Collection[str]) -> WordsShown:
    """Record that a command shows the words of these turns, records and passages. Return those that it may show.

    Call this once, with one id per text, repeated if several texts share it. `command` is the command's name, such as
    `memory why`. Raises StoreError.
    """
    found = await database.read(partial(worded, ids=tuple(ids)))
    kept = [one for one in found if wanted.words and (wanted.private or not one.private)]
    if kept:
        actor, now = os_user(), SystemClock().now_ms()
        await database.write(partial(record_readings, shown=kept, actor=actor, command=command, now=now))
    left = {one.id: one for one in found if one not in kept}
    hidden = [left[name].private for name in ids if name in left]
    return WordsShown(frozenset(one.id for one in kept), _count(hidden), len(hidden) - _count(hidden))


def _texts(number: int) -> str:
    return "1 text is" if number == 1 else f"{number} texts are"


def _count(values: Iterable[bool]) -> int:
    return sum(values)
