"""Reads the files of a soul's folder: only regular, small UTF-8 files that really lie inside it."""

import errno
import os
import stat
from pathlib import Path

from daemon.core.errors import SoulError

MANIFEST = "soul.toml"
PERSONALITY = "soul.md"
MODE_MANIFEST = "mode.toml"
SIZE_CAP = 256 * 1024
"""The most bytes of a file in a soul's folder."""

SHAPE_HINT = "compare it with souls/plain, the smallest complete example"
_MODE_FILES = (MODE_MANIFEST, PERSONALITY)

Stamp = tuple[str, int, int, int]
"""A file's path, modification time, size and inode."""


def read_text(root: Path, path: Path) -> str:
    """The text of a regular file inside `root`, links resolved. Raises SoulError."""
    try:
        if not path.resolve(strict=True).is_relative_to(root.resolve(strict=True)):
            raise SoulError(f"{path} leads out of {root}", hint="put the file itself there, not a link")
        with open(path, "rb", opener=_open_without_waiting) as file:  # Path.open knows no opener
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SoulError(f"{path} is not a regular file", hint="put a text file there")
            content = file.read(SIZE_CAP + 1)
    except (OSError, RuntimeError) as error:  # pathlib raises RuntimeError for circular links
        if isinstance(error, OSError) and error.errno == errno.EISDIR:
            raise SoulError(f"{path} is not a regular file", hint="put a text file there") from error
        reason = error.strerror if isinstance(error, OSError) else None
        raise SoulError(f"{path} can't be read: {reason or error}", hint=SHAPE_HINT) from error
    if len(content) > SIZE_CAP:
        raise SoulError(f"{path} has more than {SIZE_CAP // 1024} KiB", hint="a soul's text is a page or two")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SoulError(f"{path}:{line} is not UTF-8", hint="save the file as UTF-8") from error


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe in the folder must not block the daemon


def mode_folders(folder: Path) -> tuple[Path, ...]:
    """The folders in a soul's folder that hold a mode: those with a soul.md or a mode.toml. Raises SoulError."""
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir())
        return tuple(path for path in inside if any(os.path.lexists(path / file) for file in _MODE_FILES))
    except OSError as error:
        raise SoulError(
            f"{folder} can't be listed: {error.strerror or error}", hint="make the folder readable"
        ) from error


def signature(folder: Path) -> tuple[Stamp | None, ...]:
    """A value that changes whenever one of the soul's files is changed, added or removed."""
    try:
        modes = mode_folders(folder)
    except SoulError:
        modes = ()
    files = [folder / MANIFEST, folder / PERSONALITY, *(mode / file for mode in modes for file in _MODE_FILES)]
    return tuple(_stamp(file) for file in files)


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
