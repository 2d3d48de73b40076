"""The daemon as an admin starts it: its own process, a foreign folder, documented variables alone."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.fakes import TIMEOUT
from tests.journeys.house import said


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
        """Wait until it has ended; gives its exit status."""
        async with asyncio.timeout(TIMEOUT):
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


async def test_it_starts_answers_a_dm_and_stops_cleanly_on_sigterm(tmp_path: Path) -> None:
    async with (
        serve_workspace() as workspace,
        WorkspaceClient(workspace.page_url) as people,
        started(tmp_path, "run", **variables_for(workspace)) as process,
    ):
        await process.until("Connected.")
        await people.say("Ada", "dm", "are you there?")
        post = (await people.wait_for_post("D0ADA", timeout=TIMEOUT))[0]
        assert "are you there?" in said(post)
        process.tell(signal.SIGTERM)
        assert await process.ended() == 0
    assert (tmp_path / "memory.db").stat().st_mode & 0o077 == 0, "it is its owner's alone"


async def test_it_finishes_the_reply_that_is_under_way_on_sigterm(tmp_path: Path) -> None:
    async with serve_workspace() as workspace, WorkspaceClient(workspace.page_url) as people:
        await people.fault("chat.postMessage", delay=0.5)
        async with started(tmp_path, "run", **variables_for(workspace)) as process:
            await process.until("Connected.")
            await people.say("Ada", "dm", "a last word")
            await people.wait_for(lambda: people.calls("users.info"), TIMEOUT)
            process.tell(signal.SIGTERM)
            assert await process.ended() == 0
        posts = await people.posts_by_bot("D0ADA")
        assert ["a last word" in said(post) for post in posts] == [True]


async def test_it_can_be_stopped_while_slack_can_not_be_reached(tmp_path: Path) -> None:
    async with serve_workspace() as workspace, WorkspaceClient(workspace.page_url) as people:
        await people.fault("auth.test", status=503, times=100)
        async with started(tmp_path, "run", **variables_for(workspace)) as process:
            await process.until("slack.unreachable")
            process.tell(signal.SIGTERM)
            assert await process.ended() == 0


async def test_without_tokens_it_opens_a_workspace_of_its_own_and_answers_there(tmp_path: Path) -> None:
    async with started(tmp_path, "run", SOUL_WORKSPACE_PORT="0") as process:
        line = await process.until("http://127.0.0.1")
        await process.until("Connected.")
        async with WorkspaceClient("http" + line.split("http")[1].strip()) as people:
            await people.say("Ada", "dm", "are you there?")
            post = (await people.wait_for_post("D0ADA", timeout=TIMEOUT))[0]
            assert "are you there?" in said(post)
        process.tell(signal.SIGINT)
        assert await process.ended() == 0


@pytest.mark.parametrize("variables", [{"SLACK_BOT_TOKEN": "xoxb-1"}, {"SOUL_NAME": "nobody"}])
async def test_a_wrong_set_up_ends_it_with_a_sentence_and_no_traceback(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    async with started(tmp_path, "run", SOUL_WORKSPACE_PORT="0", **variables) as process:
        assert await process.ended() != 0
        with suppress(AssertionError):
            await process.until("never said")
        words = "".join(process.lines)
        assert "Traceback" not in words
        assert "SLACK_APP_TOKEN is not set" in words or "there is no soul 'nobody'" in words
