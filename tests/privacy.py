"""Fills the table of docs/PRIVACY.md from the declarations of tables: `python -m tests.privacy docs/PRIVACY.md`.

People write what a row holds and how it ends; which setting limits it and what *forget me* does is declared.
"""

import re
import sys
from pathlib import Path

from daemon.memory.tables import BY_NAME, Table

_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]*\| [^|]*\|$", re.MULTILINE)


def with_declared(page: str) -> str:
    """Return the page with the last two columns of its table as declared."""
    return _ROW.sub(_filled, page)


def tables_on(page: str) -> list[str]:
    """The tables that the rows name."""
    return [name for row in _ROW.finditer(page) for name in re.findall(r"`(\w+)`", row[2]) if name in BY_NAME]


def _filled(row: re.Match[str]) -> str:
    tables = [BY_NAME[name] for name in re.findall(r"`(\w+)`", row[2]) if name in BY_NAME]
    if not tables:
        return row[0]
    limits = dict.fromkeys(limit for table in tables for limit in _limits(table))
    ends = dict.fromkeys(end for table in tables for end in _ends(table))
    return f"| {row[1]} | {row[2]} | {row[3]} | {', '.join(limits)} | {', '.join(ends)} |"


def _limits(table: Table) -> list[str]:
    return [f"{'text: ' if one.change else ''}`SOUL_{one.setting.upper()}`" for one in table.ages if one.setting]


def _ends(table: Table) -> list[str]:
    if table.stays:
        return ["blanked"]
    if table.of or table.also:
        return ["deleted"]
    named = ["deleted where it names them"] if table.names else []
    return [*named, *(["deleted in direct messages"] if table.place else [])]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_declared(path.read_text(encoding="utf-8")), encoding="utf-8")
