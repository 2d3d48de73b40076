"""Another process that writes to a daemon's memory.db all the time: `python -m bench.writer FILE NAME`."""

import asyncio
import itertools
import sys
from pathlib import Path
from typing import Final

from daemon.core.errors import StoreBusy
from daemon.core.ports.services import SystemClock
from daemon.memory.database import Transaction, open_database

_PAUSE: Final = 0.005  # seconds between two transactions


async def main(path: Path, name: str) -> None:
    """Write until ended by a signal."""
    clock = SystemClock()
    async with open_database(path, clock, create=False) as database:
        for number in itertools.count():

            async def unit(transaction: Transaction, event: str = f"{name}-{number}") -> None:
                await transaction.run(
                    """
                    INSERT INTO deliveries (soul, workspace, event_id, seen_ms)
                    VALUES ('bench', 'bench', :event, :now)
                    """,
                    event=event,
                    now=clock.now_ms(),
                )

            try:
                await database.write(unit)
            except StoreBusy:
                continue
            await clock.sleep(_PAUSE)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
