"""The mirror: a passport in SOUL_HOME that is written again whenever memory has changed.

One daemon at a time has the lock. Each writing is complete, and removes leftovers of a kill, a restored backup or
another program. A mirror that is no longer configured is deleted.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.errors import StoreError, StoreFull
from daemon.core.files import PathBlocked
from daemon.core.ports.services import Clock, Emit
from daemon.memory.database import Database
from daemon.memory.knowledge.shared_files import SenseBytes
from daemon.memory.mirror_folders import FOLDER, LEAVE, MANIFEST, delete_mirror, mirrors_in
from daemon.memory.passport.exporting import write_passport
from daemon.memory.passport.kinds import SUFFIX
from daemon.memory.passport.pictures import PICTURE_SUFFIX
from daemon.memory.retrieval.keeper import LEAST_ROOM, LOCK, free_bytes, owned

_MODE: Final = 0o700
_SUFFIXES: Final = (SUFFIX, PICTURE_SUFFIX)
_OURS: Final = frozenset({FOLDER, LOCK, LEAVE})


def folder_for(home: Path, name: str) -> Path:
    """Return the path of a mirror's folder, which may be missing. Raises OSError, PathBlocked for other contents."""
    folder = home / name
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise PathBlocked(f"{folder} is no plain folder", hint="move it away, or name another SOUL_MIRROR")
    there = {one.name for one in os.scandir(folder)} if folder.exists() else set[str]()
    if strange := sorted(there - _OURS - ({MANIFEST} if LOCK in there else set())):  # without a lock it is an export
        raise PathBlocked(
            f"{folder} holds other files ({', '.join(strange[:3])})",
            hint="give SOUL_MIRROR a folder of its own, or move those files away",
        )
    return folder


def prepare(home: Path, name: str) -> Path:
    """Create the folder of a mirror, readable by its owner alone. Raises PathBlocked, OSError."""
    folder = folder_for(home, name)
    folder.mkdir(mode=_MODE, exist_ok=True)
    folder.chmod(_MODE)
    return folder


def paths_on_disk(root: Path) -> list[str]:
    """Return the paths of all files of a mirror, and of leftovers of a killed write."""
    return [
        Path(folder, name).relative_to(root).as_posix()
        for folder, _, names in os.walk(root / FOLDER)
        for name in names
        if name.endswith(_SUFFIXES) or (name.startswith(".") and any(f"{suffix}." in name for suffix in _SUFFIXES))
    ]


_LOOK_S: Final = 2.0
_WAIT_S: Final = 30.0  # where the folder can't be written, or the disk is full
_OFF_S: Final = 600.0
_TAKE_OVER_S: Final = 10.0
_REST: Final = 4.0  # pause after a writing, in multiples of its duration
_HINT: Final = "check the owner and mode of the folder that SOUL_MIRROR names"


class Mirror:
    """The mirror in `folder`, a folder of SOUL_HOME (`home`), or none if empty."""

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
        self._trouble = ""

    async def run(self) -> None:
        """Keep the mirror current while no other daemon does, until cancelled. Raises StoreError."""
        while True:
            try:
                pause = await self._try()
            except (PathBlocked, StoreFull, OSError) as error:
                pause = self._waits(error)
            await self._clock.sleep(pause)

    async def _try(self) -> float:
        """Keep the mirror as long as that works. Return the seconds until the next try."""
        for root in await in_background(partial(mirrors_in, self._home)):
            if root.name != self._folder:
                await in_background(partial(delete_mirror, root))
        if not self._folder:
            return _OFF_S
        root = await in_background(partial(prepare, self._home, self._folder))
        with owned(root) as lock:
            if lock is not None:
                await self._keep(root, lock)
        return _TAKE_OVER_S

    async def _keep(self, root: Path, lock: int) -> None:
        """Write the mirror after each change of memory, until another process asks for the folder or takes it away."""
        (root / LEAVE).unlink(missing_ok=True)
        written, due = None, 0.0
        while _is_ours(root, lock):
            newest = await self._database.fingerprint()
            if newest != written and self._clock.monotonic() >= due:
                began = self._clock.monotonic()
                await self._write(root, lock)
                written, due = newest, (now := self._clock.monotonic()) + _REST * (now - began)
            await self._clock.sleep(_LOOK_S)

    async def _write(self, root: Path, lock: int) -> None:
        if self._room(root) < LEAST_ROOM:
            raise StoreFull("the disk is nearly full", hint="free space on the disk that holds SOUL_HOME")
        before = await in_background(partial(paths_on_disk, root))
        still = partial(_is_ours, root, lock)
        done = await write_passport(
            self._database, root, before, SenseBytes(self._home), still=still, durable=False
        )  # what a power failure takes, the next start writes again
        if done is None:
            return
        if self._trouble:
            self._trouble = ""
            self._emit("mirror.go_on")
        self._emit("mirror.written", files=done.written, removed=done.removed, skipped=len(done.failed))

    def _waits(self, error: Exception) -> float:
        """Emit the reason for waiting, once for each reason. Return the seconds to wait."""
        reason = error.message if isinstance(error, StoreError) else str(getattr(error, "strerror", "") or error)
        if reason != self._trouble:
            self._trouble = reason
            self._emit("mirror.waits", reason=reason, hint=getattr(error, "hint", "") or _HINT)
        return _WAIT_S


def _is_ours(root: Path, lock: int) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), (root / LOCK).stat()) and not (root / LEAVE).exists()
    except OSError:
        return False
