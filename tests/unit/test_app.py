"""The daemon in this process: it starts, stops at signals, and lives by the clock of its local workspace."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from daemon.app import run_daemon
from daemon.app.lifecycle import clock_of
from daemon.core.config import Settings
from daemon.core.errors import ConfigError, SoulError
from daemon.core.ports.services import Clock, SystemClock
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.fakes import TIMEOUT
from tests.llm.providers import Answer, OpenAIServer
from tests.store.parts import look
from tests.workspace_client import WorkspaceClient


class Announced:
    """The lines for the admin at the terminal, and a way to wait for them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        self._news.set()

    async def until(self, words: str) -> str:
        async with asyncio.timeout(TIMEOUT):
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
    async with WorkspaceClient(workspace.page_url) as client:
        yield client


def _settings(home: Path, workspace: WorkspaceServer | None = None, **more: object) -> Settings:
    tokens: dict[str, object] = {"workspace_port": 0, "embedder": "none"}
    if workspace is not None:
        tokens = {
            "SLACK_BOT_TOKEN": workspace.bot_token,
            "SLACK_APP_TOKEN": workspace.app_token,
            "SLACK_API_URL": workspace.api_url,
            "embedder": "none",
        }
    return Settings(_env_file=None, home=home, http_port=0, **tokens, **more)  # type: ignore[arg-type]  # validated by pydantic


def _tell(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@asynccontextmanager
async def _until_told(settings: Settings, announced: Announced) -> AsyncIterator[str]:
    """The page of a connected daemon without Slack, which a signal ends after the block."""
    life = asyncio.create_task(run_daemon(settings, announced))
    line = await announced.until("a workspace of your own: http://127.0.0.1:")
    await announced.until("Connected.")
    yield line.split()[-1]
    _tell(signal.SIGTERM)
    async with asyncio.timeout(TIMEOUT):
        await life


async def test_a_second_signal_ends_the_drain_without_an_error(
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
    async with asyncio.timeout(TIMEOUT):
        await life
    assert not life.cancelled()


async def test_a_signal_ends_the_wait_for_an_unreachable_slack(
    tmp_path: Path, workspace: WorkspaceServer, people: WorkspaceClient
) -> None:
    await people.fault("auth.test", status=503, times=100)
    life = asyncio.create_task(run_daemon(_settings(tmp_path, workspace), Announced()))
    await people.wait_for(lambda: people.calls("auth.test"))
    _tell(signal.SIGTERM)
    async with asyncio.timeout(TIMEOUT):
        await life
    assert not (tmp_path / "memory.db").exists()


async def test_without_tokens_a_local_workspace_opens_and_after_a_restart_its_time_goes_on(tmp_path: Path) -> None:
    week = 7 * 86_400
    times: list[float] = []
    for _ in range(2):
        announced = Announced()
        async with _until_told(_settings(tmp_path), announced) as page, WorkspaceClient(page) as people:
            await announced.until("No model key is set: a placeholder answers")
            assert (await people.state())["bot"]["display_name"] == "Kothar"
            if not times:
                await people.advance(week)
            await people.say("Ada", "dm", "hello")
            post = (await people.wait_for_post("D0ADA"))[0]
            assert "hello" in post["text"]
            times.append(float(post["ts"]))
    assert times[0] < times[1] < times[0] + week


async def test_a_missing_bot_token_and_a_missing_soul_are_errors(tmp_path: Path, workspace: WorkspaceServer) -> None:
    settings = _settings(tmp_path, workspace).model_copy(update={"slack_bot_token": None})
    with pytest.raises(ConfigError, match="SLACK_BOT_TOKEN"):
        await run_daemon(settings, Announced())
    with pytest.raises(SoulError, match="absent"):
        await run_daemon(_settings(tmp_path, workspace, name="absent"), Announced())


async def test_in_the_first_minute_a_model_of_this_machine_speaks_and_the_page_names_it(tmp_path: Path) -> None:
    server, announced = OpenAIServer(), Announced()
    server.models, server.usual = ("qwen3:8b",), Answer(pieces=("Salt ", "and ", "sails."))
    async with server.running():
        settings = _settings(tmp_path, local_models=True, ollama_url=server.url)
        async with _until_told(settings, announced) as page, WorkspaceClient(page) as people:
            speaks = await announced.until("No model key is set, so qwen3:8b speaks, which Ollama at 127.0.0.1:")
            assert (await people.state())["note"] == speaks
            await people.say("Ada", "dm", "hello")
            assert (await people.wait_for_post("D0ADA"))[0]["text"].startswith("Salt and sails.")
    assert {one.body["model"] for one in server.asked} == {"qwen3:8b"}


DAY = 86_400


def settings_for(workspace: WorkspaceServer, **more: object) -> Settings:
    joins = {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": workspace.api_url,
        "rehearsal_clock": True,
        "embedder": "none",
        "http_port": 0,
    }
    return Settings(_env_file=None, **{**joins, **more})  # type: ignore[arg-type]  # validated by pydantic


async def sleeps_a_day(clock: Clock) -> None:
    async with asyncio.timeout(TIMEOUT):
        await clock.sleep(DAY)


async def test_what_waits_for_a_day_wakes_when_the_workspace_is_moved_and_who_starts_later_begins_there(
    workspace: WorkspaceServer, people: WorkspaceClient
) -> None:
    async with clock_of(settings_for(workspace)) as clock:
        sleeper = asyncio.create_task(sleeps_a_day(clock))
        await asyncio.sleep(0)
        await people.advance(DAY)
        await sleeper
        assert abs(clock.now_ms() / 1000 - workspace.clock.now()) < 60
    async with clock_of(settings_for(workspace)) as clock:
        assert clock.now_ms() / 1000 > SystemClock().now_ms() / 1000 + DAY - 60


async def test_a_daemon_remembers_by_the_time_to_which_the_workspace_was_moved(
    tmp_path: Path, workspace: WorkspaceServer, people: WorkspaceClient
) -> None:
    connected = asyncio.Event()

    def announce(line: str) -> None:
        if "Connected." in line:
            connected.set()

    await people.advance(3 * DAY)
    life = asyncio.create_task(run_daemon(settings_for(workspace, home=tmp_path), announce))
    async with asyncio.timeout(TIMEOUT):
        await connected.wait()
    await people.say("Ada", "dm", "hello")
    await people.wait_for_post("D0ADA")
    life.cancel()
    await asyncio.wait((life,))
    after = SystemClock().now_ms() + 2 * DAY * 1000
    assert look(tmp_path / "memory.db", "SELECT max(said_ms) > ? FROM turns", after) == [(1,)]


async def test_beside_the_real_slack_or_where_none_tells_the_time_it_is_refused(
    workspace: WorkspaceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ("https://slack.com/api/", "https://slack.example.org/api/"):
        with pytest.raises(ConfigError, match="is not on this machine") as refused:
            async with clock_of(settings_for(workspace, SLACK_API_URL=address)):
                pass
        assert "SOUL_REHEARSAL_CLOCK" in refused.value.hint, address
    async with clock_of(settings_for(workspace, rehearsal_clock=False)) as clock:
        assert isinstance(clock, SystemClock)
    async with aiohttp.ClientSession() as session, session.get(f"{workspace.url}/clock") as response:
        assert response.status == 403
    monkeypatch.setattr("daemon.app.lifecycle._ANSWERS_S", 0.2)
    with pytest.raises(ConfigError, match="no local workspace says its time at"):
        async with clock_of(settings_for(workspace, SLACK_BOT_TOKEN="xoxb-of-another")):
            pass
