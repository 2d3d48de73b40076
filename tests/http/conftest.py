"""A dwelling behind an HTTP door, empty or lived in."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.http.house import Dwelling
from tests.http.speech_endpoint import Endpoint


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


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """A running one."""
    made = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/audio/speech", made.speech)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield made
    await runner.cleanup()
