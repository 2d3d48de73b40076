"""Opens a file inside a folder by handle, one name at a time, and follows no link on the way.

So a folder in which other users may write can't lead out of itself, even while it is being read.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe in the folder must not block the daemon


def open_inside(folder: Path, names: Sequence[str]) -> int:
    """A handle of the file that the names lead to from a folder, for reading; it may be no plain file.

    Links are followed in the way to the folder alone, which the admin chose. Raises OSError, also (ELOOP, or ENOTDIR on
    the way) for a link.
    """
    handle = os.open(folder.resolve(), DIRECTORY)
    for name in names[:-1]:
        with closing_handle(handle):
            handle = os.open(name, DIRECTORY, dir_fd=handle)
    with closing_handle(handle):
        return os.open(names[-1], _FILE, dir_fd=handle)


@contextmanager
def closing_handle(handle: int) -> Iterator[int]:
    """Close a handle after the body."""
    try:
        yield handle
    finally:
        os.close(handle)
