"""Several daemons on one memory.db, which a figure kills and starts; programs find their doors in a file."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Final

from bench.host import cpu_seconds
from bench.processes import end, spawn
from bench.stage import Bot, Stage, stage
from daemon.core.ports.services import SystemClock
from daemon.memory.database import schema
from daemon.memory.database.sqlite import sqlite3

TOKEN: Final = "a-token-of-the-bench"  # noqa: S105 - of daemons that live for a minute
_POLL_S: Final = 0.02
_START_S: Final = 60.0


class Household:
    """The living daemons in one home, by the address of their doors; the file `doors` names them, with the token."""

    def __init__(self, set_up: Stage) -> None:
        self.set_up = set_up
        self.home = set_up.home
        self.doors = set_up.home / "doors"
        self._living: dict[str, Process] = {}
        address = set_up.address
        self._settings = {
            "SLACK_API_URL": address["api_url"],
            "SLACK_BOT_TOKEN": address["bot_token"],
            "SLACK_APP_TOKEN": address["app_token"],
            "SOUL_HOME": str(set_up.home),
            "SOUL_HTTP_PORT": "0",
            "SOUL_HTTP_TOKEN": TOKEN,
        }

    @property
    def addresses(self) -> list[str]:
        """Where the doors are, the oldest daemon's first."""
        return list(self._living)

    @property
    def cpu(self) -> float:
        """The processor time of all of them so far, in seconds."""
        return sum(cpu_seconds(one.pid) for one in self._living.values())

    async def start(self) -> str:
        """Start a daemon, and wait until its door is open; gives its address. Raises TimeoutError."""
        process = await spawn(self.home, "daemon", "run", settings=self._settings)
        try:
            async with asyncio.timeout(_START_S):
                while not (url := self._published(process.pid)):
                    await SystemClock().sleep(_POLL_S)
        except BaseException:
            await end(process, kill=True)
            raise
        self._living[url] = process
        self._name_doors()
        return url

    async def kill_one(self) -> None:
        """Kill the oldest one; who comes to its door meanwhile is refused."""
        url, process = next(iter(self._living.items()))
        await end(process, kill=True)
        del self._living[url]
        self._name_doors()

    async def close(self) -> None:
        """Stop all of them."""
        for process in self._living.values():
            await end(process, kill=True)

    def _published(self, pid: int) -> str:
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self.home / "memory.db")) as connection:
            row = connection.execute(
                "SELECT json_extract(detail, '$.http') FROM presence WHERE pid = ?", (pid,)
            ).fetchone()
            return str(row[0] or "") if row else ""
        return ""

    def _name_doors(self) -> None:
        draft = self.doors.with_suffix(".draft")
        draft.write_text("".join(f"{url} {TOKEN}\n" for url in self._living), encoding="utf-8")
        draft.rename(self.doors)


@asynccontextmanager
async def household(journal: str, daemons: int = 2) -> AsyncIterator[Household]:
    """So many daemons on a fresh memory.db with this journal mode."""
    async with stage(Bot.OURS) as set_up:
        await asyncio.to_thread(make_file, set_up.home / "memory.db", journal)
        house = Household(set_up)
        try:
            for _ in range(daemons):
                await house.start()
            yield house
        finally:
            await house.close()


def make_file(path: Path, journal: str) -> None:
    """A fresh memory.db that keeps this journal mode."""
    schema.migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        mode = connection.execute(f"PRAGMA journal_mode={journal}").fetchone()[0]
    if mode != journal:
        raise RuntimeError(f"SQLite refuses the journal mode {journal}")
