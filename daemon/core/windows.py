"""The part of a long text that holds what was searched for."""

from collections.abc import Sequence
from typing import Final

from daemon.core.words import Term, likeness, spans_of
from daemon.core.working_memory import estimate_tokens

_LOOKED_AT: Final = 20_000  # characters of a text
_MOST_HITS: Final = 200
_BEFORE: Final = 0.35  # the share of a window that may stand before its first hit
_SNAP: Final = 40  # characters by which an edge may move to the end of a line or a word
_ELLIPSIS: Final = "…"


def window(text: str, terms: Sequence[Term], most: int) -> str:
    """At most `most` characters of a text: whole, or the stretch that holds the most of the terms, with … where cut."""
    text = text.strip()
    if len(text) <= most:
        return text
    room = max(1, most - 4)  # for the marks of what is left out
    first, last = _stretch(text[:_LOOKED_AT], terms, room)
    begin = max(0, min(first - int((room - (last - first)) * _BEFORE), len(text) - room))
    begin = _snapped(text, begin, first) if begin else 0
    end = furthest = min(len(text), begin + room)
    while end < len(text) and end > max(begin + 1, last, furthest - _SNAP) and not text[end].isspace():
        end -= 1
    before, after = (f"{_ELLIPSIS} " if begin else ""), (f" {_ELLIPSIS}" if end < len(text) else "")
    return f"{before}{text[begin:end].strip()}{after}"


def window_of_tokens(text: str, terms: Sequence[Term], tokens: int) -> str:
    """The same within so many tokens, as we estimate them."""
    most = min(len(text), 4 * tokens)
    while most > 1:
        part = window(text, terms, most)
        if (found := estimate_tokens(part)) <= tokens:
            return part
        most = min(most - 1, most * tokens // found)
    return ""


def _stretch(text: str, terms: Sequence[Term], room: int) -> tuple[int, int]:
    """Where the stretch that holds the most different terms begins and ends; the first where several do."""
    hits = [
        (start, end, term, alike)
        for word, start, end in spans_of(text)
        for term in terms
        if (alike := likeness(term, word)) > 0
    ][:_MOST_HITS]
    best, stretch = 0.0, (0, 0)
    for place, (start, *_) in enumerate(hits):
        found: dict[Term, float] = {}
        reached = start
        for _, end, term, alike in hits[place:]:
            if end - start > room:
                break
            found[term], reached = max(found.get(term, 0.0), alike), end
        if (value := sum(found.values())) > best:
            best, stretch = value, (start, reached)
    return stretch


def _snapped(text: str, begin: int, first: int) -> int:
    """The beginning of a line, or else of a word, a little behind a place and no later than the first hit."""
    near = text[begin : min(begin + _SNAP, first)]
    for mark in ("\n", " "):
        if (found := near.find(mark)) >= 0:
            return begin + found + 1
    return begin
