"""The files of a mirror on disk: written, compared, swept. Everything here blocks, and belongs into a thread."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.core.whole_files import PathBlocked, remove_file, write_file
from daemon.memory.knowledge.mirror_queue import MirroredFile
from daemon.memory.passport.names import FOLDER, PICTURE_SUFFIX, SUFFIX
from daemon.memory.passport.reading import plain_bytes
from daemon.memory.passport.rows import AnyFile
from daemon.memory.retrieval.owner_lock import LOCK

_MODE: Final = 0o700
_SUFFIXES: Final = (SUFFIX, PICTURE_SUFFIX)
_OURS: Final = frozenset({FOLDER, LOCK})


@dataclass(frozen=True, slots=True)
class MirrorChange:
    """An id that changed, the file that it has now (None: none), the path of the one that was written (or empty)."""

    id: str
    file: AnyFile | None
    before: str


def prepare(home: Path, folder: str) -> Path:
    """The folder of a mirror below SOUL_HOME, readable by its owner alone. Raises PathBlocked, OSError."""
    step = home
    for part in Path(folder).parts:
        step = step / part
        if step.is_symlink() or (step.exists() and not step.is_dir()):
            raise PathBlocked(f"{step} is no plain folder", hint="move it away, or name another SOUL_MIRROR")
        step.mkdir(mode=_MODE, exist_ok=True)
    strange = sorted(one.name for one in os.scandir(step) if one.name not in _OURS)
    if strange:
        raise PathBlocked(
            f"{step} holds other files ({', '.join(strange[:3])})",
            hint="give SOUL_MIRROR a folder of its own, or move those files away",
        )
    step.chmod(_MODE)
    return step


def carry_out(root: Path, changes: Sequence[MirrorChange], *, write: bool) -> tuple[list[MirroredFile], list[str]]:
    """Write and delete files; gives those that were written, and the ids that have none now.

    Without `write` the file of whatever changed is deleted. Raises OSError, and PathBlocked where a link is in the way.
    """
    written, gone = list[MirroredFile](), list[str]()
    for change in changes:
        path = ""
        content = change.file.bytes if change.file is not None and write else None
        if change.file is not None and content is not None:
            path = change.file.path
            write_file(root, path, content, durable=False)  # what a power failure takes, the next start writes again
            written.append(MirroredFile(change.id, path, hashlib.sha256(content).hexdigest()))
        else:
            gone.append(change.id)
        if change.before and change.before != path:
            remove_file(root, change.before)
    return written, gone


def differing(root: Path, files: Sequence[MirroredFile]) -> list[str]:
    """The ids of those files that are not on disk as they were written."""
    return [one.id for one in files if not one.path or _digest(root / one.path) != one.digest]


def paths_on_disk(root: Path, most: int) -> Iterator[Sequence[str]]:
    """The paths of all files of a mirror, some at a time; what a killed write left is deleted on the way."""
    some: list[str] = []
    for folder, _, names in os.walk(root / FOLDER):
        for name in names:
            path = Path(folder, name)
            if name.startswith(".") and any(f"{suffix}." in name for suffix in _SUFFIXES):
                with suppress(OSError):
                    path.unlink()
            elif name.endswith(_SUFFIXES):
                some.append(path.relative_to(root).as_posix())
            if len(some) >= most:
                yield some
                some = []
    yield some


def remove_all(root: Path, paths: Sequence[str]) -> None:
    """Delete files of a mirror. Raises OSError, PathBlocked where a link is in the way."""
    for path in paths:
        remove_file(root, path)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(plain_bytes(path, most=2**30)).hexdigest()
    except (OSError, ValueError):
        return ""
