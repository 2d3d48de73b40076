"""A process that keeps a mirror until it is killed: `python -m tests.store.mirror_child PATH FOLDER`."""

import asyncio
import sys
from pathlib import Path

from daemon.core.clock import SystemClock
from daemon.memory.database import open_database
from daemon.memory.passport.mirror import Mirror


def _say(event: str, /, **_fields: object) -> None:
    print(event, flush=True)


async def main(path: Path, folder: str) -> None:
    """Say a line for each event."""
    async with open_database(path, SystemClock()) as database:
        await Mirror(database, path.parent, folder, SystemClock(), _say).run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
