"""A fresh memory.db and the shipped souls, made once a process and copied for each test."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

from daemon.memory import database
from daemon.memory.database import schema
from daemon.soul import loader
from daemon.soul.loader import KnownNames
from daemon.soul.schema import Soul

migrate: Callable[[Path], tuple[int, int]] = schema.migrate
look_over = database._require_sound
from_files = loader.load_soul
_SHIPPED = Path(__file__).resolve().parents[1] / "souls"
_UNTOUCHED = 1  # second of 1970 at which a copy was written last, as its file says until SQLite writes to it


@cache
def _fresh() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        migrate(path)
        return path.read_bytes()


def by_copy(path: Path) -> tuple[int, int]:
    """Stands in for `schema.migrate`: a file that does not exist yet is copied, any other is brought up.

    The copy gets its name when it is complete, so that nothing ever opens a part of it.
    """
    if path.exists() or not path.parent.is_dir():
        return migrate(path)
    draft = path.with_name(f".{path.name}-{uuid4()}")
    draft.touch(mode=0o600)
    draft.write_bytes(_fresh())
    os.utime(draft, (_UNTOUCHED, _UNTOUCHED))
    with suppress(FileExistsError):  # another task was faster
        path.hardlink_to(draft)
    draft.unlink()
    return 0, schema.SCHEMA


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
