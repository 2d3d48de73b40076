"""How commands come to memory.db: settings, the file that must be there, and who asks."""

import asyncio
import os
import pwd
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from daemon.core.clock import SystemClock
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.memory.admin.queue_admin import Admin
from daemon.memory.database import Database, open_database

T = TypeVar("T")


def existing_database(settings: Settings) -> Path:
    """Where memory.db is. Raises StoreError when there is none yet."""
    path = settings.database_path.absolute()
    if not path.exists():
        raise StoreError(
            f"there is no {path} yet", hint="start the daemon with `soul run`, or set SOUL_HOME to its data"
        )
    return path


def with_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do some work on memory.db as it is. Raises StoreError, SchemaMismatch when it has to be migrated first."""
    path = existing_database(settings)

    async def opened() -> T:
        async with open_database(path, SystemClock(), create=False) as database:
            return await work(database)

    return asyncio.run(opened())


def with_admin(settings: Settings, work: Callable[[Admin], Awaitable[T]]) -> T:
    """Do some work as the person at the keyboard. Raises StoreError."""
    return with_database(settings, lambda database: work(Admin(database, SystemClock(), os_user())))


def os_user() -> str:
    """The name of whoever runs the command, as the operating system knows it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
