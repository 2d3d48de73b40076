"""Opens memory.db for commands, in the name of the admin who runs them."""

import asyncio
import os
import pwd
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from daemon.cli.daemons_clock import daemons_clock
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.core.settings_place import settings_place
from daemon.memory.admin.job_admin import JobAdmin
from daemon.memory.admin.queue_admin import Admin
from daemon.memory.admin.schedule_admin import Agenda
from daemon.memory.database import Database, open_database

T = TypeVar("T")


def existing_database(settings: Settings) -> Path:
    """Path of memory.db. Raises StoreError when there is none."""
    path = settings.database_path.absolute()
    if not path.exists():
        hint = f"start the daemon with `{settings_place().start}`, or set SOUL_HOME to its data folder"
        raise StoreError(f"there is no {path} yet", hint=hint)
    return path


def with_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do some work on memory.db.

    Raises StoreError, and SchemaMismatch when it has to be migrated first.
    """
    path = existing_database(settings)

    async def opened() -> T:
        async with open_database(path, SystemClock(), create=False) as database:
            return await work(database)

    return asyncio.run(opened())


def with_admin(work: Callable[[Admin], Awaitable[T]]) -> T:
    """Read or change the queues. Raises StoreError."""
    return with_database(load_settings(), lambda database: work(Admin(database, SystemClock(), os_user())))


def with_jobs(work: Callable[[JobAdmin], Awaitable[T]]) -> T:
    """Read or change background jobs. Raises StoreError."""
    return with_database(load_settings(), lambda database: work(JobAdmin(database, SystemClock(), os_user())))


def with_agenda(work: Callable[[Agenda], Awaitable[T]], clock: Clock | None = None) -> T:
    """Read or change schedules, approvals and conversations, by the daemon's clock. Raises StoreError."""
    settings = load_settings()
    by = clock or daemons_clock(settings)
    return with_database(settings, lambda database: work(Agenda(database, by, os_user())))


def os_user() -> str:
    """The operating system's name for the user who runs the command."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
