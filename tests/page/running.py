"""A daemon as a newcomer starts it: `python -m daemon run` in a folder of its own, as a process of its own."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Running:
    """A daemon that runs in `home`; `url` is its local workspace, `log` the file that its log lines go to."""

    home: Path
    url: str
    environment: Mapping[str, str]
    log: Path

    def log_lines(self) -> list[str]:
        """What it has told so far."""
        return self.log.read_text(encoding="utf-8").splitlines()

    async def soul(self, *arguments: str) -> str:
        """Run a `soul` command beside it; gives what it prints. Raises AssertionError with what it complains of."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "daemon", *arguments),
            cwd=self.home,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        told, complained = await process.communicate()
        assert process.returncode == 0, complained.decode()
        return told.decode()

    def count(self, sql: str, *values: object) -> int:
        """The one number that a query of memory.db gives."""
        with closing(sqlite3.connect(self.home / "memory.db", timeout=5)) as connection:
            return int(connection.execute(sql, values).fetchone()[0])

    async def until(self, sql: str, *values: object) -> None:
        """Wait until a query of memory.db gives something other than 0; a file has no events to wait on."""

        async def holds() -> bool:
            return bool(await asyncio.to_thread(self.count, sql, *values))

        await _when(holds)

    async def told(self, event: str) -> None:
        """Wait until the log tells of an event."""

        async def holds() -> bool:
            lines = await asyncio.to_thread(self.log_lines)
            return any(f"event={event}" in line.split() for line in lines)

        await _when(holds)

    async def at_rest(self) -> None:
        """Wait until nothing is to be done any more."""
        await self.until(
            "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))"
            " AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))"
            " AND NOT EXISTS (SELECT 1 FROM jobs WHERE state IN ('ready', 'running'))"
        )


@asynccontextmanager
async def running(home: Path, settings: Mapping[str, str]) -> AsyncIterator[Running]:
    """Start a daemon in `home` with settings in its `.env`, and end it in order."""
    given = {"SOUL_WORKSPACE_PORT": "0", "SOUL_HTTP_PORT": "0", **settings}
    (home / ".env").write_text("".join(f"{name}={value}\n" for name, value in given.items()), encoding="utf-8")
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "COLUMNS": "160"}
    log = home / "daemon.log"
    with log.open("w", encoding="utf-8") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "daemon", "run"),
            cwd=home,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
        )
    try:
        yield Running(home, await _address(process), environment, log)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            ended = await process.wait()
        assert ended == 0, log.read_text(encoding="utf-8")[-2000:]


async def _address(process: asyncio.subprocess.Process) -> str:
    """The address of the workspace once the daemon is connected to it, empty if it ends before."""
    assert process.stdout is not None
    url = ""
    async with asyncio.timeout(PATIENCE):
        async for line in process.stdout:
            url = next((word for word in line.decode().split() if word.startswith("http://")), url)
            if line.startswith(b"Connected"):
                return url
    return ""


async def _when(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110  # see `until`
            await asyncio.sleep(0.05)
