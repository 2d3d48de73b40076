"""Which processes live: each holds the lock of a file of its own beside memory.db, which the kernel frees at its death.

A flock(2) belongs to one open file: nothing else that its process opens or closes frees it, no program that it starts
inherits it, and all containers of a host see it that share the folder.
"""

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.core.errors import StoreError

FOLDER: Final = "run"
"""Of SOUL_HOME: one file a process."""


class ProcessLocks:
    """The locks of the processes that have a memory.db open: `own` is this process's, others are asked by name."""

    def __init__(self, database: Path) -> None:
        self._folder = database.absolute().parent / FOLDER
        self._own: tuple[str, int] | None = None

    @property
    def own(self) -> str:
        if self._own is None:
            try:
                self._own = lock_new_file(self._folder)
            except OSError as error:
                raise StoreError(
                    f"{self._folder} can't be written: {error.strerror}",
                    hint="check the owner and mode of that folder",
                ) from error
        return self._own[0]

    def has_ended(self, name: str) -> bool | None:
        """Whether the process of this name has ended; None where that can't be known, as without locks."""
        path = self._folder / name
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        finally:
            os.close(handle)
        return True

    def ended(self) -> list[str]:
        """The names of the processes that have ended and whose files are still there."""
        with suppress(OSError):
            return [file.name for file in self._folder.iterdir() if self.has_ended(file.name)]
        return []

    def remove(self, name: str) -> None:
        """Remove the file of a process that has ended; one that is locked stays."""
        path = self._folder / name
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_there(handle, path):
                    path.unlink()
            finally:
                os.close(handle)

    def close(self) -> None:
        """Remove the file of this process and free its lock: it has ended, as others see it."""
        if self._own is not None:
            name, handle = self._own
            self._own = None
            with suppress(OSError):
                (self._folder / name).unlink()
            os.close(handle)


def lock_new_file(folder: Path) -> tuple[str, int]:
    """The name of a new file and the handle that locks it; where the file system has no locks it stays unlocked."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{os.getpid()}-{secrets.token_hex(6)}"
    while True:
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_there(handle, folder / name):
            return name, handle
        os.close(handle)  # another process found it unlocked, and removed it


def _is_there(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False
