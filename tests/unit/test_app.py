"""The daemon's life in this very process: it starts, is told to stop, once or twice, and ends in order."""

import asyncio
import io
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app import run_chat, run_daemon
from daemon.channels.terminal import TerminalChannel
from daemon.core.clock import SystemClock
from daemon.core.config import Settings
from daemon.core.errors import ConfigError, SoulError
from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.fakes import PATIENCE


class Announced:
    """The lines meant for a person at the terminal, and a way to wait for them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = asyncio.Event()

    def __call__(self, line: str) -> None:
        """Take a line."""
        self.lines.append(line)
        self._news.set()

    async def until(self, words: str) -> str:
        """Wait for a line with certain words."""
        async with asyncio.timeout(PATIENCE):
            while not (found := [line for line in self.lines if words in line]):
                self._news.clear()
                await self._news.wait()
            return found[0]


@pytest.fixture
async def workspace() -> AsyncIterator[WorkspaceServer]:
    async with serve_workspace() as running:
        yield running


@pytest.fixture
async def people(workspace: WorkspaceServer) -> AsyncIterator[WorkspaceClient]:
    async with WorkspaceClient(workspace.url) as client:
        yield client


def _settings(home: Path, workspace: WorkspaceServer | None = None, **more: object) -> Settings:
    tokens: dict[str, object] = {"workspace_port": 0}
    if workspace is not None:
        tokens = {
            "SLACK_BOT_TOKEN": workspace.bot_token,
            "SLACK_APP_TOKEN": workspace.app_token,
            "SLACK_API_URL": workspace.api_url,
        }
    return Settings(_env_file=None, home=home, http_port=0, **tokens, **more)  # type: ignore[arg-type]  # validated by pydantic


def _tell(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


async def test_the_first_signal_ends_it_in_order(tmp_path: Path, workspace: WorkspaceServer) -> None:
    announced = Announced()
    life = asyncio.create_task(run_daemon(_settings(tmp_path, workspace), announced))
    await announced.until("Connected.")
    _tell(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        await life
    assert announced.lines[0].startswith("No model key is set: a placeholder answers")


async def test_a_second_signal_cuts_the_drain_short_and_still_ends_quietly(
    tmp_path: Path, workspace: WorkspaceServer, people: WorkspaceClient
) -> None:
    await people.fault("chat.postMessage", delay=60)
    announced = Announced()
    life = asyncio.create_task(run_daemon(_settings(tmp_path, workspace), announced))
    await announced.until("Connected.")
    await people.say("Ada", "dm", "hello")
    await people.wait_for(lambda: people.calls("users.info"))
    _tell(signal.SIGINT)
    await people.wait_for_sockets(0)
    assert not life.done()
    _tell(signal.SIGINT)
    async with asyncio.timeout(PATIENCE):
        await life
    assert not life.cancelled()


async def test_a_cancellation_that_is_no_signal_comes_out_as_one(tmp_path: Path, workspace: WorkspaceServer) -> None:
    announced = Announced()
    life = asyncio.create_task(run_daemon(_settings(tmp_path, workspace), announced))
    await announced.until("Connected.")
    life.cancel()
    await asyncio.wait((life,))
    assert life.cancelled()


async def test_a_signal_ends_the_wait_for_a_slack_that_can_not_be_reached(
    tmp_path: Path, workspace: WorkspaceServer, people: WorkspaceClient
) -> None:
    await people.fault("auth.test", status=503, times=100)
    life = asyncio.create_task(run_daemon(_settings(tmp_path, workspace), Announced()))
    await people.wait_for(lambda: people.calls("auth.test"))
    _tell(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        await life
    assert not (tmp_path / "memory.db").exists()


async def test_without_tokens_a_workspace_of_its_own_is_opened_under_the_soul_s_name(tmp_path: Path) -> None:
    announced = Announced()
    life = asyncio.create_task(run_daemon(_settings(tmp_path), announced))
    line = await announced.until("a workspace of your own: http://127.0.0.1:")
    await announced.until("Connected.")
    async with WorkspaceClient(line.split()[-1]) as people:
        assert (await people.state())["bot"]["display_name"] == "Kothar"
        await people.say("Ada", "dm", "hello")
        assert "hello" in (await people.wait_for_post("D0ADA"))[0]["text"]
    _tell(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        await life


async def test_a_dead_bot_token_ends_it_with_an_error_that_says_so(tmp_path: Path, workspace: WorkspaceServer) -> None:
    settings = _settings(tmp_path, workspace).model_copy(update={"slack_bot_token": None})
    with pytest.raises(ConfigError, match="SLACK_BOT_TOKEN"):
        await run_daemon(settings, Announced())


async def test_a_soul_that_is_not_there_ends_it_with_an_error_that_says_so(
    tmp_path: Path, workspace: WorkspaceServer
) -> None:
    with pytest.raises(SoulError, match="nobody"):
        await run_daemon(_settings(tmp_path, workspace, name="nobody"), Announced())


async def test_a_chat_ends_when_its_input_has_ended_and_all_is_answered(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"hello\nand again\n")
    os.close(writing)
    output = io.StringIO()
    channel = TerminalChannel("minoan", "ada", SystemClock(), source=reading, output=output, interactive=False)
    try:
        async with asyncio.timeout(PATIENCE):
            await run_chat(_settings(tmp_path), channel)
    finally:
        os.close(reading)
    assert "hello" in output.getvalue()
    assert "and again" in output.getvalue()
