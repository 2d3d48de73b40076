"""Keeps the write-ahead log small: it is moved into the file regularly, and measured."""

from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports.services import Clock, Emit
from daemon.memory.database import Database

_EVERY_S: Final = 30.0
LARGE: Final = 64 * 2**20
"""Bytes of a log from which on it is waited for readers to empty it."""


async def keep_log_small(database: Database, clock: Clock, emit: Emit) -> None:
    """Move the log of a file in WAL mode into the file until cancelled; `store.log_large` tells that readers keep it.

    SQLite moves it by itself after each thousand pages, but not while a reader holds an older snapshot.
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
