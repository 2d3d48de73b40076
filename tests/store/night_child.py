"""A process that works through a night until it is killed: `python -m tests.store.night_child PATH NOW_MS`."""

import asyncio
import sys
from pathlib import Path

from daemon.memory.database import open_database
from tests.fakes import TurnableClock
from tests.nights import Nights


async def main(path: Path, now_ms: int) -> None:
    """Print a line when the night begins."""
    clock = TurnableClock()
    clock.turn((now_ms - clock.now_ms()) / 1000)
    async with open_database(path, clock) as database:
        nights = Nights(database, clock, "killed")
        nights.llm.default = '{"same": [], "found": []}'
        print(flush=True)
        await nights.daemon.look()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
