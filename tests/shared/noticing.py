"""`python -m tests.shared.noticing HOME MINE OTHER OTHER TIMES`: changes its own context, watches those of others.

It begins when a line comes in. Each change holds the moment right before it was written, on the clock that all
processes of a machine share; how many milliseconds later the others saw it is printed at the end. Data that has no
moment ends the watching of its key.
"""

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Final

from daemon.core.contexts import ADMIN
from daemon.core.ports.services import SystemClock
from daemon.memory.database import open_database
from daemon.memory.shared.store import ContextStore
from daemon.shared.contexts import RawContext, SharedContexts
from daemon.shared.news import StoreNews, open_news

WORKSPACE: Final = "T1"
_PAUSE_S: Final = (0.1, 0.4)


class Watcher:
    """Notices the changes of others: `after` are the milliseconds until it did, `missed` those it passed over."""

    def __init__(self, contexts: SharedContexts) -> None:
        self.after: list[float] = []
        self.missed = 0
        self._contexts = contexts
        self.ready = asyncio.Semaphore(0)

    async def watch(self, key: str) -> None:
        clock, version = self._contexts.clock, 0
        async for state in RawContext(self._contexts, key).changes():
            if not state.version:
                self.ready.release()
                continue
            at = state.data.get("at")
            if at is None:
                return
            assert isinstance(at, float)
            self.after.append(1000 * (clock.monotonic() - at))
            self.missed += state.version - version - 1
            version = state.version


async def main(home: Path, mine: str, others: list[str], times: int) -> None:
    clock = SystemClock()
    async with open_database(home / "memory.db", clock, create=False) as database, open_news(database, clock) as news:
        store, unheard = ContextStore(database, clock, WORKSPACE), StoreNews(database, clock)
        own = RawContext(SharedContexts(store, unheard, clock, ADMIN), mine)  # its own changes wake no watcher
        watcher = Watcher(SharedContexts(store, news, clock, ADMIN))
        async with asyncio.TaskGroup() as group:
            for other in others:
                group.create_task(watcher.watch(other))
            for _ in others:
                await watcher.ready.acquire()
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.readline)
            for _ in range(times):
                await clock.sleep(random.uniform(*_PAUSE_S))
                await own.write({"at": clock.monotonic()})
            await clock.sleep(1.0)  # so that the last change is no less noticed than the others
            await own.write({"over": True})
    sys.stdout.write(json.dumps({"after": watcher.after, "missed": watcher.missed}) + "\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:-1], int(sys.argv[-1])))
