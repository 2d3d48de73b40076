"""The regular checkpoint of the write-ahead log, and an event if the log stays large."""

from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports.services import Clock, Emit
from daemon.memory.database import Database

_EVERY_S: Final = 30.0
LARGE: Final = 64 * 2**20
"""The size in bytes from which a checkpoint waits for readers."""


async def keep_log_small(database: Database, clock: Clock, emit: Emit) -> None:
    """Checkpoint a file in WAL mode until cancelled.

    Emits `store.log_large` if readers keep the log from shrinking. SQLite's own checkpoint after each thousand pages
    doesn't run while a reader holds an older snapshot.
    """
    while True:
        try:
            if await database.in_wal_mode() and await database.checkpoint(whole=False) > LARGE:
                left = await database.checkpoint(whole=True)
                if left > LARGE:
                    emit("store.log_large", bytes=left, hint="end the program that reads memory.db without a pause")
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_EVERY_S)
