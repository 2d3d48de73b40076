"""A daemon beside a local workspace in another process lives by its clock, and by the machine's beside Slack."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from daemon.app import run_daemon
from daemon.app.rehearsal_clock import clock_of
from daemon.core.clock import SystemClock
from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.ports.clock import Clock
from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.fakes import TIMEOUT
from tests.store.parts import look

DAY = 86_400


@pytest.fixture
async def workspace() -> AsyncIterator[WorkspaceServer]:
    async with serve_workspace() as running:
        yield running


@pytest.fixture
async def people(workspace: WorkspaceServer) -> AsyncIterator[WorkspaceClient]:
    async with WorkspaceClient(workspace.page_url) as client:
        yield client


def settings_for(workspace: WorkspaceServer, **more: object) -> Settings:
    """The settings of a daemon that joins a workspace and lives by its clock."""
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
    monkeypatch.setattr("daemon.app.rehearsal_clock._ANSWERS_S", 0.2)
    with pytest.raises(ConfigError, match="no local workspace says its time at"):
        async with clock_of(settings_for(workspace, SLACK_BOT_TOKEN="xoxb-of-another")):
            pass
