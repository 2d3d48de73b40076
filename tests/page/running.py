"""A daemon with its local Slack in a folder and a process of its own, as `soul run` starts it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final

from daemon.core.value import Value
from daemon.memory.database.sqlite import sqlite3

ROOT: Final = Path(__file__).parents[2]
HANG: Final = 180.0
"""Seconds after which a wait counts as a hang. A healthy daemon needs a fraction of it, even on a busy machine."""


class RunningDaemon(Value):
    """A daemon that runs in `home`; `page_url` opens its local workspace, `log` the file of its log lines."""

    home: Path
    page_url: str
    environment: Mapping[str, str]
    log: Path
    process: asyncio.subprocess.Process

    def log_lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()

    async def soul(self, *arguments: str) -> str:
        """Run a `soul` command in `home`; gives its output. Raises AssertionError with its error output."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "daemon", *arguments),
            cwd=self.home,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return output.decode()

    def count(self, sql: str, *values: object) -> int:
        with closing(sqlite3.connect(self.home / "memory.db", timeout=HANG)) as connection:
            return int(connection.execute(sql, values).fetchone()[0])

    async def until(self, sql: str, *values: object) -> None:
        """Wait until a query of memory.db gives a number other than 0. A file raises no events, so this polls it."""

        async def holds() -> bool:
            return bool(await asyncio.to_thread(self.count, sql, *values))

        await _when(holds)

    async def logged(self, event: str) -> None:
        async def holds() -> bool:
            lines = await asyncio.to_thread(self.log_lines)
            return any(f"event={event}" in line.split() for line in lines)

        await _when(holds)

    async def answered(self) -> None:
        """Wait until no message and no reply is in work."""
        await self.until(
            "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))"
            " AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))"
            " AND NOT EXISTS (SELECT 1 FROM conversations WHERE lease_owner <> '')"
        )

    async def at_rest(self) -> None:
        """Wait until no message, reply or job is in work, those that wait for a lull among them."""
        await self.answered()
        await self.until("SELECT NOT EXISTS (SELECT 1 FROM jobs WHERE state IN ('ready', 'running'))")


@asynccontextmanager
async def running_daemon(home: Path, settings: Mapping[str, str]) -> AsyncIterator[RunningDaemon]:
    """Start a daemon in `home` with the settings in its `.env`; stop it with SIGTERM at the end."""
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
        yield RunningDaemon(home, await _address(process), environment, log, process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(HANG):
            status = await process.wait()
        assert status == 0, log.read_text(encoding="utf-8")[-2000:]


async def _address(process: asyncio.subprocess.Process) -> str:
    """The address of the workspace's page once the daemon is connected to it; empty if the process ends before."""
    assert process.stdout is not None
    url = ""
    async with asyncio.timeout(HANG):
        async for line in process.stdout:
            url = next((word for word in line.decode().split() if word.startswith("http://")), url)
            if line.startswith(b"Connected"):
                return url
    return ""


async def _when(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(HANG):
        while not await holds():  # noqa: ASYNC110  # see `until`
            await asyncio.sleep(0.05)
