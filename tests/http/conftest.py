"""A home for daemons with the HTTP API, without and with a daemon; a speech service on loopback."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.http.daemons import HttpHome
from tests.http.speech_endpoint import Endpoint
from tests.loopback import served


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[HttpHome]:
    """A home without a daemon."""
    async with aiohttp.ClientSession() as client:
        home = HttpHome(tmp_path, client)
        yield home
        if home.daemon is not None:
            await home.daemon.cut()


@pytest.fixture
async def home(empty: HttpHome) -> HttpHome:
    """A home with one running daemon."""
    await empty.start()
    return empty


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """A running speech service."""
    made = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/audio/speech", made.speech)
    async with served(app) as url:
        made.url = f"{url}/v1"
        yield made
