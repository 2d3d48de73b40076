"""The owner of the index: one daemon at a time embeds what is queued; the others wait for the lock, and scan.

A new owner begins by comparing everything, so that a kill at any point, a restored backup or a wiped folder
leave nothing missing and nothing too much.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.errors import ModelError, StoreError, StoreFull
from daemon.core.ports.clock import Clock
from daemon.memory.database import Database
from daemon.memory.retrieval.chroma_shelves import FOLDERS
from daemon.memory.retrieval.owner_lock import owned
from daemon.memory.retrieval.owner_work import IndexParts, OwnerWork
from daemon.memory.retrieval.vector_file import VectorsDamaged, VectorsRemoved, delete_files
from daemon.memory.retrieval.vectors import FILE

TAKE_OVER_S: Final = 10.0
"""Seconds between two tries to become the owner."""

LEAST_ROOM: Final = 256 * 2**20
"""Bytes that stay free on the disk for words: with less, vectors wait."""

_IDLE_S: Final = 2.0
_WAIT_S: Final = 30.0  # after a failure of the embedder, or on a full disk
_REST: Final = 0.25  # of the time that a piece of work took
_CLEARED_EVERY_S: Final = 600.0


def free_bytes(folder: Path) -> int:
    """The free bytes of the disk that holds a folder. Raises OSError."""
    return shutil.disk_usage(folder).free


class VectorKeeper:
    """`run` is a daemon's chore, `catch_up` a command's work."""

    def __init__(self, parts: IndexParts, room: Callable[[Path], int] = free_bytes) -> None:
        self._parts = parts
        self._room = room
        self._trouble = ""

    async def run(self) -> None:
        """Own the index whenever no other process does, until cancelled. Raises StoreError, OSError."""
        while True:
            with owned(self._parts.folder) as lock:
                if lock is not None:
                    self._parts.emit("vectors.owned")
                    await self._own(lock)
            await self._parts.clock.sleep(TAKE_OVER_S)

    async def catch_up(self) -> bool:
        """Work off what is missing, without Chroma; False where another process owns the index.

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
                with suppress(StoreError):  # what the owner before waited for is known anew soon enough
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
        """One piece of work; gives the seconds to wait before the next one."""
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
    """What a daemon without an embedder does: what vectors there were are deleted, and the queue is kept empty."""
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
