"""A process that carries an order to forget a person out: `python -m tests.store.forgetting_child PATH ORDER WRITE`.

It kills itself with SIGKILL before its write number WRITE, counted from 1.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, TypeVar

from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, Unit, open_database
from daemon.memory.people.forgetting import ForgettingPeople
from tests.fakes import Events

T = TypeVar("T")


async def main(path: Path, order: str, kill_at: int) -> None:
    async with open_database(path, SystemClock()) as database:
        _die_at(database, kill_at)
        await ForgettingPeople(database, SystemClock(), Events(), path.parent, path.parent / "index").finish(order)


def _die_at(database: Database, kill_at: int) -> None:
    write, writes = database.write, 0

    async def counted(unit: Unit[T], **options: Any) -> T:  # noqa: ANN401  # as they are
        nonlocal writes
        writes += 1
        if writes == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return await write(unit, **options)

    database.write = counted  # type: ignore[method-assign]  # a test's own


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
