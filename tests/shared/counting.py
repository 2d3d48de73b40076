"""`python -m tests.shared.counting HOME TIMES`: adds one to a context so many times, each on a new connection."""

import asyncio
import sys
from pathlib import Path

from pydantic import BaseModel

from daemon.core.contexts import OPERATOR, Writer
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import SystemClock
from daemon.memory.database import open_database
from daemon.memory.shared.store import ContextStore
from daemon.shared.contexts import SharedContexts
from daemon.shared.news import StoreNews

KEY = "counter"
WRITER = Writer(OPERATOR, Audience(AudienceKind.OPERATOR, ""))


class Tally(BaseModel):
    count: int = 0


def one_more(counter: Tally) -> Tally:
    return Tally(count=counter.count + 1)


async def _count(home: Path, times: int) -> None:
    clock = SystemClock()
    for _ in range(times):
        async with open_database(home / "memory.db", clock, create=False) as database:
            contexts = SharedContexts(ContextStore(database, clock, "T1"), StoreNews(database, clock), clock, WRITER)
            await contexts.use_shared_context(KEY, Tally).update(one_more)


if __name__ == "__main__":
    asyncio.run(_count(Path(sys.argv[1]), int(sys.argv[2])))
