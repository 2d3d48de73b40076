"""The folder of a mirror on disk: made, looked through, deleted. Everything here blocks, and belongs into a thread."""

import os
import shutil
from pathlib import Path
from typing import Final

from daemon.core.whole_files import PathBlocked
from daemon.memory.passport.names import FOLDER, MANIFEST, PICTURE_SUFFIX, SUFFIX
from daemon.memory.retrieval.owner_lock import LOCK, owned

LEAVE: Final = "leave"
"""A file by which whoever deletes a mirror asks its owner to let go of it."""

_MODE: Final = 0o700
_SUFFIXES: Final = (SUFFIX, PICTURE_SUFFIX)
_OURS: Final = frozenset({FOLDER, LOCK, LEAVE})


def folder_for(home: Path, name: str) -> Path:
    """The folder of a mirror, which may not be there yet. Raises PathBlocked where something else is, OSError."""
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
    """Make the folder of a mirror, readable by its owner alone. Raises PathBlocked, OSError."""
    folder = folder_for(home, name)
    folder.mkdir(mode=_MODE, exist_ok=True)
    folder.chmod(_MODE)
    return folder


def paths_on_disk(root: Path) -> list[str]:
    """The paths of all files of a mirror, and of what a killed write left."""
    return [
        Path(folder, name).relative_to(root).as_posix()
        for folder, _, names in os.walk(root / FOLDER)
        for name in names
        if name.endswith(_SUFFIXES) or (name.startswith(".") and any(f"{suffix}." in name for suffix in _SUFFIXES))
    ]


def mirrors_in(home: Path) -> list[Path]:
    """The folders of SOUL_HOME that are or were a mirror."""
    locks = home.glob(f"*/{LOCK}")
    return [one.parent for one in locks if (one.parent / FOLDER).is_dir() and not one.parent.is_symlink()]


def delete_mirror(root: Path) -> bool:
    """Delete a mirror that no process keeps; whether it was deleted. Raises OSError."""
    with owned(root) as lock:
        if lock is not None:
            shutil.rmtree(root / FOLDER, ignore_errors=True)  # the lock goes last: by it the rest is found after a kill
            shutil.rmtree(root)
        return lock is not None
