"""Looks for words in everything that a home holds: each column of each table, and the bytes of each file."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from daemon.memory.database.sqlite import sqlite3

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"


def residues(home: Path, *words: str, apart: tuple[str, ...] = ("backups",)) -> list[str]:
    """Where one of the words stands below a home, in any case of letters: `table.column: word`, `file: word`."""
    needles = [word.lower() for word in words]
    return [*_in_rows(home / "memory.db", needles), *_in_files(home, needles, apart)]


def _in_rows(path: Path, needles: list[str]) -> Iterator[str]:
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        tables = [row[0] for row in connection.execute(_TABLES)]
        for table in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info('{table}')")]
            for column in columns:
                for needle in needles:
                    found = connection.execute(
                        f'SELECT count(*) FROM "{table}" WHERE instr(lower("{column}"), ?) OR instr("{column}", ?)',
                        (needle, needle.encode()),
                    ).fetchone()[0]
                    if found:
                        yield f"{table}.{column}: {needle} ({found})"


def _in_files(home: Path, needles: list[str], apart: tuple[str, ...]) -> Iterator[str]:
    for path in sorted(home.rglob("*")):
        if path.is_file() and not set(apart) & set(path.parts):
            content = path.read_bytes().lower()
            for needle in needles:
                if needle.encode() in content or needle.encode("utf-16-le") in content:
                    yield f"{path.relative_to(home)}: {needle}"
