"""Files of memory.db as an earlier version of the daemon left them."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from daemon.memory.database import migrate, sqlite


def make_older(path: Path, monkeypatch: pytest.MonkeyPatch, schema: int, statements: Iterable[str] = ()) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(migrate, "SCHEMA", schema)
        migrate.migrate(path)
    with closing(sqlite.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
