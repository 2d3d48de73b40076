"""Excerpts of long texts around the searched terms, and dates in texts."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from typing import Final

from daemon.core.value import Value
from daemon.core.words import LISTS, Term, folded, likeness, spans_of
from daemon.core.working_memory import estimate_tokens

_LOOKED_AT: Final = 20_000  # characters of a text
_MOST_HITS: Final = 200
_BEFORE: Final = 0.35  # the share of a window before its first hit
_SNAP: Final = 40  # characters by which an edge may move to the end of a line or a word
_ELLIPSIS: Final = "…"


def window(text: str, terms: Sequence[Term], most: int) -> str:
    """Return at most `most` characters of a text: whole, or the stretch with the most terms, with … where cut."""
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
    """Return the same within a number of tokens, as estimated."""
    most = min(len(text), 4 * tokens)
    while most > 1:
        part = window(text, terms, most)
        if (found := estimate_tokens(part)) <= tokens:
            return part
        most = min(most - 1, most * tokens // found)
    return ""


def _stretch(text: str, terms: Sequence[Term], room: int) -> tuple[int, int]:
    """Return the bounds of the stretch that holds the most different terms: the first of several."""
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
    """Return the beginning of a line, or else of a word, shortly after a place and no later than the first hit."""
    near = text[begin : min(begin + _SNAP, first)]
    for mark in ("\n", " "):
        if (found := near.find(mark)) >= 0:
            return begin + found + 1
    return begin


_MONTHS: Final = {name: number for number, names in enumerate(LISTS["dates"]["months"], 1) for name in names.split()}
_ALSO_WORDS: Final = frozenset({"may", "mai", "mars", "march", "marca", "marco", "mei", "маю"})
_IN: Final = frozenset(
    (
        *("in", "during", "im", "en", "em", "a", "of", "last", "this", "since", "until", "from", "by"),
        *("seit", "bis", "de", "do", "w", "в", "depuis", "desde", "sinds"),
    )
)
_NAMED: Final = re.compile(
    r"(?:(?P<before>[^\W\d_]+)\s+)?(?:(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|º|°)?\s+(?:of\s+|de\s+)?)?"
    rf"\b(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b"
    r"(?:\s+(?P<day_after>\d{1,2})(?:st|nd|rd|th)?\b(?!\s*[:h]))?(?:,?\s*(?:de\s+|del\s+)?(?P<year>(?:19|20)\d\d)\b)?"
)
_NUMBERS: Final = re.compile(
    r"\b(?P<y1>(?:19|20)\d\d)-(?P<m1>\d{1,2})(?:-(?P<d1>\d{1,2}))?\b|\b(?P<d2>\d{1,2})\.(?P<m2>\d{1,2})\.(?P<y2>(?:19|20)\d\d)?"
    r"|(?:(?P<y3>(?:19|20)\d\d)年)?(?P<m3>\d{1,2})月(?:(?P<d3>\d{1,2})[日号])?"
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_DAYS_AFTER: Final = 10  # people often mention an event some days later
_LATER: Final = 0.7
_OF_YEAR: Final = 0.5


class NamedDate(Value):
    """A day, a month or a year. Unnamed parts are None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def fits(self, when_ms: int) -> float:
        """Return the fit of a moment (ms, UTC), from 0 to 1: that day or a few days later; in that month or year."""
        when = dt.datetime.fromtimestamp(when_ms / 1000, dt.UTC)
        if self.year not in (None, when.year) and self.day is None:
            return 0.0
        if self.month is None:
            return _OF_YEAR
        if self.day is None:
            return 1.0 if when.month == self.month else 0.0
        try:
            days = (when.date() - dt.date(self.year or when.year, self.month, self.day)).days
        except ValueError:
            return 0.0
        if -1 <= days <= 1:
            return 1.0
        return _LATER if 0 <= days <= _DAYS_AFTER else 0.0


def dates_in(text: str) -> tuple[NamedDate, ...]:
    """Return the distinct dates in a text. A year alone counts only if nothing closer is named."""
    plain = folded(text[-2_000:])
    found = dict.fromkeys((*_by_name(plain), *_by_number(plain)))
    return tuple(found or {NamedDate(int(match[0])): None for match in _YEAR.finditer(plain)})


def _by_name(text: str) -> Iterator[NamedDate]:
    for match in _NAMED.finditer(text):
        day, year = match["day"] or match["day_after"], match["year"]
        if match["month"] in _ALSO_WORDS and not (day or year or match["before"] in _IN):
            continue  # "you may come", "on the march"
        yield NamedDate(_number(year), _MONTHS[match["month"]], _number(day))


def _by_number(text: str) -> Iterator[NamedDate]:
    for match in _NUMBERS.finditer(text):
        year, month, day = (_number(match[f"{part}1"] or match[f"{part}2"] or match[f"{part}3"]) for part in "ymd")
        if month and 1 <= month <= len(set(_MONTHS.values())):
            yield NamedDate(year, month, day)


def _number(text: str | None) -> int | None:
    return int(text) if text else None
