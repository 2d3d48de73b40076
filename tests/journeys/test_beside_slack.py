"""One daemon in Slack and on HTTP at once: each conversation stays in its channel."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from daemon.app.assembly import souls_of
from tests.given import CLOSING, OPENING
from tests.http.daemons import Stream, bearer
from tests.journeys.house import House
from tests.journeys.reporting import open_door


@pytest.fixture
async def client(empty_house: House) -> AsyncIterator[aiohttp.ClientSession]:
    """A program beside a daemon that is in Slack and on HTTP."""
    daemon = await open_door(empty_house)
    assert daemon.http is not None
    async with aiohttp.ClientSession(daemon.http.url, headers=bearer()) as opened:
        yield opened


async def _ask(client: aiohttp.ClientSession, message: str) -> str:
    async with client.post("/api/soul/chat", json={"message": message, "session": "s"}) as response:
        return str((await Stream(response).until("done")).data["text"])


async def test_each_is_answered_in_their_own_channel(empty_house: House, client: aiohttp.ClientSession) -> None:
    assert await _ask(client, "over http") == "Echo: over http"
    assert await empty_house.answered("Ada", "dm", "in slack") == "Echo: in slack"
    assert "over http" not in str(empty_house.prompts[-1])
    assert await _ask(client, "over http again") == "Echo: over http again"
    assert "in slack" not in str(empty_house.prompts[-1])
    assert await empty_house.replies("D0ADA") == ["Echo: in slack"]
    words = "<!channel> @here " + "word " * 6_000
    empty_house.flow().end(OPENING, words, CLOSING)
    assert await _ask(client, "tell me all") == words.strip(), "whole, as the soul said it"


async def test_readiness_jobs_and_metrics_are_the_daemons(empty_house: House, client: aiohttp.ClientSession) -> None:
    async with client.get("/readyz") as response:
        assert await response.json() == {"status": "ready"}
    await _ask(client, "hello")
    jobs = souls_of(empty_house.settings, empty_house.events).current("minoan").subprocesses
    async with client.post("/api/soul/subprocess", json={"session": "s"}) as response:
        assert (response.status, await response.json()) == (202, {"queued": list(jobs)})
    async with client.get("/metrics") as response:
        text = await response.text()
    assert 'soul_queue{queue="inbox"} 0.0' in text
    assert "soul_alarms 0.0" in text
