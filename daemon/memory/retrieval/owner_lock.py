"""The lock that says which daemon owns the index; it ends with the last process that holds it, however that dies."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LOCK: Final = "owner.lock"
"""The name of its file."""


@contextmanager
def owned(folder: Path) -> Iterator[int | None]:
    """The file handle of the lock, or None where another process holds it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid()}).encode(), 0)
        yield handle
    finally:
        os.close(handle)  # a process that was started with it keeps the lock until its own end


def owner_of(folder: Path) -> int | None:
    """The pid of the process that owns the index now; None where none does. Raises OSError."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            with suppress(ValueError, KeyError, TypeError):
                return int(json.loads(os.pread(handle, 200, 0))["pid"])
            return 0
        return None
    finally:
        os.close(handle)
