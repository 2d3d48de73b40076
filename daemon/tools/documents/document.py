"""Documents: their sections with places, their kinds by suffix, and the limits of what is read.

The reading process imports this file, which therefore needs the standard library alone.
"""

from enum import StrEnum
from pathlib import PurePath

from daemon.core.value import Value

_MB = 1 << 20

MOST_BYTES = 32 * _MB
"""Bytes of the largest document that is read."""
MOST_UNPACKED = 256 * _MB
"""Bytes of all parts of an office document together, which is an archive."""
MOST_PARTS = 10_000
"""Parts of an office document."""
MOST_TEXT = 2_000_000
"""Characters that are read of one document."""
MOST_PAGES = 1_000
"""Pages of a PDF, or slides, that are read."""
MOST_ROWS = 50_000
"""Rows of a table, or of one sheet of a workbook, that are read."""
MOST_SECTIONS = 5_000
"""Sections of one document."""
LONGEST_PLACE = 80
"""Characters of a place. A longer one is cut."""


class DocumentKind(StrEnum):
    """The kinds of documents. Each value is the name of the module that reads it. The library holds no pictures."""

    PDF = "pdf"
    WORD = "word"
    WORKBOOK = "workbook"
    SLIDES = "slides"
    TABLE = "table"
    PICTURE = "picture"


class Why(StrEnum):
    """The codes for why a document can't be read. Each has a sentence for the sender of the file."""

    DAMAGED = "damaged"
    MISNAMED = "misnamed"
    OTHER_FORMAT = "other_format"
    PROTECTED = "protected"
    NO_TEXT = "no_text"
    ONLY_PICTURES = "only_pictures"
    TOO_BIG_INSIDE = "too_big_inside"


_KINDS = {
    ".pdf": DocumentKind.PDF,
    ".docx": DocumentKind.WORD,
    ".docm": DocumentKind.WORD,
    ".xlsx": DocumentKind.WORKBOOK,
    ".xlsm": DocumentKind.WORKBOOK,
    ".pptx": DocumentKind.SLIDES,
    ".pptm": DocumentKind.SLIDES,
    ".csv": DocumentKind.TABLE,
    ".tsv": DocumentKind.TABLE,
}
_INSTEAD = {
    **dict.fromkeys((".doc", ".odt"), ".docx"),
    **dict.fromkeys((".xls", ".xlsb", ".ods"), ".xlsx"),
    **dict.fromkeys((".ppt", ".odp"), ".pptx"),
}


class Section(Value):
    """A part of a document, as data. `place` locates it for users: `page 12`, `sheet Q3, rows 1-40`."""

    place: str
    text: str


class Document(Value):
    """The text of a document, in its order. `left_out` is a sentence about unread parts, or empty."""

    sections: tuple[Section, ...]
    left_out: str = ""


def kind_of(name: str) -> DocumentKind | None:
    """Return the kind that a file's name promises, or None."""
    return _KINDS.get(PurePath(name).suffix.lower())


def readable_instead(name: str) -> str | None:
    """Return the suffix of a readable format for a document of an unread format, or None for all other names."""
    return _INSTEAD.get(PurePath(name).suffix.lower())


def in_megabytes(size: int) -> str:
    return f"{size / _MB:,.0f} MB" if size >= 10 * _MB else f"{size / _MB:,.1f} MB"
