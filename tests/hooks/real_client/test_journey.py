"""With the real client: Bo asks in a thread, Ada clicks, her session at rest wakes, and the answer stands there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.hooks.real_client.rig import ROOT, ClientTerminal, Installed, need_client
from tests.hooks.real_client.stand_in import StandIn, standing_in
from tests.journeys.asking import allowed, asks, door, new_key
from tests.journeys.conftest import empty_house, house
from tests.journeys.house import House, said

__all__ = ("empty_house", "house")
pytestmark = pytest.mark.slow


@pytest.fixture
async def api() -> AsyncIterator[StandIn]:
    need_client()
    async with standing_in() as made:
        yield made


async def test_a_real_session_at_rest_is_woken_answers_in_the_thread_and_is_gone_once_it_is_killed(
    house: House, api: StandIn, tmp_path: Path
) -> None:
    async with door(house) as url:
        client = Installed(tmp_path, api.url, url, await new_key(house))
        await client.install()
        await client.run("plugin", "validate", "--strict", str(ROOT / "hooks"))
        async with ClientTerminal(client):
            await _until(house, "wakes")
            await asks(house)
            api.says = "It is 0042_tenants."
            await allowed(house)
            assert "It is 0042_tenants." in said(await house.reply("general", "0042_tenants"))
        await _until(house, "state = 'gone' AND reason = 'process'")
    assert (await house.one("SELECT how FROM shared_messages WHERE kind = 'question'"))["how"] == "socket"


async def _until(house: House, what: str) -> None:
    """Wait for a session of which this holds; a row of memory.db has no events to wait on."""
    async with asyncio.timeout(TIMEOUT):
        while not await house.rows(f"SELECT 1 FROM sessions WHERE {what}"):  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.05)
