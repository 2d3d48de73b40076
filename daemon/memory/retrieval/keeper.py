"""The owner of the vector index: one daemon at a time holds the lock and embeds what is queued. Others only scan."""

import asyncio
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from daemon.core.concurrency import in_background
from daemon.core.errors import ModelError, ModelRefused, StoreError, StoreFull
from daemon.core.ports.services import Clock, Emit
from daemon.core.ports.vectors import Embedder, View
from daemon.core.value import Value
from daemon.memory.database import Database
from daemon.memory.retrieval.chroma_shelves import FOLDERS, ChromaShelves
from daemon.memory.retrieval.reconcile import difference, stale
from daemon.memory.retrieval.sources import Embeddable, Order, enqueue, next_queued, read_some, settle
from daemon.memory.retrieval.vector_file import Placed, VectorFile, VectorsDamaged, VectorsRemoved, delete_files
from daemon.memory.retrieval.vectors import FILE, HINT, Vectors, other_length

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector


LOCK: Final = "owner.lock"
"""The name of the lock file."""


@contextmanager
def owned(folder: Path) -> Iterator[int | None]:
    """Yield the file handle of the lock, or None if another process holds it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid()}).encode(), 0)
        yield handle
    finally:
        os.close(handle)  # a child process that inherited the handle keeps the lock until it ends


def owner_of(folder: Path) -> int | None:
    """Return the pid of the process that owns the index now, or None. Raises OSError."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            with suppress(ValueError, KeyError, TypeError):
                return int(json.loads(os.pread(handle, 200, 0))["pid"])
            return 0
        return None
    finally:
        os.close(handle)


T = TypeVar("T")

_FED_AT_ONCE: Final = 16  # memories that are embedded before the next look at the queue
_SLICE: Final = 500  # ids that are queued or deleted at once


class IndexParts(Value):
    """The dependencies of an owner. `folder` is SOUL_HOME/index, `chroma_from` SOUL_CHROMA_FROM."""

    database: Database
    index: Vectors
    folder: Path
    embedder: Embedder
    clock: Clock
    emit: Emit
    chroma_from: int


class OwnerWork:
    """The work on the index. Only the process that holds the lock, whose file handle is `lock`, may enter it."""

    def __init__(self, parts: IndexParts, lock: int) -> None:
        self._parts = parts
        self._lock = lock
        self._thread = ThreadPoolExecutor(1, "index")
        self._open: tuple[VectorFile, ChromaShelves] | None = None

    async def __aenter__(self) -> "OwnerWork":
        self._open = await self._in_thread(self._opened)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._in_thread(self._close)
        self._thread.shutdown(wait=False)

    async def begin(self) -> None:
        """Compare everything, queue what is missing and delete what is superfluous. Raises StoreError.

        A kill, a restored backup or a deleted folder therefore leaves no fault behind.
        """
        found = await difference(self._parts.database, self._file)
        for start in range(0, len(found.orphaned), _SLICE):
            await self._in_thread(partial(self._replace, found.orphaned[start : start + _SLICE], ()))
        for start in range(0, len(found.missing), _SLICE):
            some = found.missing[start : start + _SLICE]
            await self._parts.database.write(partial(enqueue, ids=some), passing=True)
        self._parts.emit("vectors.compared", missing=len(found.missing), orphaned=len(found.orphaned))

    async def feed(self) -> bool:
        """Embed some of the queue, or carry out an order. Return False if empty. Raises ModelError, StoreError."""
        queue = await self._parts.database.read(partial(next_queued, most=_FED_AT_ONCE))
        if not queue:
            return False
        first, *_ = queue
        if first in set(Order):
            await self._obey(Order(first))
            queue = {first: queue[first]}
        else:
            queue = dict(takewhile(lambda one: one[0] not in set(Order), queue.items()))
            await self._follow(list(queue))
        await settle(self._parts.database, queue)
        self._parts.emit("vectors.followed", changes=len(queue))
        return True

    async def require_in_place(self) -> None:
        """Raise VectorsRemoved if vectors.db was removed or replaced since it was opened."""
        await self._in_thread(self._file.require_in_place)

    async def keep_chroma(self) -> bool:
        """Do one piece of work on Chroma's side. Return True if there is more."""
        return await self._in_thread(self._chroma.step)

    async def note_trouble(self, reason: str, hint: str = "") -> None:
        """Note for commands what the work waits for, and what helps. Empty for nothing."""
        await self._in_thread(lambda: self._file.note(trouble=reason, trouble_hint=hint))

    @property
    def _file(self) -> VectorFile:
        assert self._open is not None  # entered
        return self._open[0]

    @property
    def _chroma(self) -> ChromaShelves:
        assert self._open is not None  # entered
        return self._open[1]

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _follow(self, ids: Sequence[str]) -> None:
        sources = await self._parts.database.read(partial(read_some, ids=ids))
        changed = [sources[one] for one in await self._in_thread(partial(stale, self._file, sources))]
        placed = await self._embedded(changed)
        await self._in_thread(partial(self._replace, [one for one in ids if one not in sources], placed))

    async def _embedded(self, sources: Sequence[Embeddable]) -> list[Placed]:
        wanted = [(place, view) for place, one in enumerate(sources) for view in one.texts]
        texts = [sources[place].texts[view] for place, view in wanted]
        vectors = await self._parts.embedder.embed(texts) if texts else ()
        found: list[dict[View, Vector]] = [{} for _ in sources]
        for (place, view), vector in zip(wanted, vectors, strict=True):
            found[place][view] = vector
        return [Placed(one, vectors_of) for one, vectors_of in zip(sources, found, strict=True)]

    async def _obey(self, order: Order) -> None:
        if order is Order.RENEW:
            await self._in_thread(self._renew)
        else:
            await self._in_thread(self._start_over)
            await self.begin()

    def _replace(self, gone: Sequence[str], placed: Sequence[Placed]) -> None:
        if not gone and not placed:
            return
        self._check_length([vector for one in placed for vector in one.vectors.values()])
        self._chroma.forget(self._file.shelves_of([*gone, *(one.source.id for one in placed)]))
        self._file.replace(gone, placed)

    def _check_length(self, vectors: "Sequence[Vector]") -> None:
        known = self._file.length()
        for length in {len(one) for one in vectors}:
            if known and length != known:
                raise ModelRefused(other_length(length, known), hint=HINT)

    def _renew(self) -> None:
        self._chroma.renew()
        self._file.pack()

    def _start_over(self) -> None:
        self._chroma.renew()
        self._file.empty()
        self._file.note(trouble="", trouble_hint="")  # the command that waits for this order sees its result

    def _opened(self) -> tuple[VectorFile, ChromaShelves]:
        """Return the file: created again if it is damaged, and emptied if it is of another embedder."""
        parts, path = self._parts, self._parts.folder / FILE
        try:
            file = VectorFile(path, read_only=False)
            file.look_over()
        except VectorsDamaged as error:
            parts.emit("vectors.damaged", reason=error.message)
            delete_files(path)
            file = VectorFile(path, read_only=False)
        chroma = ChromaShelves(
            parts.folder, file, parts.index, parts.clock, parts.emit, least=parts.chroma_from, lock=self._lock
        )
        if file.fact("embedder") != parts.embedder.id:
            file.empty()
            chroma.renew()
            file.note(embedder=parts.embedder.id)
        return file, chroma

    def _close(self) -> None:
        if self._open is not None:
            file, chroma = self._open
            chroma.close()
            file.close()


