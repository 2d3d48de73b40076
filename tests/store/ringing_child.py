"""`python -m tests.store.ringing_child HOME`: hangs a bell, prints its identity and listens until it is killed."""

import asyncio
import sys
from pathlib import Path

from daemon.core.clock import SystemClock
from daemon.memory.queues.presence import ProcessIdentity
from daemon.shared.bells import open_bells


async def _listen(home: Path) -> None:
    async with open_bells(home, SystemClock()):
        sys.stdout.write(f"{ProcessIdentity.current()}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_listen(Path(sys.argv[1])))
