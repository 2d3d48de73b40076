"""The processes that are alive: each locks a file of its own next to memory.db.

The kernel frees the lock at the process's death. A flock(2) belongs to one open file: other files of its process can't
free it. Child processes don't inherit it. All containers of a host that share the folder see it.
"""

import fcntl
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.core.errors import StoreError

FOLDER: Final = "run"
"""The folder in SOUL_HOME with one file for each process."""

_NAME: Final = re.compile(r"\d+-[0-9a-f]{12}")  # other files there are not ours


class ProcessLocks:
    """The locks of the processes that have a memory.db open. `own` is the name of this process."""

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
        """Return True if the process of this name has ended, or None if that is unknown, as without locks."""
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
        """Return the names of ended processes whose files are still there."""
        with suppress(OSError):
            names = [file.name for file in self._folder.iterdir() if _NAME.fullmatch(file.name)]
            return [name for name in names if self.has_ended(name)]
        return []

    def remove(self, name: str) -> None:
        """Remove the file of an ended process. A locked file stays."""
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
        """Remove the file of this process and free its lock. Other processes then see it as ended."""
        if self._own is not None:
            name, handle = self._own
            self._own = None
            with suppress(OSError):
                (self._folder / name).unlink()
            os.close(handle)


def lock_new_file(folder: Path) -> tuple[str, int]:
    """Create a file, and return its name and handle. It is locked if the file system has locks."""
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
