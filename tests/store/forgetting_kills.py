"""Kills a process that forgets a person before each of its writes, and has another finish it."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, open_database
from daemon.memory.people.forgetting import ForgettingPeople
from tests.fakes import Events


async def killed_at_each_write(home: Path, workspace: str, person: str, copies: Path) -> AsyncIterator[Path]:
    """Copies of a home (which no daemon uses) in which a person was forgotten, with a kill -9 at another write each."""
    async with open_database(home / "memory.db", SystemClock()) as database:
        order = await _forgetting(home, database).ask(workspace, person)
    for step in count(1):
        copy = copies / str(step)
        await asyncio.to_thread(shutil.copytree, home, copy)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.store.forgetting_child", str(copy / "memory.db"), order, str(step)
        )
        if await child.wait() == 0:
            return
        async with open_database(copy / "memory.db", SystemClock()) as database:
            await _forgetting(copy, database).finish(order)
        yield copy
        await asyncio.to_thread(shutil.rmtree, copy)


def _forgetting(home: Path, database: Database) -> ForgettingPeople:
    return ForgettingPeople(database, SystemClock(), Events(), home, home / "index")
