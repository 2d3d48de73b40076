"""Mirrors of memory in files: how to find and delete them."""

import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.ports.services import Clock
from daemon.memory.retrieval.keeper import LOCK, owned

FOLDER: Final = "memory"
"""The folder of a passport that holds its files."""

MANIFEST: Final = "passport.json"
"""The file of a passport that lists its files with their digests."""

LEAVE: Final = "leave"
"""The file by which a process that deletes a mirror asks its owner to release the lock."""

_LOOKS: Final = 40  # checks that the owner has released the lock
_BETWEEN_S: Final = 0.25


def mirrors_in(home: Path) -> list[Path]:
    """Return the folders of SOUL_HOME that are or were a mirror. Blocks."""
    locks = home.glob(f"*/{LOCK}")
    return [one.parent for one in locks if (one.parent / FOLDER).is_dir() and not one.parent.is_symlink()]


def delete_mirror(root: Path) -> bool:
    """Delete a mirror unless another process has its lock. Return True if it was deleted. Blocks. Raises OSError."""
    with owned(root) as lock:
        if lock is not None:
            _remove(root)
        return lock is not None


def _remove(root: Path) -> None:
    """Remove the files of a mirror, and the folder if nothing else is in it: other files there are not ours."""
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    for name in (MANIFEST, LEAVE, LOCK):  # the lock goes last: it marks the rest after a kill
        (root / name).unlink(missing_ok=True)
    with suppress(OSError):
        root.rmdir()


async def delete_mirrors(home: Path, clock: Clock) -> None:
    """Delete every mirror, after a limited wait for its owner. A daemon then writes it again."""
    for root in await in_background(partial(mirrors_in, home)):
        with suppress(OSError):
            for _ in range(_LOOKS):
                if await in_background(partial(delete_mirror, root)):
                    break
                (root / LEAVE).touch()
                await clock.sleep(_BETWEEN_S)
            else:
                await in_background(partial(_remove, root))
