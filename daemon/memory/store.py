"""memory.db opened for one daemon: its inbox, claims, outbox, turns, jobs and presence on one database."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from daemon.memory.commits import Commits
from daemon.memory.conversations import Conversations
from daemon.memory.database import Database, open_database
from daemon.memory.inbox import Inbox
from daemon.memory.jobs import Jobs
from daemon.memory.outbox import Outbox
from daemon.memory.presence import Presence
from daemon.memory.records import Worker
from daemon.memory.turns import Turns
from daemon.ports import Clock, Emit


@dataclass(frozen=True, slots=True)
class Store:
    """Everything a daemon does with memory.db."""

    database: Database
    inbox: Inbox
    conversations: Conversations
    commits: Commits
    outbox: Outbox
    turns: Turns
    jobs: Jobs
    presence: Presence


@asynccontextmanager
async def open_store(
    path: Path,
    clock: Clock,
    emit: Emit,
    *,
    soul: str,
    workspace: str,
    kind: str,
    version: str,
    lease: float,
    on_accepted: Callable[[], None],
) -> AsyncIterator[Store]:
    """Open (and create or migrate) memory.db for one daemon; closes it on the way out. Raises StoreError.

    `lease` is in seconds; `on_accepted` is called whenever something new waits in the inbox.
    """
    async with open_database(path, clock) as database:
        presence = Presence(database, clock, soul=soul, workspace=workspace, kind=kind, version=version)
        worker = Worker(str(presence.identity), soul, workspace, int(lease * 1000))
        yield Store(
            database=database,
            inbox=Inbox(database, clock, emit, on_accepted),
            conversations=Conversations(database, clock, worker),
            commits=Commits(database, clock, worker),
            outbox=Outbox(database, clock, worker),
            turns=Turns(database, clock),
            jobs=Jobs(database, clock, worker),
            presence=presence,
        )
