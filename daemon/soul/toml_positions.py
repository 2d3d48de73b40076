"""Error messages for a soul's file: file, line, field and what was expected."""

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from daemon.soul.files import PERSONALITY

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
        """`FILE:LINE FIELD: MESSAGE` for a place in the data."""
        return f"{self.file}{self._line(place)} {'.'.join(map(str, place))}: {message}"

    def faults(self, error: ValidationError) -> list[str]:
        """A message for each fault that pydantic found; an empty personality is reported for its own file."""
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
        """The place with a table's keys, where the schema holds the table as numbered pairs."""
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
            here = _inside(here, part)
        return tuple(named)

    def _line(self, place: Place) -> str:
        """`:LINE` of the field or of the innermost table or array around it, or nothing."""
        best, length = "", 0
        for number, path in _paths(self.text):
            if len(path) > length and path == place[: len(path)]:
                best, length = f":{number}", len(path)
        return best


def _inside(here: object, part: int | str) -> object:
    if isinstance(here, Mapping):
        return here.get(part)
    if isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here):
        return here[part]
    return None


def _paths(text: str) -> Iterable[tuple[int, Place]]:
    """Each line that opens a table or sets a key, with its number and the full place that it sets."""
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
