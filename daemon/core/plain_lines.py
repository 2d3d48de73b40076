"""Data of any form in plain lines, `name: value`, as people and models read them; never raw JSON."""

from collections.abc import Iterator, Mapping
from typing import Final

from daemon.core.text import one_line, shortened

_LONGEST_LINE: Final = 300  # characters
_DEEPEST: Final = 4


def plain_lines(data: Mapping[str, object], depth: int = 0) -> Iterator[str]:
    """The lines of data; what is nested stands further in."""
    for name, value in data.items():
        label = "  " * depth + shortened(one_line(str(name)), _LONGEST_LINE)
        if isinstance(value, Mapping) and value and depth < _DEEPEST:
            yield f"{label}:"
            yield from plain_lines(value, depth + 1)
        else:
            yield shortened(f"{label}: {_plain(value)}", _LONGEST_LINE)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{one_line(str(name))} {_plain(one)}" for name, one in value.items()) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else one_line(str(value))