TAKE_OVER_S: Final = 10.0
"""Seconds between two tries to become the owner."""

LEAST_ROOM: Final = 256 * 2**20
"""Bytes that stay free on the disk for the database. With less, vectors wait."""

_IDLE_S: Final = 2.0
_WAIT_S: Final = 30.0  # after a failure of the embedder, or on a full disk
_REST: Final = 0.25  # the pause, as a share of the time that a piece of work took
_CLEARED_EVERY_S: Final = 600.0


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class VectorKeeper:
    """Keeps the vector index: `run` in a daemon, `catch_up` in a command."""

    def __init__(self, parts: IndexParts, room: Callable[[Path], int] = free_bytes) -> None:
        self._parts = parts
        self._room = room
        self._trouble = ""

    async def run(self) -> None:
        """Own the index whenever other processes do not, until cancelled. Raises StoreError, OSError."""
        while True:
            with owned(self._parts.folder) as lock:
                if lock is not None:
                    self._parts.emit("vectors.owned")
                    await self._own(lock)
            await self._parts.clock.sleep(TAKE_OVER_S)

    async def catch_up(self) -> bool:
        """Embed what is missing, without Chroma. Return False if another process owns the index.

        Raises ModelError, StoreError, OSError.
        """
        with owned(self._parts.folder) as lock:
            if lock is None:
                return False
            async with OwnerWork(self._parts, lock) as work:
                await work.begin()
                while await work.feed():
                    pass
            return True

    async def _own(self, lock: int) -> None:
        clock = self._parts.clock
        try:
            async with OwnerWork(self._parts, lock) as work:
                await work.begin()
                with suppress(StoreError):  # a problem of the former owner is noted again soon if it persists
                    await work.note_trouble("")
                while True:
                    began = clock.monotonic()
                    pause = await self._turn(work)
                    await clock.sleep(max(pause, _REST * (clock.monotonic() - began)))
        except VectorsDamaged as error:
            self._parts.emit("vectors.damaged", reason=error.message)
            if not isinstance(error, VectorsRemoved):
                delete_files(self._parts.folder / FILE)

    async def _turn(self, work: OwnerWork) -> float:
        """Do one piece of work. Return the seconds to wait before the next one."""
        await work.require_in_place()
        if self._room(self._parts.folder) < LEAST_ROOM:
            return await self._waits(work, "the disk is nearly full", "free space on the disk that holds SOUL_HOME")
        try:
            fed = await work.feed()
            more = await work.keep_chroma() or fed
        except (ModelError, StoreFull) as error:
            return await self._waits(work, error.message, error.hint)
        if self._trouble:
            self._trouble = ""
            self._parts.emit("vectors.go_on")
            await work.note_trouble("")
        return 0.0 if more else _IDLE_S

    async def _waits(self, work: OwnerWork, reason: str, hint: str) -> float:
        if reason != self._trouble:
            self._trouble = reason
            self._parts.emit("vectors.wait", reason=reason, hint=hint)
            with suppress(StoreError):  # the disk may be full
                await work.note_trouble(reason, hint)
        return _WAIT_S


async def do_without(database: Database, folder: Path, clock: Clock) -> None:
    """Delete the vectors and keep the queue empty, in a daemon without an embedder, until cancelled."""
    while True:
        with owned(folder) as lock:
            if lock is not None:
                await in_background(partial(_delete_index, folder))
                await database.run("DELETE FROM vector_queue")
        await clock.sleep(_CLEARED_EVERY_S)


def _delete_index(folder: Path) -> None:
    delete_files(folder / FILE)
    for place in folder.glob(f"{FOLDERS}*"):
        shutil.rmtree(place, ignore_errors=True)
