"""Other processes that have a memory.db open."""

import errno
import os
from contextlib import AbstractContextManager
from pathlib import Path

from daemon.memory.database.process_locks import FOLDER, lock_new_file


def without_locks(_handle: int, _how: int) -> None:
    """The flock of a file system that has no locks."""
    raise OSError(errno.ENOLCK, "No locks available")


class OtherProcess(AbstractContextManager["OtherProcess"]):
    """One that lives until it dies, at the end of the block at the latest."""

    def __init__(self, database: Path) -> None:
        self.name, self._handle = lock_new_file(database.parent / FOLDER)

    def __str__(self) -> str:
        return self.name

    def die(self) -> None:
        """Die as by SIGKILL: its lock is free, and its file stays."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __exit__(self, *_: object) -> None:
        self.die()
