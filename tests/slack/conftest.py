"""The local workspace and a channel in it."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.channel import SlackChannel
from daemon.core.config import Settings
from daemon.core.ports.services import Clock, SystemClock
from daemon.core.value import Value
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.fakes import Events, FakeIntake
from tests.slack.parts import Control, settings_for

Open = Callable[..., SlackChannel]


class Wire(Value):
    """A channel and its two ends: the workspace, and what arrives in the daemon."""

    open: Open
    channel: SlackChannel
    control: Control
    intake: FakeIntake
    events: Events


@pytest.fixture
async def server() -> AsyncIterator[WorkspaceServer]:
    async with serve_workspace() as running:
        yield running


@pytest.fixture
def control(server: WorkspaceServer) -> Control:
    return Control(server)


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def settings(server: WorkspaceServer) -> Settings:
    return settings_for(server.api_url, bot_token=server.bot_token, app_token=server.app_token, slack_sockets=1)


@pytest.fixture
async def client(settings: Settings, events: Events) -> AsyncIterator[SlackClient]:
    opened = SlackClient(settings, SystemClock(), events)
    yield opened
    await opened.close()


@pytest.fixture
async def open_channel(settings: Settings, events: Events) -> AsyncIterator[Open]:
    opened: list[SlackChannel] = []

    def build(clock: Clock | None = None, ping_interval: float = 5.0, **changes: Any) -> SlackChannel:  # noqa: ANN401  # any setting
        changed = settings.model_copy(update=changes)
        channel = SlackChannel(changed, clock or SystemClock(), events, ping_interval=ping_interval)
        opened.append(channel)
        return channel

    yield build
    for channel in opened:
        await channel.close()


@pytest.fixture
def channel(open_channel: Open) -> SlackChannel:
    return open_channel()


@pytest.fixture
def on(open_channel: Open, channel: SlackChannel, control: Control, intake: FakeIntake, events: Events) -> Wire:
    return Wire(open_channel, channel, control, intake, events)
