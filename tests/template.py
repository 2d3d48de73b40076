"""What each daemon of a test begins with, made once a process: the migrated memory.db, the souls that are shipped."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from uuid import uuid4

from daemon.memory import database
from daemon.memory.database import migrate
from daemon.soul import loader
from daemon.soul.loader import KnownNames
from daemon.soul.schema import Soul

Migrate = Callable[[Path], tuple[int, int]]
by_steps: Migrate = migrate.migrate
look_over = database._require_sound
from_files = loader.load_soul
_SHIPPED = Path(__file__).resolve().parents[1] / "souls"
_ONE_AT_A_TIME = Lock()
_UNTOUCHED = 1  # second of 1970 at which a copy was written last, as its file says until SQLite writes to it


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
    os.utime(draft, (_UNTOUCHED, _UNTOUCHED))
    with suppress(FileExistsError):  # another task was faster
        path.hardlink_to(draft)
    draft.unlink()
    return 0, migrate.SCHEMA


def sound_if_copied(path: Path) -> None:
    """Stands in for the look at a file before it is opened: of an untouched copy it is known that nothing is wrong."""
    if path.stat().st_mtime != _UNTOUCHED or path.with_name(f"{path.name}-wal").exists():
        look_over(path)


def soul_once(directory: Path, name: str, known: KnownNames | None = None) -> Soul:
    """Stands in for `load_soul`: a soul that is shipped is read once, any other each time."""
    return _shipped(name) if directory == _SHIPPED else from_files(directory, name, known)


@cache
def _shipped(name: str) -> Soul:
    return from_files(_SHIPPED, name)


def folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one example of many, where pytest has its own."""
    return tempfile.TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"))
