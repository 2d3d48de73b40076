"""A new memory.db as a copy of one that was migrated once: a millisecond instead of twenty."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from uuid import uuid4

from daemon.memory.database import migrate

Migrate = Callable[[Path], tuple[int, int]]
by_steps: Migrate = migrate.migrate
_ONE_AT_A_TIME = Lock()


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        by_steps(path)
        return path.read_bytes()


def by_copy(path: Path) -> tuple[int, int]:
    """Stands in for `migrate.migrate`: a file that does not exist yet is copied, any other is migrated.

    The copy gets its name when it is complete, so that nothing ever opens a part of it.
    """
    if path.exists() or not path.parent.is_dir():
        return by_steps(path)
    draft = path.with_name(f".{path.name}-{uuid4()}")
    draft.touch(mode=0o600)
    with _ONE_AT_A_TIME:  # Alembic keeps its state in the module
        draft.write_bytes(_migrated())
    with suppress(FileExistsError):  # another task was faster
        path.hardlink_to(draft)
    draft.unlink()
    return 0, migrate.SCHEMA


def folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one example of many, where pytest has its own."""
    return tempfile.TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"))
