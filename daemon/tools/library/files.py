"""Finds the text files of a folder and reads them, without ever leaving it or touching what is no plain file.

Every directory and file is opened by handle, one name at a time, and no link is followed: a folder that somebody else
may write into can't point anywhere else, not even while it is walked. Databases are not opened at all, because closing
a live one would drop its locks.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

SIZE_CAP = 512 * 1024
"""Bytes a file may have to be read."""
MOST_FILES = 20_000
"""Files of all folders together that are looked at."""

_DEEPEST = 24
_PASSED_OVER = frozenset({"node_modules", "__pycache__"})
_DATABASE = re.compile(r"\.(db|sqlite3?)([-.]|$)", re.IGNORECASE)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """A file in a folder: `path` as it is cited, `stamp` its size and time, `inside` the names that lead to it."""

    path: str
    stamp: str
    folder: Path
    inside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk through all folders found; `missing` folders can't be opened, `overflowed` that it was too much."""

    files: tuple[LibraryFile, ...]
    missing: tuple[str, ...]
    overflowed: bool


def name_folders(folders: Sequence[Path]) -> Mapping[str, Path]:
    """Folders under the names that they are cited by: their own, numbered where two are called the same."""
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(folder.absolute() for folder in folders):
        own = folder.resolve().name or "root"
        count = sum(1 for name in named if name == own or name.startswith(f"{own}-"))
        named[f"{own}-{count + 1}" if own in named else own] = folder
    return named


def walk(folders: Mapping[str, Path]) -> Walk:
    """All text files by their looks: not hidden, not empty, not too large, no database. Blocks while it reads disks."""
    files: list[LibraryFile] = []
    missing: list[str] = []
    for name, folder in folders.items():
        try:
            # Only here may a link be followed: the admin named it.
            handle = os.open(folder.resolve(), _DIRECTORY)
        except (OSError, RuntimeError):  # RuntimeError: links in a circle
            missing.append(name)
            continue
        with _closing(handle):
            files += islice(_inside(handle, name, folder, ()), MOST_FILES + 1 - len(files))
    return Walk(tuple(files[:MOST_FILES]), tuple(missing), len(files) > MOST_FILES)


def read_text(found: LibraryFile) -> str | None:
    """The text of a file; None when it is gone, is no text in UTF-8, or holds a private key. Blocks."""
    try:
        data = _content(found)
        text = data.decode("utf-8-sig")
    except (OSError, RuntimeError, UnicodeDecodeError):
        return None
    return None if len(data) > SIZE_CAP or "\0" in text or _PRIVATE_KEY.search(text) else text


def _inside(handle: int, name: str, folder: Path, names: tuple[str, ...]) -> Iterator[LibraryFile]:
    """The files below an open directory, in order of their names."""
    with os.scandir(handle) as entries:
        listed = sorted((entry for entry in entries if _is_fit(entry.name)), key=lambda entry: entry.name)
    for entry in listed:
        inside = (*names, entry.name)
        with suppress(OSError):  # gone meanwhile, or not for us to read
            if entry.is_dir(follow_symlinks=False) and len(inside) < _DEEPEST:
                with _closing(os.open(entry.name, _DIRECTORY, dir_fd=handle)) as below:
                    yield from _inside(below, name, folder, inside)
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if 0 < status.st_size <= SIZE_CAP:
                    stamp = f"{status.st_size}:{status.st_mtime_ns}"
                    yield LibraryFile("/".join((name, *inside)), stamp, folder, inside)


def _is_fit(name: str) -> bool:
    """A name that can be cited and isn't hidden."""
    return name.isprintable() and name[0] != "." and name not in _PASSED_OVER and not _DATABASE.search(name)


def _content(found: LibraryFile) -> bytes:
    """At most one byte more than may be read, from a plain file alone."""
    handle = os.open(found.folder.resolve(), _DIRECTORY)
    for name in found.inside[:-1]:
        with _closing(handle):
            handle = os.open(name, _DIRECTORY, dir_fd=handle)
    with _closing(handle):
        file = os.open(found.inside[-1], _FILE, dir_fd=handle)
    with os.fdopen(file, "rb") as opened:
        return opened.read(SIZE_CAP + 1) if stat.S_ISREG(os.fstat(file).st_mode) else b"\0"


@contextmanager
def _closing(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)
