"""The real client's stand-in of its API; without a client the tests are skipped, and say so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hooks.real_client.rig import Installed, need_client
from tests.hooks.real_client.stand_in import StandIn, standing_in
from tests.http.conftest import empty, home
from tests.http.daemons import HttpHome
from tests.http.machines import key_of
from tests.programs import ends_awaited

__all__ = ("empty", "home")


@pytest.fixture
async def api() -> AsyncIterator[StandIn]:
    need_client()
    async with ends_awaited(), standing_in() as made:
        yield made


@pytest.fixture
async def client(api: StandIn, home: HttpHome, tmp_path: Path) -> Installed:
    """The client with the plugin, and a key of Ada's at a daemon without Slack."""
    made = Installed(tmp_path / "machine", api.url, home.url(""), await key_of(home))
    await made.install()
    return made
