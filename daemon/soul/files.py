"""Reads the files of a soul's folder: only regular, small UTF-8 files that lie in it themselves, and no links."""

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from daemon.core.errors import SoulError
from daemon.core.text import open_inside

MANIFEST = "soul.toml"
PERSONALITY = "soul.md"
MODE_MANIFEST = "mode.toml"
PLAYBOOK = "playbook.md"
AWAKENING = "awakening.md"
STATES = "states"
"""The folder of the soul's stances. It is never a mode."""
SIZE_CAP = 256 * 1024
SHAPE_HINT = "compare it with souls/plain, the smallest complete example"
_MODE_FILES = (MODE_MANIFEST, PERSONALITY)

Stamp = tuple[str, int, int, int]
"""A file's path, modification time, size and inode."""


def read_text(root: Path, path: Path) -> str:
    """Return the text of a regular file inside `root`, to which no link leads. Raises SoulError."""
    try:
        handle = open_inside(root, path.relative_to(root).parts)
        with os.fdopen(_regular(handle, path), "rb") as file:
            content = file.read(SIZE_CAP + 1)
    except (OSError, RuntimeError) as error:  # pathlib raises RuntimeError for circular links
        if _through_a_link(root, path):
            raise SoulError(f"{path} is a link, or lies behind one", hint="put the file itself there") from error
        reason = error.strerror if isinstance(error, OSError) else None
        raise SoulError(f"{path} can't be read: {reason or error}", hint=SHAPE_HINT) from error
    if len(content) > SIZE_CAP:
        raise SoulError(f"{path} has more than {SIZE_CAP // 1024} KiB", hint="a soul's text is a page or two")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SoulError(f"{path}:{line} is not UTF-8", hint="save the file as UTF-8") from error


def _regular(handle: int, path: Path) -> int:
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise SoulError(f"{path} is not a regular file", hint="put a text file there")


def _through_a_link(root: Path, path: Path) -> bool:
    """Return whether a link kept a file from being opened. This is too late to be more than an explanation."""
    inside = path.relative_to(root).parts
    return any(root.joinpath(*inside[:count]).is_symlink() for count in range(1, len(inside) + 1))


def mode_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders in a soul's folder that hold a mode: those with a soul.md or a mode.toml. Raises SoulError."""
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir() and path.name != STATES)
        return tuple(path for path in inside if any(os.path.lexists(path / file) for file in _MODE_FILES))
    except OSError as error:
        raise SoulError(
            f"{folder} can't be listed: {error.strerror or error}", hint="make the folder readable"
        ) from error


def state_files(folder: Path) -> tuple[Path, ...]:
    """Return all paths in the folder of stances except hidden files, none without that folder.

    Raises SoulError.
    """
    states = folder / STATES
    try:
        return tuple(sorted(path for path in states.iterdir() if not path.name.startswith(".")))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SoulError(f"{states} can't be listed: {error.strerror or error}", hint="make it a folder") from error


def signature(folder: Path) -> tuple[Stamp, ...]:
    """Return a value that changes whenever one of the soul's files is changed, added or removed.

    It is called many times a message, so it works on strings instead of paths.
    """
    folders, states = _inside(str(folder), folders=True), _inside(f"{folder}/{STATES}", folders=False)
    files = [f"{folder}/{file}" for file in (MANIFEST, PERSONALITY, PLAYBOOK, AWAKENING)]
    files += [*states, *(f"{mode}/{file}" for mode in folders for file in _MODE_FILES)]
    return tuple(filter(None, map(_stamp, files)))


def _inside(folder: str, *, folders: bool) -> list[str]:
    try:
        with os.scandir(folder) as found:
            shown = (one for one in found if not one.name.startswith("."))
            return sorted(one.path for one in shown if not folders or one.is_dir())
    except OSError:
        return []


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116  # a Path costs more than the call
    except OSError:
        return None
    return path, found.st_mtime_ns, found.st_size, found.st_ino


Place = tuple[int | str, ...]
"""A place in a manifest: keys, and positions in arrays."""

_PART = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_PATH = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"\s*(?P<open>\[\[?)\s*(?P<path>{_PATH})\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(rf"\s*(?P<path>{_PATH})\s*=")


class Manifest:
    """A TOML file: its name in messages, its text and the parsed data."""

    def __init__(self, file: str, text: str, data: Mapping[str, object]) -> None:
        self.file, self.text, self.data = file, text, data

    def fault(self, place: Place, message: str) -> str:
        """Return `FILE:LINE FIELD: MESSAGE` for a place in the data."""
        return f"{self.file}{self._line(place)} {'.'.join(map(str, place))}: {message}"

    def faults(self, error: ValidationError) -> list[str]:
        """Return a message for each fault that pydantic found. An empty personality is reported for its own file."""
        messages = []
        for found in error.errors(include_input=False, include_url=False):
            if found["loc"] == ("personality",):
                messages.append(f"{self._beside(PERSONALITY)}: is empty")
            else:
                messages.append(self.fault(self._named(found["loc"]), found["msg"].removeprefix("Value error, ")))
        return messages

    def _beside(self, file: str) -> str:
        folder, slash, _ = self.file.rpartition("/")
        return f"{folder}{slash}{file}"

    def _named(self, place: Place) -> Place:
        """Return the place with a table's keys, where the schema holds the table as numbered pairs."""
        named: list[int | str] = []
        here: object = self.data
        parts = iter(place)
        for part in parts:
            if isinstance(here, Mapping) and isinstance(part, int):
                key = list(here)[part]
                named.append(key)
                here = here[key]
                next(parts, None)  # which half of the pair
                continue
            named.append(part)
            here = _toml_positions_inside(here, part)
        return tuple(named)

    def _line(self, place: Place) -> str:
        best, length = "", 0
        for number, path in _paths(self.text):
            if len(path) > length and path == place[: len(path)]:
                best, length = f":{number}", len(path)
        return best


def _toml_positions_inside(here: object, part: int | str) -> object:
    if isinstance(here, Mapping):
        return here.get(part)
    if isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here):
        return here[part]
    return None


def _paths(text: str) -> Iterable[tuple[int, Place]]:
    """Yield each line that opens a table or sets a key: its number, and the full place that it sets."""
    section: Place = ()
    counted: dict[Place, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if table := _TABLE.fullmatch(line):
            section = _keys(table["path"])
            if table["open"] == "[[":
                if section not in counted:
                    yield number, section
                counted[section] = counted.get(section, -1) + 1
                section = (*section, counted[section])
            yield number, section
        elif key := _KEY.match(line):
            yield number, (*section, *_keys(key["path"]))


def _keys(path: str) -> Place:
    return tuple(part.strip("\"'") for part in re.findall(_PART, path))
