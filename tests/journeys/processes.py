"""The daemon in a process of its own, as an admin starts it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from daemon.local_slack.server import WorkspaceServer
from tests.fakes import TIMEOUT


class Process:
    """A running `soul run`; its lines on stdout, and how it ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[str] = []

    async def until(self, words: str) -> str:
        """Read its output until a line holds these words; gives the line."""
        assert self._process.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            while line := (await self._process.stdout.readline()).decode():
                self.lines.append(line)
                if words in line:
                    return line
        raise AssertionError(f"it ended without saying {words!r}: {self.lines}")

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    async def ended(self) -> int:
        """Read its output to the end; gives its exit status."""
        assert self._process.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            self.lines += (await self._process.stdout.read()).decode().splitlines()
            return await self._process.wait()


@asynccontextmanager
async def started(folder: Path, *command: str, **variables: str) -> AsyncIterator[Process]:
    """`soul …` in a folder, with nothing in its environment but a home, a path, a free port, and these variables."""
    scrubbed: Mapping[str, str] = {"PATH": os.defpath, "HOME": str(folder), "SOUL_HTTP_PORT": "0", **variables}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon", *command),
        cwd=folder,
        env=scrubbed,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Process(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


def variables_for(workspace: WorkspaceServer) -> dict[str, str]:
    """The lines of `.env` for this workspace."""
    return {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": workspace.api_url,
    }
