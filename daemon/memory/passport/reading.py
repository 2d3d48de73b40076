"""Reading the files of an untrusted passport: only small, well-formed plain files are accepted."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.text import storable, visible_line
from daemon.core.value import Value
from daemon.memory.mirror_folders import FOLDER, MANIFEST
from daemon.memory.passport.kinds import SUFFIX
from daemon.memory.records import JSONObject

LARGEST: Final = 2 * 2**20
"""The size in bytes of the largest accepted file."""

_DEEPEST: Final = 8
_MOST: Final = 2_000_000
_DEEPEST_JSON: Final = 40
_LONGEST_NAME: Final = 200
_LONGEST_REASON: Final = 300


class RefusedFile(Value):
    """A file that is not loaded: its path within the passport, and the reason."""

    path: str
    reason: str


class Loaded(Value):
    """A file as it was read: its path within the passport, the SHA-256 of its bytes, and its content."""

    file: str
    digest: bytes
    content: JSONObject


def read_passport(folder: Path) -> Iterator[Loaded | RefusedFile]:
    """Yield the files of a passport in the order of their paths, each read or refused.

    Reads the folder `memory` inside it if there is one, else the folder itself. Raises StoreError if there is no such
    folder.
    """
    root = root_of(folder)
    for path, refused in walk(root, f"{FOLDER}/" if root != folder else ""):
        yield RefusedFile(named(path), refused) if refused else read_file(folder, path)


def root_of(folder: Path) -> Path:
    """Return the folder with a passport's files. Raises StoreError if there is no such folder."""
    root = folder / FOLDER if (folder / FOLDER).is_dir() and not (folder / FOLDER).is_symlink() else folder
    if not root.is_dir():
        raise StoreError(f"{folder} is no folder", hint="name the folder that `soul memory passport export` wrote")
    return root


def plain_bytes(path: str | Path, most: int = LARGEST) -> bytes:
    """Return the bytes of a plain file of at most that size. Raises OSError, and ValueError with the reason."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no plain file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return content


def walk(root: Path, prefix: str, suffix: str = SUFFIX) -> Iterator[tuple[str, str]]:
    """Yield the paths of files in order, and of anything else with the reason for its refusal. Raises StoreError."""
    for number, found in enumerate(_walk(root, prefix, suffix, _DEEPEST)):
        if number >= _MOST:
            raise StoreError(f"{root} holds more than {_MOST} files", hint="bring it in by parts")
        yield found


def _walk(folder: Path, prefix: str, suffix: str, depth: int) -> Iterator[tuple[str, str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        yield prefix, reason_of(error)
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if entry.is_symlink():
            yield path, "it is a link"
        elif entry.is_dir(follow_symlinks=False):
            if depth:
                yield from _walk(Path(entry.path), f"{path}/", suffix, depth - 1)
            else:
                yield path, "it lies too deep"
        elif entry.name.endswith(suffix) and not entry.name.startswith(".") and path != MANIFEST:
            yield path, ""


def read_file(folder: Path, file: str) -> Loaded | RefusedFile:
    """Read a file of a passport by its path within the passport."""
    try:
        content = plain_bytes(folder / file)
        return Loaded(file, hashlib.sha256(content).digest(), _object(content))
    except (OSError, ValueError) as error:
        return RefusedFile(named(file), reason_of(error))


def reason_of(error: Exception) -> str:
    """Return an error as the reason for a refusal, on one line."""
    said = f"it can't be read: {error.strerror}" if isinstance(error, OSError) else str(error)
    return visible_line(said)[:_LONGEST_REASON]


def _object(content: bytes) -> JSONObject:
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON: {visible_line(str(error))[:80]}") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - it is text that can't be read
    _require_storable(value, _DEEPEST_JSON)
    return value


def _require_storable(value: object, depth: int) -> None:
    if not depth:
        raise ValueError("it is nested too deep")
    if isinstance(value, str) and (storable(value) != value or "\x00" in value):
        raise ValueError("it holds text that can't be stored")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("a number is none")
    if isinstance(value, dict):
        for name in value:
            _require_storable(name, depth)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_storable(inner, depth - 1)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands there twice")
    return found


def _no_number(_text: str) -> object:
    raise ValueError("a number is none")


def named(path: str) -> str:
    """Return a visible form of a path: bytes that are no text, and controls, are replaced."""
    plain = visible_line(path.encode("utf-8", "replace").decode("utf-8"))
    return plain if len(plain) <= _LONGEST_NAME else f"…{plain[-_LONGEST_NAME:]}"
