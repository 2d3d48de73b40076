"""For journeys about sessions at rest: Ada's session with its companion, and the turns that begin and end in it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.hooks.client import Client
from tests.hooks.companion import SessionProcess, companioned
from tests.journeys.asking import AskedSession, door, new_key
from tests.journeys.house import House


@pytest.fixture
async def process(house: House, tmp_path: Path) -> AsyncIterator[SessionProcess]:
    """Ada's session with its companion, at rest."""
    async with door(house) as url, companioned(Client(tmp_path / "api", url, await new_key(house))) as running:
        await running.client.report("SessionStart", source="startup")
        await reachable(house)
        yield running


@pytest.fixture
def resting(house: House, process: SessionProcess) -> AskedSession:
    """The same, as its hooks report it; time stands still, since on a busy machine it passes between two lines."""
    house.clock.stand_still()
    return AskedSession(house, process.client)


async def reachable(house: House, number: int = 1) -> None:
    """Wait until so many sessions can be woken; a row of memory.db has no events to wait on."""
    async with asyncio.timeout(TIMEOUT):
        while len(await house.rows("SELECT 1 FROM sessions WHERE wakes AND state <> 'gone'")) != number:  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.01)


async def begins(session: AskedSession, text: str, turn: str = "p1", **fields: object) -> None:
    """The session begins a turn with a text."""
    await session.client.report("UserPromptSubmit", prompt_id=turn, prompt=text, **fields)


async def ends(session: AskedSession, answer: str, turn: str = "p1", **fields: object) -> str:
    """The session ends a turn with a text; gives what it is handed then."""
    given = {"prompt_id": turn, "stop_hook_active": False, "last_assistant_message": answer} | fields
    return (await session.client.report("Stop", **given)).context
