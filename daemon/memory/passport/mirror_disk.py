"""The folder of a mirror on disk: made, and looked through. Everything here blocks, and belongs into a thread."""

import os
from pathlib import Path
from typing import Final

from daemon.core.whole_files import PathBlocked
from daemon.memory.mirror_folders import FOLDER, LEAVE
from daemon.memory.passport.names import MANIFEST, PICTURE_SUFFIX, SUFFIX
from daemon.memory.retrieval.owner_lock import LOCK

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
