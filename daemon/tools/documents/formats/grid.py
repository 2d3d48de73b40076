"""The sections of a table: its rows in short groups, each under the table's first row."""

from collections.abc import Iterable, Iterator, Sequence

from daemon.core.text import visible_line
from daemon.tools.documents.document import MOST_ROWS, Section

ROWS, CHARACTERS = 40, 1_200
"""The most rows of a section, and the most characters."""

_LONGEST_HEAD = 300  # characters of the first row that are repeated
BETWEEN = " | "
"""The separator between two cells of a row."""


class TooManyRows(Exception):
    """A table has more than MOST_ROWS rows; those before were yielded."""


def sections(rows: Iterable[Sequence[str]], where: str) -> Iterator[Section]:
    """Yield the rows that aren't empty. Places count every row from 1, as spreadsheets do. Raises TooManyRows.

    `where` precedes the rows in a place, such as `sheet Q3, `.
    """
    head, size, first, last = "", 0, 0, 0
    held: list[str] = []
    for number, row in enumerate(rows, start=1):
        if number > MOST_ROWS:
            if held:
                yield _section(where, first, last, held)
            raise TooManyRows
        line = BETWEEN.join(map(visible_line, row)).rstrip(" |")
        if not line:
            continue
        if held and (len(held) >= ROWS or size + len(line) > CHARACTERS):
            yield _section(where, first, last, held)
            held, size = [head] if head else [], len(head)
            first = number
        if not first:
            first, head = number, line if _is_head(row, line) else ""
        held.append(line)
        size, last = size + len(line) + 1, number
    if held:
        yield _section(where, first, last, held)


def _is_head(row: Sequence[str], line: str) -> bool:
    """Return True if a first row names columns: several cells, none of them a number."""
    named = [cell for cell in row if cell.strip()]
    return len(named) > 1 and len(line) <= _LONGEST_HEAD and not any(map(_is_number, named))


def _is_number(cell: str) -> bool:
    return any(letter.isdigit() for letter in cell) and not any(letter.isalpha() for letter in cell)


def _section(where: str, first: int, last: int, lines: Sequence[str]) -> Section:
    rows = f"row {first}" if first == last else f"rows {first}-{last}"
    return Section(f"{where}{rows}", "\n".join(lines))
