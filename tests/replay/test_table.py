"""Every row of the canon has either a test or an entry among the deliberate differences."""

import ast
from pathlib import Path

from tests.replay.canon import CANON
from tests.replay.differences import DIFFERENCES, section

HERE = Path(__file__).parent
ROWS = [row for rows in CANON.values() for row in rows]


def _tests() -> list[str]:
    return [
        node.name.removeprefix("test_")
        for path in sorted(HERE.glob("test_*.py"))
        if path != Path(__file__)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def test_every_row_has_a_test_or_a_difference_and_none_has_both() -> None:
    elsewhere = [row for row in ROWS if row.shown_in]
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert sorted([*_tests(), *DIFFERENCES, *(row.name for row in elsewhere)]) == sorted(row.name for row in ROWS)
    assert not [row.shown_in for row in elsewhere if not (HERE.parents[1] / row.shown_in).exists()]


def test_the_page_on_open_souls_lists_the_differences() -> None:
    text = (HERE.parents[1] / "docs" / "OPEN_SOULS.md").read_text(encoding="utf-8")
    _, heading, rest = text.partition("## Deliberate differences\n")
    assert heading
    table = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("|")]
    assert table == section().splitlines(), "run: python -m tests.replay.differences"
