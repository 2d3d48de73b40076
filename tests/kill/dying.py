"""A daemon that looks for what is due at a moment (ms, UTC) and is killed.

`python -m tests.kill.dying MEMORY_DB MS before|after`: in the transaction that moves the first slot, or once all is
committed.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from daemon.memory.database import open_database
from daemon.memory.queues import intention_rows
from daemon.memory.queues.intentions import Intentions
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.records import Worker
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM


async def _store_and_die(*args: object, **columns: object) -> None:
    await store_internal_event(*args, **columns)  # type: ignore[arg-type]  # handed on as they come
    os.kill(os.getpid(), signal.SIGKILL)


async def _look(path: Path, now_ms: int) -> None:
    clock = FakeClock(auto=True, start_ms=now_ms)
    async with open_database(path, clock) as database:
        await Intentions(database, clock, Worker("child", SOUL, TEAM, 1000)).fall_due()
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[3] == "before":
        setattr(intention_rows, "store_internal_event", _store_and_die)  # noqa: B010  # the module does not export it
    asyncio.run(_look(Path(sys.argv[1]), int(sys.argv[2])))
