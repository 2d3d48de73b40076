"""Daemons with an HTTP API as processes of their own, which tests kill."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp

from tests.fakes import TIMEOUT

ROOT = Path(__file__).parents[2]


class Births:
    """Starts daemons, one after the other, in one home folder."""

    def __init__(self, zygote: asyncio.subprocess.Process, client: aiohttp.ClientSession) -> None:
        self.zygote, self.client = zygote, client
        self.url = ""
        self.living: set[int] = set()

    async def start(self, home: Path) -> int:
        """Start one, and wait until it listens or is dead; gives its pid."""
        address = home / "url"
        address.unlink(missing_ok=True)
        assert self.zygote.stdin is not None
        assert self.zygote.stdout is not None
        self.zygote.stdin.write(f"{home}\n".encode())
        pid = int(await self.zygote.stdout.readline())
        self.living.add(pid)
        async with asyncio.timeout(TIMEOUT):
            while not address.exists() and _alive(pid):  # noqa: ASYNC110  # a file and a process have no events here
                await asyncio.sleep(0.005)
        self.url = address.read_text() if address.exists() else ""
        return pid

    async def kill(self, pid: int) -> None:
        """Kill it, and wait until it is dead."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(TIMEOUT):
            while _alive(pid):  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.005)
        self.living.discard(pid)


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
