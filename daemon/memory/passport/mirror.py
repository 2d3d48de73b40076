"""Keeps a mirror of memory in files, as `soul memory passport export` lays them out, while the daemon works.

Triggers of memory.db queue what changes; here it is followed in small steps, off the event loop. One daemon at a time
does it, by a lock. It begins with comparing everything, so that a kill at any point, a restored backup or a wiped
folder leaves nothing missing and nothing too much. Where the mirror is switched off, files of what changes are deleted.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.errors import StoreError, StoreFull
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.whole_files import PathBlocked
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.mirror_queue import (
    NEXT,
    MirroredFile,
    among_files,
    close_mirror,
    enqueue_changed,
    files_after,
    files_of_ids,
    mirror_state,
    next_changed,
    note_mirror,
    open_mirror,
    settle_changed,
    unwritten,
)
from daemon.memory.knowledge.sense_bytes import SenseBytes
from daemon.memory.passport.mirror_disk import (
    MirrorChange,
    carry_out,
    differing,
    paths_on_disk,
    prepare,
    remove_all,
)
from daemon.memory.passport.rows import Unwritable, file_or_fault
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes
from daemon.memory.retrieval.owner_lock import LOCK, owned

_AT_ONCE: Final = 50  # files in one step
_COMPARED_AT_ONCE: Final = 500
_IDLE_S: Final = 2.0
_WAIT_S: Final = 30.0  # where the folder can't be written, or the disk is full
_OFF_S: Final = 600.0
_TAKE_OVER_S: Final = 10.0
_REST: Final = 1.0  # times as long as a step took


class Mirror:
    """`home` is SOUL_HOME, `folder` the one below it that is to be kept current; empty for none."""

    def __init__(
        self,
        database: Database,
        home: Path,
        folder: str,
        clock: Clock,
        emit: Emit,
        *,
        room: Callable[[Path], int] = free_bytes,
    ) -> None:
        self._database = database
        self._home = home
        self._folder = folder
        self._clock = clock
        self._emit = emit
        self._room = room
        self._pictures = SenseBytes(home)
        self._trouble = ""

    async def run(self) -> None:
        """Keep the mirror whenever no other daemon does, until cancelled. Raises StoreError."""
        while True:
            try:
                pause = await self._try()
            except (PathBlocked, OSError) as error:
                pause = await self._waits(_reason(error), getattr(error, "hint", "") or _HINT)
            await self._clock.sleep(pause)

    async def _try(self) -> float:
        """Keep it as long as that goes well; gives the seconds to wait before the next try."""
        state = await self._database.read(mirror_state)
        folder = self._folder or (state.folder if state else "")
        if not folder:
            return _OFF_S
        if not self._folder and not (self._home / folder).is_dir():
            await self._database.write(close_mirror)
            return _OFF_S
        if state and state.folder != folder:
            await self._leave(state.folder)
        root = await in_background(partial(prepare, self._home, folder))
        with owned(root) as lock:
            if lock is not None:
                await self._keep(root, folder, lock)
        return _TAKE_OVER_S

    async def _leave(self, folder: str) -> None:
        """Delete the mirror in another folder than the one that is set now."""
        root = self._home / folder
        async for files in self._files():
            await in_background(partial(remove_all, root, [one.path for one in files if one.path]))
        with suppress(OSError):
            (root / LOCK).unlink()
            root.rmdir()
        await self._database.write(close_mirror)

    async def _keep(self, root: Path, folder: str, lock: int) -> None:
        await self._database.write(partial(open_mirror, folder=folder))
        if self._folder:
            await self._compare(root)
        self._trouble = ""
        await note_mirror(self._database, "", self._clock.now_ms())
        while _is_in_place(root, lock):
            began = self._clock.monotonic()
            pause = await self._step(root)
            await self._clock.sleep(max(pause, _REST * (self._clock.monotonic() - began)))

    async def _step(self, root: Path) -> float:
        """Follow a few changes; gives the seconds to wait before the next ones."""
        if self._folder and self._room(root) < LEAST_ROOM:
            return await self._waits("the disk is nearly full", "free space on the disk that holds SOUL_HOME")
        try:
            followed = await self._follow(root)
        except (OSError, StoreFull, PathBlocked) as error:
            return await self._waits(_reason(error), getattr(error, "hint", "") or _HINT)
        if self._trouble:
            self._trouble = ""
            self._emit("mirror.go_on")
            await note_mirror(self._database, "", self._clock.now_ms())
        return 0.0 if followed else _IDLE_S

    async def _follow(self, root: Path) -> int:
        queue, changes, faults = await self._database.read(partial(_next_changes, pictures=self._pictures))
        if not queue:
            return 0
        for fault in faults:
            self._emit("mirror.skipped", reason=fault)
        written, gone = await in_background(partial(carry_out, root, changes, write=bool(self._folder)))
        if self._folder:
            written += [MirroredFile(one, "", "") for one in faults]
            gone = [one for one in gone if one not in faults]
        await self._database.write(partial(settle_changed, done=queue, written=written, gone=gone), passing=True)
        self._emit("mirror.followed", changes=len(queue))
        return len(queue)

    async def _compare(self, root: Path) -> None:
        """Queue what is missing or differs, and delete files that nothing here has written."""
        missing = extra = 0
        for table in NEXT:
            last = 0
            while True:
                ids, last = await self._database.read(
                    partial(unwritten, table=table, last=last, most=_COMPARED_AT_ONCE)
                )
                missing += await self._enqueue(ids)
                if not last:
                    break
        async for files in self._files():
            missing += await self._enqueue(await in_background(partial(differing, root, files)))
        pages = paths_on_disk(root, _COMPARED_AT_ONCE)
        while paths := await in_background(partial(next, pages, None)):
            known = await self._database.read(partial(among_files, paths=paths))
            strange = [one for one in paths if one not in known]
            await in_background(partial(remove_all, root, strange))
            extra += len(strange)
        self._emit("mirror.compared", missing=missing, extra=extra)

    async def _enqueue(self, ids: Sequence[str]) -> int:
        if ids:
            await self._database.write(partial(enqueue_changed, ids=ids), passing=True)
        await self._clock.sleep(0)
        return len(ids)

    async def _files(self) -> AsyncIterator[Sequence[MirroredFile]]:
        last = ""
        while files := await self._database.read(partial(files_after, last=last, most=_COMPARED_AT_ONCE)):
            yield files
            last = files[-1].id

    async def _waits(self, reason: str, hint: str) -> float:
        """Say once what it waits for, in the log and for commands."""
        if reason != self._trouble:
            self._trouble = reason
            with suppress(StoreError):  # the disk may be full
                if self._folder:
                    await self._database.write(partial(open_mirror, folder=self._folder))
                await note_mirror(self._database, reason, self._clock.now_ms())
            self._emit("mirror.waits", reason=reason, hint=hint)
        return _WAIT_S


_HINT: Final = "check the owner and mode of the folder that SOUL_MIRROR names"


async def _next_changes(
    transaction: Transaction, pictures: SenseBytes
) -> tuple[Mapping[str, int], list[MirrorChange], list[str]]:
    """The next changes of the queue, and the ids of those that can't be made a file."""
    queue = await next_changed(transaction, _AT_ONCE)
    before = await files_of_ids(transaction, list(queue))
    changes, faults = list[MirrorChange](), list[str]()
    for name in queue:
        file, known = await file_or_fault(transaction, name, pictures), before.get(name)
        if isinstance(file, Unwritable):
            faults.append(name)
        changes.append(MirrorChange(name, None if isinstance(file, Unwritable) else file, known.path if known else ""))
    return queue, changes, faults


def _is_in_place(root: Path, lock: int) -> bool:
    """Whether the lock is still the one in the folder, which may have been removed or replaced."""
    try:
        return os.path.samestat(os.fstat(lock), (root / LOCK).stat())
    except OSError:
        return False


def _reason(error: Exception) -> str:
    return (
        error.message if isinstance(error, StoreError) else str(getattr(error, "strerror", "")) or type(error).__name__
    )
