"""Daemons with an HTTP API as processes of their own, which tests kill."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import aiohttp

from daemon.memory.database.driver import sqlite3
from tests.fakes import TIMEOUT
from tests.http.daemons import bearer

ROOT = Path(__file__).parents[2]
BODY = {"message": "hello", "session": "s", "message_id": "m"}


class Births:
    """Starts daemons, one after the other, in one home folder."""

    def __init__(self, zygote: asyncio.subprocess.Process, client: aiohttp.ClientSession) -> None:
        self.zygote, self.client = zygote, client
        self.home, self.url = Path(), ""
        self.living: set[int] = set()

    async def start(self, home: Path, crash: str = "") -> int:
        """Start one, and wait until it listens or is dead; gives its pid."""
        self.home, address = home, home / "url"
        address.unlink(missing_ok=True)
        order = {"home": str(home), "crash": crash, "passed": str(home / "passed")}
        assert self.zygote.stdin is not None
        assert self.zygote.stdout is not None
        self.zygote.stdin.write(json.dumps(order).encode() + b"\n")
        pid = int(await self.zygote.stdout.readline())
        self.living.add(pid)
        async with asyncio.timeout(TIMEOUT):
            while not address.exists() and _alive(pid):  # noqa: ASYNC110  # a file and a process have no events here
                await asyncio.sleep(0.005)
        self.url = address.read_text() if address.exists() else ""
        return pid

    async def dead(self, pid: int) -> None:
        """Wait until it is dead."""
        async with asyncio.timeout(TIMEOUT):
            while _alive(pid):  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.005)
        self.living.discard(pid)

    async def kill(self, pid: int) -> None:
        """Kill it."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        await self.dead(pid)

    async def say(self) -> str:
        """The answer to the one message."""
        async with self.client.post(f"{self.url}/api/soul/chat", json=BODY, headers=bearer()) as response:
            body = (await response.read()).decode()
        events = body.strip().split("\n\n")
        assert events[-1].startswith("event: soul:stream:done"), body
        return str(json.loads(events[-1].partition("data: ")[2])["text"])

    def passed(self) -> list[str]:
        """The crash points that daemons passed, in order."""
        return (self.home / "passed").read_text().split()

    def count(self, sql: str) -> int:
        """A number from memory.db."""
        with closing(sqlite3.connect(self.home / "memory.db", timeout=5)) as connection:
            return int(connection.execute(sql).fetchone()[0])


@asynccontextmanager
async def zygote_of_daemons() -> AsyncIterator[Births]:
    """A zygote and a client."""
    zygote = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.http.zygote"),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with aiohttp.ClientSession() as client:
        made = Births(zygote, client)
        yield made
        for pid in list(made.living):
            await made.kill(pid)
    assert zygote.stdin is not None
    zygote.stdin.close()
    await zygote.wait()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
