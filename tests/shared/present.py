"""`python -m tests.shared.present HOME KEY MEMBER`: is present at a context until its input ends, then leaves."""

import asyncio
import sys
from pathlib import Path

from daemon.core.contexts import Writer
from daemon.core.errors import DaemonError
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import SystemClock
from daemon.memory.database import open_database
from daemon.memory.shared.store import ContextStore
from daemon.shared.contexts import SharedContexts
from daemon.shared.news import open_news
from tests.given import TEAM


async def _be_present(home: Path, key: str, member: str) -> None:
    clock = SystemClock()
    async with open_database(home / "memory.db", clock, create=False) as database, open_news(database, clock) as news:
        writer = Writer(member, Audience(AudienceKind.WORKSPACE, TEAM))
        contexts = SharedContexts(ContextStore(database, clock, TEAM), news, clock, writer)
        try:
            await contexts.awareness(key).set_local_state({"status": "typing"})
        except DaemonError as error:
            sys.stdout.write(f"{error}\n")
            return
        sys.stdout.write("present\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        await contexts.leave()


if __name__ == "__main__":
    asyncio.run(_be_present(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
