"""The texts that are embedded for a turn, in English, which is what the model that comes with the daemon knows best."""

import datetime as dt
import re
from typing import Final

_CAPTION: Final = re.compile(r"\s*\[(?:image|photo|picture|file)\b[^\]\n]*\]", re.IGNORECASE)


def own(name: str, text: str) -> str:
    """A turn alone."""
    return f"{name}: {_said(text)}"


def with_before(name: str, text: str, when_ms: int, before_name: str, before_text: str) -> str:
    """A turn with the one before it, both as dated sentences; without one before, the turn alone."""
    day = _day(when_ms)
    said = f'On {day}, {name} said, "{_said(text)}"'
    return f'On {day}, {before_name} said, "{_said(before_text)}" {said}' if before_text else said


def _said(text: str) -> str:
    """A text without what only describes a picture: captions help the search for words and mislead that for meaning."""
    return _CAPTION.sub("", text) or text


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _day(when_ms: int) -> str:
    day = dt.datetime.fromtimestamp(when_ms / 1000, dt.UTC)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
