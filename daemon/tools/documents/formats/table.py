"""The reader of a table of separated values, in any encoding and with any common separator."""

import csv
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from daemon.tools.documents.document import MOST_BYTES, MOST_ROWS
from daemon.tools.documents.encodings import decoded, guessed
from daemon.tools.documents.formats.grid import TooManyRows, sections
from daemon.tools.documents.formats.parts import NO_TEXT, CannotRead, LeftOut, Read, misnamed
from daemon.tools.documents.marks import Data, what_it_is

_SAMPLE = 64 * 1024
_SEPARATORS = (",", ";", "\t", "|")
_LOOKED_AT = 50  # rows


def read(data: bytes) -> Read:
    """Yield the rows in blocks."""
    found_text = decoded(data)
    if found_text is None or what_it_is(data) is not Data.TEXT:
        raise misnamed(data, "table")
    text, encoding = found_text
    csv.field_size_limit(MOST_BYTES)  # of one cell, since an unclosed quote makes one cell of the rest
    found = False
    try:
        for one in sections(_rows(text), ""):
            found = True
            yield one
    except TooManyRows:
        yield LeftOut(f"the first {MOST_ROWS:,} rows are read")
    if not found:
        raise CannotRead(*NO_TEXT)
    if encoding:
        yield LeftOut(guessed(encoding))


def _rows(text: str) -> Iterator[list[str]]:
    return csv.reader(StringIO(text, newline=""), delimiter=_separator(text))


def _separator(text: str) -> str:
    """Return the separator that cuts the first rows into equally many cells, the more the better."""

    def fit(separator: str) -> tuple[bool, int, int]:
        rows = islice(csv.reader(StringIO(text[:_SAMPLE], newline=""), delimiter=separator), _LOOKED_AT)
        widths = [len(row) for row in rows if row]
        usual = max(set(widths), key=lambda width: (widths.count(width), width), default=0)
        return usual > 1, widths.count(usual), usual

    return max(_SEPARATORS, key=fit)
