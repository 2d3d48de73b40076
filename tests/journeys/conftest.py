"""The workspace of every journey, without and with a daemon."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import serve_workspace
from tests.fakes import TurnableClock
from tests.journeys.house import House, settings_for
from tests.programs import ends_awaited


@pytest.fixture
async def empty_house(tmp_path: Path) -> AsyncIterator[House]:
    """The workspace with its people, and no daemon yet."""
    clock = TurnableClock()
    async with ends_awaited(), serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
        built = House(workspace, people, clock, settings_for(workspace, tmp_path))
        try:
            yield built
        finally:
            await built.close()


@pytest.fixture
async def house(empty_house: House) -> House:
    """The workspace with one running daemon."""
    await empty_house.start()
    return empty_house
