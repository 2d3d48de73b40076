"""The reader of the sheets of a workbook, with values as last calculated. Macros are never run."""

import datetime as dt
import re
from collections.abc import Iterator
from io import BytesIO
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from openpyxl import load_workbook
from openpyxl.reader import excel
from openpyxl.styles import stylesheet
from openpyxl.worksheet.formula import ArrayFormula

from daemon.core.text import visible_line
from daemon.tools.documents.document import MOST_ROWS
from daemon.tools.documents.formats.archive import check
from daemon.tools.documents.formats.grid import TooManyRows, sections
from daemon.tools.documents.formats.parts import NO_TEXT, CannotRead, LeftOut, Read

if TYPE_CHECKING:
    from zipfile import ZipFile

    from openpyxl.cell import Cell, MergedCell
    from openpyxl.workbook import Workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from openpyxl.worksheet.worksheet import Worksheet

_MOST_COLUMNS = 256
_LONGEST_NAME = 31  # characters, Excel's limit
_MOST_ZEROS = 32
_TEXTS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')  # texts and colours of a number format


def read(data: bytes) -> Read:
    """Yield the rows of every sheet in blocks. A cell without a stored value shows its formula."""
    check(data, "xl/")
    unstyled = _pass_over_broken_styles()
    valued = load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
    written = load_workbook(BytesIO(data), read_only=True, data_only=False, keep_links=False)
    if unstyled:
        yield LeftOut("its styles can't be read, so dates stand as numbers")
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


def _pass_over_broken_styles() -> list[Exception]:
    """Let the package read values without styles if it can't read the styles. Returns the list of its errors.

    The patch is permanent: this process reads one document and ends.
    """
    stumbled: list[Exception] = []
    apply = stylesheet.apply_stylesheet

    def apply_if_whole(archive: "ZipFile", book: "Workbook") -> None:
        try:
            apply(archive, book)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  # the package raises all kinds of errors for unknown styles
            stumbled.append(error)

    excel.apply_stylesheet = apply_if_whole  # type: ignore[attr-defined]  # its stub omits its imports
    return stumbled


def _rows(sheet: "ReadOnlyWorksheet", same: "ReadOnlyWorksheet") -> Iterator[list[str]]:
    for one in (sheet, same):
        one.reset_dimensions()  # the size that the file declares may be false
    cells = cast("Worksheet", sheet).iter_rows(max_col=_MOST_COLUMNS)
    formulas = cast("Worksheet", same).iter_rows(max_col=_MOST_COLUMNS, values_only=True)
    for row, written in zip_longest(cells, formulas, fillvalue=()):
        yield [
            _in_words(formula) if cell is None or cell.value is None else _shown(cell)
            for cell, formula in zip_longest(row, written)
        ]


def _shown(cell: "Cell | MergedCell") -> str:
    """Return a value in its number format for percentages, leading zeros and hours beyond a day, unrounded."""
    value, form = cell.value, _format_of(cell)
    if isinstance(value, dt.timedelta) and not value.microseconds:
        minutes, seconds = divmod(abs(int(value.total_seconds())), 60)
        sign = "-" if value < dt.timedelta() else ""
        return f"{sign}{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _in_words(value)
    if "%" in _TEXTS.sub("", form.partition(";")[0]):
        return f"{100 * value:.12g}%"
    zeros = 0 < len(form) <= _MOST_ZEROS and not form.strip("0") and value >= 0 and value % 1 == 0
    return str(int(value)).zfill(len(form)) if zeros else _in_words(value)


def _format_of(cell: "Cell | MergedCell") -> str:
    try:
        return str(cell.number_format)
    except IndexError:  # the file lacks the format that it names
        return ""


def _in_words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    if isinstance(value, ArrayFormula):
        return str(value.text or "")
    return str(value)
