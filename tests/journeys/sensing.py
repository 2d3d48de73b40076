"""A program that tells a soul's senses something, with the token or signed, and a soul that thinks by itself."""

import json
from typing import Any

import aiohttp
from pydantic import SecretStr

from daemon.app.lifecycle import Daemon
from tests.journeys.house import House, SlackDaemon
from tests.journeys.reporting import Reporter
from tests.journeys.thinking import thought
from tests.journeys.ticking import NEVER_QUIET, after, musing

DAY = 86_400
TOKEN = "a-token-for-these-tests"
ALONE: dict[str, Any] = {**NEVER_QUIET, "http_token": SecretStr(TOKEN), "http_port": 0}
COUNTS = "SELECT reason, sum(n) AS n FROM tick_counts GROUP BY reason"
LAST = "SELECT occasion, spoke, input FROM thoughts ORDER BY seq DESC LIMIT 1"


async def thinking_soul(house: House, more: str = "", **changes: object) -> SlackDaemon:
    """Start a daemon whose soul thinks whole thoughts, also by itself, and that has a door."""
    await musing(house, more, **ALONE | changes)
    return house.running


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
    raw = json.dumps({"sense": "ci", "id": id_, **body}).encode()
    headers = reporter.signed(raw, id_) | {"Content-Type": "application/json"}
    return await posted(reporter.house, raw, headers, source=reporter.name)


async def posted(
    house: House, body: bytes, headers: dict[str, str], *, source: str = "", at: SlackDaemon | None = None
) -> tuple[int, Any]:
    """Post a body as it is to the door of a daemon, the newest one unless another is named."""
    daemon = at or house.running
    assert daemon.http is not None
    params = {"source": source} if source else {}
    url = f"{daemon.http.url}/api/soul/sense"
    async with (
        aiohttp.ClientSession() as client,
        client.post(url, params=params, data=body, headers=headers) as response,
    ):
        answer = await response.json()
        return response.status, answer["perceived_by"] if response.ok else answer["error"]["code"]


async def spoken_to(house: House, words: str, room: str = "dm", **parts: object) -> str:
    """Say something that the soul answers by a thought with these parts; gives the reply."""
    house.model.replies.append(thought("I see.", **parts))
    return await house.answered("Ada", room, words)


async def ticked(house: House, ticks: int, seconds: float = 0.0) -> None:
    """Let time pass until so many ticks were counted in all."""
    await after(house, seconds, ticks)


async def percepts(house: House) -> list[tuple[str, str]]:
    """What the last thought was given of its senses: each source with the words."""
    held = json.loads((await house.one(LAST))["input"])
    return [(one.get("source", ""), one["content"]) for one in held["new_percepts"] if one["modality"] == "sense"]


def inside(house: House) -> Daemon:
    """The newest daemon's parts."""
    return house.built
