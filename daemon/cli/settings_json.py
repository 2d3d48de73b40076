"""Puts entries into a JSON file of another program and takes them out again, with every other byte as it was."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import ConfigError

_SPACE: Final = re.compile(r"[ \t\r\n]*")


class NotJson(ConfigError):
    """The text is no JSON object, or one that can't be changed safely."""


@dataclass(frozen=True, slots=True)
class Part:
    """A value of a JSON text and where it stands; `begin` is that of its name in an object, else its own."""

    begin: int
    start: int
    end: int
    value: object


def parsed(text: str) -> dict[str, Part]:
    """The members of the object that a JSON text is. Raises NotJson."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"the file is no JSON: {error}", hint="mend it first; it was left as it is") from None
    if not isinstance(whole, dict):
        raise NotJson("the file is no JSON object", hint="mend it first; it was left as it is")
    return members(text, _past_space(text, 0))


def members(text: str, start: int) -> dict[str, Part]:
    """The members of the object that begins at `start`; raises NotJson for two of one name."""
    found = dict[str, Part]()
    place = _past_space(text, start + 1)
    while text[place] != "}":
        name, after = _decoded(text, place)
        begin = _past_space(text, _past_space(text, after) + 1)
        value, end = _decoded(text, begin)
        if str(name) in found:
            raise NotJson(f"the file names {str(name)[:80]!r} twice", hint="mend it first; it was left as it is")
        found[str(name)] = Part(place, begin, end, value)
        place = _past_comma(text, end)
    return found


def items(text: str, start: int) -> list[Part]:
    """The items of the list that begins at `start`."""
    found = list[Part]()
    place = _past_space(text, start + 1)
    while text[place] != "]":
        value, end = _decoded(text, place)
        found.append(Part(place, place, end, value))
        place = _past_comma(text, end)
    return found


def with_part(text: str, start: int, parts: Sequence[Part], added: str, indent: str) -> str:
    """The text with one more part at the end of the object or list that begins at `start`.

    Into an empty one it is put without any space, which tells later that it was empty before.
    """
    if not parts:
        return f"{text[: start + 1]}{added}{text[start + 1 :]}"
    end = max(part.end for part in parts)
    return f"{text[:end]},\n{indent}{added}{text[end:]}"


def without_part(text: str, parts: Sequence[Part], gone: Part) -> str:
    """The text without one of the parts of an object or list, and without the comma that came with it."""
    ordered = sorted(parts, key=lambda part: part.begin)
    place = ordered.index(gone)
    if place:
        return text[: ordered[place - 1].end] + text[gone.end :]
    if len(ordered) > 1:
        return text[: gone.begin] + text[ordered[1].begin :]
    return text[: gone.begin] + text[gone.end :]


def _decoded(text: str, start: int) -> tuple[object, int]:
    value: object
    value, end = json.JSONDecoder().raw_decode(text, start)
    return value, end


def _past_comma(text: str, place: int) -> int:
    place = _past_space(text, place)
    return _past_space(text, place + 1) if text[place] == "," else place


def _past_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
