"""What the owner of the index works on: the queue of memory.db, vectors.db, and Chroma's side, in one thread.

Order makes a kill harmless: vectors leave Chroma first, then vectors.db, then the queue; new ones enter vectors.db
first, and Chroma is compared with it when it is opened.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from daemon.core.errors import ModelRefused
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.ports.vectors import Embedder, View
from daemon.memory.database import Database
from daemon.memory.retrieval.chroma_shelves import ChromaShelves
from daemon.memory.retrieval.lengths import HINT, other_length
from daemon.memory.retrieval.reconcile import difference, stale
from daemon.memory.retrieval.sources import Embeddable, read_some
from daemon.memory.retrieval.vector_file import Placed, VectorFile, VectorsDamaged, delete_files
from daemon.memory.retrieval.vector_queue import Order, enqueue, next_queued, settle
from daemon.memory.retrieval.vectors import FILE, Vectors

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

T = TypeVar("T")

_FED_AT_ONCE: Final = 16  # memories that are embedded before the next look at the queue
_SLICE: Final = 500  # ids that are queued or deleted at once


@dataclass(frozen=True, slots=True)
class IndexParts:
    """What an owner works with; `folder` is SOUL_HOME/index, `chroma_from` SOUL_CHROMA_FROM."""

    database: Database
    index: Vectors
    folder: Path
    embedder: Embedder
    clock: Clock
    emit: Emit
    chroma_from: int


class OwnerWork:
    """Opened by the process that holds the lock, whose file handle is `lock`."""

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
        """Compare everything, queue what is missing and delete what is too much. Raises StoreError."""
        found = await difference(self._parts.database, self._file)
        for start in range(0, len(found.orphaned), _SLICE):
            await self._in_thread(partial(self._replace, found.orphaned[start : start + _SLICE], ()))
        for start in range(0, len(found.missing), _SLICE):
            some = found.missing[start : start + _SLICE]
            await self._parts.database.write(partial(enqueue, ids=some), passing=True)
        self._parts.emit("vectors.compared", missing=len(found.missing), orphaned=len(found.orphaned))

    async def feed(self) -> bool:
        """Embed a few of what is queued, or obey an order; whether there was any. Raises ModelError, StoreError."""
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
        """Raises VectorsRemoved when vectors.db was removed or replaced meanwhile."""
        await self._in_thread(self._file.require_in_place)

    async def keep_chroma(self) -> bool:
        """A piece of work on Chroma's side; whether there is more."""
        return await self._in_thread(self._chroma.step)

    async def note_trouble(self, reason: str, hint: str = "") -> None:
        """Note for commands what this work waits for, and what helps; empty for nothing."""
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
        """Bring the vectors of some memories in line with memory.db."""
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
        """Raises ModelRefused when the embedder gives vectors of another length than those that are stored."""
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
        self._file.note(trouble="", trouble_hint="")  # whoever waits for this order sees what comes of it

    def _opened(self) -> tuple[VectorFile, ChromaShelves]:
        """The file, made anew if it is damaged, and empty if it is of another embedder."""
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
