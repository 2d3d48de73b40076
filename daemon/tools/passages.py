"""Cuts a text into passages short enough to be shown, where possible between paragraphs and functions."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from daemon.core.ports.library import IndexedPassage
from daemon.tools.documents.document import Section

MOST_LINES, MOST_CHARACTERS = 40, 1_500
"""The size limits of a passage."""
MOST_PASSAGES = 2_000
"""Passages of one file; the rest of the file is left out."""

_OPENS = re.compile(
    r"#{1,6}\s|={3,}|(?:@|(?:export |pub |public |private |static |async )*"
    r"(?:def|class|func|fn|function|struct|enum|impl|interface|trait|type|module|namespace|CREATE)\s)"
)


def cut(text: str) -> tuple[IndexedPassage, ...]:
    """Passages with the number of their first line, from 1; every line that isn't blank is in exactly one passage.

    A line that is too long for a passage is cut into several passages, all with its number.
    """
    return tuple(IndexedPassage(line, body) for line, body in islice(_passages(text), MOST_PASSAGES))


def cut_sections(sections: Iterable[Section]) -> Iterator[IndexedPassage]:
    """The passages of a document, numbered from 1, each with the place of its section; none spans two sections."""
    bodies = ((one.place, body) for one in sections for _, body in _passages(one.text))
    return (IndexedPassage(number, body, place) for number, (place, body) in enumerate(bodies, start=1))


def _passages(text: str) -> Iterator[tuple[int, str]]:
    held: list[tuple[int, str]] = []
    size = 0
    for number, piece in _pieces(text):
        if held and (
            _is_full(len(held) + 1, size + len(piece)) or (_is_border(held[-1][1], piece) and _is_half(held, size))
        ):
            yield _joined(held)
            held, size = [], 0
        if held or piece.strip():  # a passage never begins with blank lines
            held.append((number, piece))
            size += len(piece) + 1
    if held:
        yield _joined(held)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, counted as editors do: only a line feed ends a line."""
    for number, line in enumerate(text.split("\n"), start=1):
        whole = line.rstrip()
        for start in range(0, max(1, len(whole)), MOST_CHARACTERS):
            yield number, whole[start : start + MOST_CHARACTERS]


def _is_full(lines: int, characters: int) -> bool:
    return lines > MOST_LINES or characters > MOST_CHARACTERS


def _is_half(held: list[tuple[int, str]], characters: int) -> bool:
    return 2 * len(held) >= MOST_LINES or 2 * characters >= MOST_CHARACTERS


def _is_border(before: str, after: str) -> bool:
    """Whether a paragraph, heading or definition begins between two lines."""
    return bool(after) and (not before or _OPENS.match(after) is not None)


def _joined(held: list[tuple[int, str]]) -> tuple[int, str]:
    return held[0][0], "\n".join(piece for _, piece in held).rstrip()
