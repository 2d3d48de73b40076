"""Reads a table of comma-separated values, in whatever encoding and with whatever separator it was written."""

import codecs
import csv
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from charset_normalizer import from_bytes

from daemon.tools.documents.document import MOST_BYTES, MOST_ROWS
from daemon.tools.documents.formats.grid import TooManyRows, sections
from daemon.tools.documents.formats.parts import NO_TEXT, CannotRead, LeftOut, Read, what_it_begins_like

_BOMS = (  # UTF-32 first: its mark begins like that of UTF-16
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32")),
    *((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
_SAMPLE = 64 * 1024
_SEPARATORS = (",", ";", "\t", "|")
_LOOKED_AT = 50  # rows


def read(data: bytes) -> Read:
    """The rows in blocks."""
    text, encoding = _decoded(data)
    csv.field_size_limit(MOST_BYTES)  # of one cell: a quote that is never closed makes one of all that follows
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
        yield LeftOut(f"it isn't UTF-8; its letters are read as {encoding}, and some may be wrong")


def _rows(text: str) -> Iterator[list[str]]:
    return csv.reader(StringIO(text, newline=""), delimiter=_separator(text))


def _decoded(data: bytes) -> tuple[str, str]:
    """The text, and the encoding where it had to be guessed. Raises CannotRead for what is no text."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), ""
    sample = data[:_SAMPLE]
    if b"\0" in sample:
        return data.decode(_utf_16(data), "replace"), ""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        best = from_bytes(sample).best()
        encoding = best.encoding if best is not None else "cp1252"
        return data.decode(encoding, "replace"), encoding


def _utf_16(data: bytes) -> str:
    """The byte order of UTF-16 without a mark: the zeros of its ASCII letters stand at every second byte."""
    even, odd = data[:_SAMPLE:2].count(0), data[1:_SAMPLE:2].count(0)
    if 10 * min(even, odd) <= max(even, odd) and 10 * max(even, odd) >= len(data[:_SAMPLE:2]):
        return "utf-16-be" if even > odd else "utf-16-le"
    raise CannotRead(f"it is no table, but begins like {what_it_begins_like(data)}", "give it the name of what it is")


def _separator(text: str) -> str:
    """The separator that cuts the first rows into equally many cells, the more the better."""

    def fit(separator: str) -> tuple[bool, int, int]:
        rows = islice(csv.reader(StringIO(text[:_SAMPLE], newline=""), delimiter=separator), _LOOKED_AT)
        widths = [len(row) for row in rows if row]
        usual = max(set(widths), key=lambda width: (widths.count(width), width), default=0)
        return usual > 1, widths.count(usual), usual

    return max(_SEPARATORS, key=fit)
