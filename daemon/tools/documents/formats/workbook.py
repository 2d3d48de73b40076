"""Reads the sheets of a workbook: values as they were last calculated; macros are never run."""

import datetime as dt
from collections.abc import Iterator
from io import BytesIO
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from openpyxl import load_workbook
from openpyxl.worksheet.formula import ArrayFormula

from daemon.core.text import visible_line
from daemon.tools.documents.document import MOST_ROWS
from daemon.tools.documents.formats.archive import check
from daemon.tools.documents.formats.grid import TooManyRows, sections
from daemon.tools.documents.formats.parts import NO_TEXT, CannotRead, LeftOut, Read

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from openpyxl.worksheet.worksheet import Worksheet

_MOST_COLUMNS = 256
_LONGEST_NAME = 31  # characters, as Excel has it


def read(data: bytes) -> Read:
    """The rows of every sheet in blocks; where no value is stored, the formula stands."""
    check(data, "xl/")
    valued = load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
    written = load_workbook(BytesIO(data), read_only=True, data_only=False, keep_links=False)
    found = False
    for sheet, same in zip(valued.worksheets, written.worksheets, strict=True):
        name = visible_line(sheet.title)[:_LONGEST_NAME]
        try:
            for one in sections(_rows(sheet, same), f"sheet {name}, "):
                found = True
                yield one
        except TooManyRows:
            yield LeftOut(f"of sheet {name} the first {MOST_ROWS:,} rows are read")
    if not found:
        raise CannotRead(*NO_TEXT)


def _rows(sheet: "ReadOnlyWorksheet", same: "ReadOnlyWorksheet") -> Iterator[list[str]]:
    for one in (sheet, same):
        one.reset_dimensions()  # what the file says of its size need not be true
    values, formulas = (
        cast("Worksheet", one).iter_rows(max_col=_MOST_COLUMNS, values_only=True) for one in (sheet, same)
    )
    for row, written in zip_longest(values, formulas, fillvalue=()):
        yield [_in_words(formula if value is None else value) for value, formula in zip_longest(row, written)]


def _in_words(value: object) -> str:
    """A cell as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    if isinstance(value, ArrayFormula):
        return str(value.text or "")
    return str(value)
