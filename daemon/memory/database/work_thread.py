"""A connection with a thread of its own. A long copy lets other work run in between."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

import aiosqlite

from daemon.core.errors import StoreError
from daemon.core.ports.services import Clock
from daemon.memory.database import sqlite
from daemon.memory.database.sqlite import sqlite3

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

PAGES: Final = 128  # copied in one step, during which nothing else runs in the thread
_STEPS: Final = 20_000  # of SQLite's virtual machine between two looks at the clock: about a millisecond
_LEAST_REST_S: Final = 0.005
_LONGEST_REST_S: Final = 1.0  # the limit if the clock was moved during a step
_ROUNDS: Final = 3  # another process's write makes a copy start over; after so many, a small file is copied in one step
_SMALL: Final = 16 * 2**20  # bytes; copied in one step, which keeps other processes' commits waiting for a moment


class WorkThread(aiosqlite.Connection):
    """A connection. `budget` is the timeout of one read in seconds."""

    def __init__(self, path: Path, clock: Clock, *, busy_ms: int, budget: float = 0.0) -> None:
        super().__init__(partial(_open, path, busy_ms, self._out_of_budget if budget else None), 64)
        self._clock = clock
        self._budget = budget
        self._until = float("inf")
        self._copying = False
        self._between: SimpleQueue[tuple[asyncio.Future[object], Callable[[], object]]] = SimpleQueue()

    async def run(self, work: Work[T]) -> T:
        """Run work in the connection's thread. During a copy, the work runs between two steps."""
        if not self._copying:
            return await self._in_thread(partial(work, self._conn))
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._between.put((future, partial(work, self._conn)))  # type: ignore[arg-type]  # futures of every value type
        return await future

    async def run_read(self, work: Work[T]) -> T:
        """Run reads on the connection. Raises ReadTooLong if they exceed the budget."""

        def bounded(connection: sqlite3.Connection) -> T:
            self._until = self._clock.monotonic() + self._budget if self._budget else float("inf")
            try:
                return work(connection)
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
                    raise sqlite.ReadTooLong(f"a read took longer than {self._budget} s") from error
                raise
            finally:
                self._until = float("inf")

        return await self.run(bounded)

    async def copy_to(self, target: Path, stopped: Callable[[], bool]) -> None:
        """Copy the file page by page, with other work of this thread between the steps.

        SQLite carries along the changes of this connection, which don't restart the copy. Raises StoreError if
        `stopped` returns True, and sqlite3.Error.
        """
        self._copying, halt = True, threading.Event()
        try:
            await self._in_thread(partial(self._copy, target, lambda: halt.is_set() or stopped()))
        finally:
            halt.set()  # a cancelled caller leaves no copy behind
            self._copying = False
            with suppress(ValueError):  # closed during the copy
                await self._in_thread(self._serve_waiting)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        value: T = await self._execute(work)  # type: ignore[no-untyped-call]  # aiosqlite gives it no types
        return value

    def _copy(self, target: Path, stopped: Callable[[], bool]) -> None:
        began = self._clock.monotonic()

        def between() -> None:
            nonlocal began
            self._serve(max(_LEAST_REST_S, self._clock.monotonic() - began))
            began = self._clock.monotonic()

        try:
            copy_pages(self._conn, target, between, stopped)
        finally:
            self._serve_waiting()

    def _serve(self, seconds: float) -> None:
        until = self._clock.monotonic() + seconds
        left = seconds
        while left > 0:
            try:
                waiting = self._between.get(timeout=left)
            except Empty:
                return
            self._settle(*waiting)
            left = until - self._clock.monotonic()

    def _serve_waiting(self) -> None:
        with suppress(Empty):
            while True:
                self._settle(*self._between.get_nowait())

    def _settle(self, future: asyncio.Future[object], work: Callable[[], object]) -> None:
        loop = future.get_loop()
        try:
            value = work()
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller who waits
            loop.call_soon_threadsafe(_unless_done, future, future.set_exception, error)
        else:
            loop.call_soon_threadsafe(_unless_done, future, future.set_result, value)

    def _out_of_budget(self) -> int:
        return int(self._clock.monotonic() > self._until)


def _unless_done(future: asyncio.Future[object], settle: Callable[..., None], value: object) -> None:
    if not future.done():
        settle(value)


def _open(path: Path, busy_ms: int, out_of_budget: Callable[[], int] | None) -> sqlite3.Connection:
    connection = sqlite.connect(path)
    connection.execute(f"PRAGMA busy_timeout={busy_ms}")
    if out_of_budget is not None:
        connection.set_progress_handler(out_of_budget, _STEPS)
    return connection


class _StartsOver(Exception):
    """An error: writes of other processes restart the copy too often to make it in steps."""


def copy_pages(
    source: sqlite3.Connection, target: Path, between: Callable[[], None], stopped: Callable[[], bool]
) -> None:
    """Copy a database in steps, calling `between` after each.

    The copy is one file in rollback mode, not yet synced. Raises StoreError if `stopped` returns True, and
    sqlite3.Error.
    """
    steps = 0

    def watch(*_: int) -> None:
        if stopped():
            raise StoreError("the copy was not finished", hint="try again when the daemon writes less")

    def watch_in_steps(_status: int, remaining: int, total: int) -> None:
        nonlocal steps
        watch()
        steps += 1
        size = total * 4096
        if size <= _SMALL and steps > _ROUNDS * (total // PAGES + 1):
            raise _StartsOver
        if remaining:
            between()

    with closing(sqlite3.connect(target, isolation_level=None)) as copy, _one_snapshot(source):
        # The copy needs no journal: other processes see it only after it is checked, synced and renamed.
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-8192"):
            copy.execute(f"PRAGMA {pragma}")
        try:
            source.backup(copy, pages=PAGES, progress=watch_in_steps, sleep=0.01)
        except _StartsOver:
            source.backup(copy, pages=-1, progress=watch, sleep=0.01)
        copy.execute("PRAGMA journal_mode=DELETE")


@contextmanager
def _one_snapshot(source: sqlite3.Connection) -> Iterator[None]:
    """Hold one snapshot in WAL mode: writers don't wait and the copy doesn't restart."""
    if sqlite.journal_mode(source) != "wal":
        yield
        return
    source.execute("BEGIN")
    try:
        source.execute("PRAGMA user_version").fetchone()
        yield
    finally:
        source.execute("ROLLBACK")


def pause_between(clock: Clock) -> Callable[[], None]:
    """Return a function that pauses as long as the last step took, for a copy on its own connection."""
    began, never = clock.monotonic(), threading.Event()

    def between() -> None:
        nonlocal began
        never.wait(min(max(_LEAST_REST_S, clock.monotonic() - began), _LONGEST_REST_S))
        began = clock.monotonic()

    return between
