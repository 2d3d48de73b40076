"""A process that brings a passport in: `python -m tests.store.import_child PATH DIR WRITES`.

It kills itself with SIGKILL after so many writes.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TypeVar

from daemon.core.clock import SystemClock
from daemon.memory.database import Database, Unit, open_database
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.importing import import_passport

T = TypeVar("T")


def _die_after(database: Database, most: int) -> None:
    write, writes = database.write, 0

    async def counted(unit: Unit[T]) -> T:
        nonlocal writes
        value = await write(unit)
        writes += 1
        if writes == most:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    database.write = counted  # type: ignore[method-assign,assignment]


async def main(path: Path, folder: Path, most: int) -> None:
    """Bring some of it in, and die."""
    async with open_database(path, SystemClock()) as database:
        _die_after(database, most)
        await import_passport(database, folder, Owner("minoan", "T1"), SystemClock())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
