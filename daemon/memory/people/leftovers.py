"""Deletes what lies in files of what memory.db has deleted: vectors, bytes of senses, mirrors."""

import shutil
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.memory.database import Database
from daemon.memory.mirror_folders import delete_mirrors
from daemon.memory.retrieval.chroma_shelves import FOLDERS
from daemon.memory.retrieval.owner_lock import owned
from daemon.memory.retrieval.vector_file import VectorFile
from daemon.memory.retrieval.vector_queue import Order
from daemon.memory.retrieval.vectors import FILE

_SENSES: Final = "senses"
_LOOKS: Final = 40  # at whether the owner of the index has followed
_BETWEEN_S: Final = 0.25


async def clear_leftovers(database: Database, clock: Clock, folder: Path, index: Path, gone: Sequence[str]) -> None:
    """Delete the files and vectors of memories that are gone, by id. Raises StoreError.

    The vectors' owner does it for its own files, asked through the queue; it is waited for a while.
    """
    for _ in range(_LOOKS):
        if await in_background(partial(_without_owner, index, gone)):
            break
        if not await _queued(database, gone):
            break
        await clock.sleep(_BETWEEN_S)
    rows = await database.rows(
        "SELECT raw_data_ref AS digest FROM senses WHERE raw_data_ref <> '' "
        "UNION SELECT digest FROM shared_files WHERE digest <> ''"
    )
    await in_background(partial(_delete_bytes, folder / _SENSES, {row["digest"] for row in rows}))
    await delete_mirrors(folder, clock)


async def _queued(database: Database, gone: Sequence[str]) -> bool:
    """Whether the owner of the index has still to follow."""
    rows = await database.rows("SELECT id FROM vector_queue")
    waiting = {row["id"] for row in rows}
    return Order.RENEW in waiting or bool(waiting & set(gone))


def _without_owner(index: Path, gone: Sequence[str]) -> bool:
    """Delete the vectors here where no process owns them; whether that was so."""
    if not (index / FILE).exists():
        return not any(index.glob(f"{FOLDERS}*"))
    try:
        with owned(index) as lock:
            if lock is None:
                return False
            with closing(VectorFile(index / FILE, read_only=False)) as file:
                file.replace(gone, ())
                file.pack()
            for place in index.glob(f"{FOLDERS}*"):
                shutil.rmtree(place, ignore_errors=True)
            return True
    except OSError as error:
        raise StoreError(
            f"{index} can't be changed: {error.strerror}", hint="check the owner and mode of the data folder"
        ) from error


def _delete_bytes(folder: Path, kept: Collection[str]) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.stem not in kept:
            with suppress(OSError):
                path.unlink()
