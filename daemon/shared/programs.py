"""Shared contexts for programs in Python that run beside the daemons of a memory.db; `soul context` is one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.core.clock import SystemClock
from daemon.core.contexts import ADMIN, OPERATOR, Writer
from daemon.core.errors import StoreError
from daemon.core.members import checked_member
from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import open_database
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.store import ContextStore
from daemon.shared.context import SharedContexts
from daemon.shared.news import open_news


@asynccontextmanager
async def open_shared_contexts(path: Path, name: str = OPERATOR) -> AsyncIterator[SharedContexts]:
    """The contexts of the memory.db at `path`, for a writer of this name: the admin, or one that knows what all may.

    The program is present under its name, where it says so, until the block ends. Raises StoreError for a file that no
    daemon has worked with, and ContextRefused for what is no name.
    """
    clock = SystemClock()
    async with open_database(path, clock, create=False) as database, open_news(database, clock) as news:
        workspace = await database.read(workspace_of_file)
        if not workspace:
            raise StoreError("memory.db knows no workspace yet", hint="start the daemon once with `soul run`")
        everybody = Audience(AudienceKind.WORKSPACE, workspace)
        writer = ADMIN if name == OPERATOR else Writer(checked_member(name), everybody)
        contexts = SharedContexts(ContextStore(database, clock, workspace), news, clock, writer)
        try:
            yield contexts
        finally:
            await contexts.leave()
