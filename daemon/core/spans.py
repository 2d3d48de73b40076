"""Spans of time as people say them."""

from typing import Final

_DAY_S: Final = 86_400
_SIZES: Final = ((_DAY_S, "day"), (3_600, "hour"), (60, "minute"))


def span_in_words(seconds: float, *, units: int = 1) -> str:
    """A time as a person would say it, such as "12 minutes", by its greatest units: "3 hours and 12 minutes" by two.

    What is less than a minute is said to a tenth of a second.
    """
    parts, left = list[str](), max(0.0, seconds)
    for size, name in _SIZES:
        number, left = int(left // size), left % size
        if number:
            parts.append(f"{number} {name}{'s' * (number > 1)}")
        elif parts:
            break
    return " and ".join(parts[:units]) if parts else f"{max(0.0, seconds):.1f} seconds"


def dated(words: str, when_ms: int, now_ms: int) -> str:
    """Words, and how long ago they were said where that is a day or more: "calm (12 days ago)". Times in ms, UTC."""
    seconds = (now_ms - when_ms) / 1000
    return f"{words} ({span_in_words(seconds)} ago)" if words and seconds >= _DAY_S else words
