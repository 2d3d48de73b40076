"""Several count in two contexts through two daemons, which are killed meanwhile: no step is lost, none counts twice."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from daemon.core.ports.services import SystemClock
from daemon.memory.database import schema
from daemon.memory.database.sqlite import sqlite3
from tests.http.births import Births, zygote_of_daemons
from tests.http.daemons import TOKEN
from tests.shared.counting_at_doors import KEYS, StepCounter, counted

COUNTERS, STEPS = 3, 8


class Doors:
    """Two daemons on one memory.db, and the file that names their addresses."""

    def __init__(self, births: Births, home: Path) -> None:
        self.path = home / "doors"
        self._births, self._home = births, home
        self._open: dict[int, str] = {}

    async def open(self) -> None:
        """Start one more daemon."""
        pid = await self._births.start(self._home)
        self._open[pid] = self._births.url
        self._write()

    async def killed(self) -> None:
        """Kill the one that has lived longest, which others may be asking just now, and start another."""
        pid = next(iter(self._open))
        await self._births.kill(pid)
        del self._open[pid]
        self._write()
        await self.open()

    def _write(self) -> None:
        draft = self.path.with_suffix(".draft")
        draft.write_text("".join(f"{url} {TOKEN}\n" for url in self._open.values()))
        draft.rename(self.path)


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["truncate", "wal"])
async def test_no_step_is_lost_or_counts_twice_while_daemons_are_killed(tmp_path: Path, journal: str) -> None:
    schema.migrate(tmp_path / "memory.db")
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        assert connection.execute(f"PRAGMA journal_mode={journal}").fetchone()[0] == journal
    async with zygote_of_daemons() as births:
        doors = Doors(births, tmp_path)
        await doors.open()
        await doors.open()
        async with asyncio.TaskGroup() as group:
            for number in range(COUNTERS):
                group.create_task(StepCounter(doors.path, f"c{number}", SystemClock()).count_to(STEPS))
            killer = StepCounter(doors.path, "killer", SystemClock())
            for steps in (STEPS // 2, STEPS):
                await killer.count_to(steps)
                await doors.killed()
    expected = (COUNTERS + 1) * STEPS
    assert counted(tmp_path) == dict.fromkeys(KEYS, expected)
