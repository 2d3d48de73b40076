"""A dwelling behind an HTTP door, empty or lived in."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.http.house import Dwelling


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Dwelling]:
    """No daemon lives there yet."""
    async with aiohttp.ClientSession() as client:
        dwelling = Dwelling(tmp_path, client)
        yield dwelling
        if dwelling.daemon is not None:
            await dwelling.daemon.cut()


@pytest.fixture
async def home(empty: Dwelling) -> Dwelling:
    """A daemon lives there."""
    await empty.start()
    return empty
