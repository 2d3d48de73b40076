"""A program that tells a soul's senses something, with the token or signed, and a soul that thinks by itself."""

import json
from typing import Any

import aiohttp
from pydantic import SecretStr

from tests.journeys.house import House, SlackDaemon
from tests.journeys.reporting import Reporter
from tests.journeys.souls import write_soul

DAY = 86_400
TOKEN = "a-token-for-these-tests"
ALONE: dict[str, Any] = {
    "name": "tess",
    "visit_silence": 60 * DAY,
    "dormant_after": 90 * DAY,
    "cycle_enabled": True,
    "cycle_tokens_hour": 1_000_000,
    "cycle_tokens_day": 10_000_000,
    "quiet_hours": "",
    "http_token": SecretStr(TOKEN),
    "http_port": 0,
}
"""No silence is so long that the soul itself thinks of it, no budget is met, it is never quiet, and has a door."""


async def thinking_soul(house: House, more: str = "", **changes: object) -> SlackDaemon:
    """Start a daemon whose soul thinks whole thoughts, also by itself, and that has a door."""
    write_soul(house.settings.home, more=f'mind = "cycle"\nsubprocesses = []\n{more}')
    return await house.start(**ALONE | changes)


async def sensed(
    house: House,
    id_: str,
    content: str,
    *,
    room: str = "",
    thread: str = "",
    sense: str = "ci",
    at: SlackDaemon | None = None,
    **more: object,
) -> tuple[int, Any]:
    """Tell the soul's senses something with the token; gives the status, and the conversations or the error's code."""
    body = {"sense": sense, "content": content, "room": room, "thread": thread, "id": id_, **more}
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    return await posted(house, json.dumps(body).encode(), headers, at=at)


async def sensed_by(reporter: Reporter, id_: str, **body: object) -> tuple[int, Any]:
    """The same, signed by a source."""
    raw = json.dumps({"sense": "ci", **body}).encode()
    headers = reporter.signed(raw, id_) | {"Content-Type": "application/json"}
    return await posted(reporter.house, raw, headers, source=reporter.name)


async def posted(
    house: House, body: bytes, headers: dict[str, str], *, source: str = "", at: SlackDaemon | None = None
) -> tuple[int, Any]:
    """Post a body as it is to the door of a daemon, the newest one unless another is named."""
    daemon = at or house.daemon
    assert daemon is not None
    assert daemon.http is not None
    params = {"source": source} if source else {}
    url = f"{daemon.http.url}/api/soul/sense"
    async with (
        aiohttp.ClientSession() as client,
        client.post(url, params=params, data=body, headers=headers) as response,
    ):
        answer = await response.json()
        return response.status, answer["perceived_by"] if response.ok else answer["error"]["code"]
