"""A program that reports events to a soul, signed as its source signs them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from types import MappingProxyType

import aiohttp
from pydantic import SecretStr

from daemon.core.sensing import Signing, signing_key
from daemon.core.value import Value
from tests.journeys.house import House, SlackDaemon

BUILDS = "C0GENERAL"
_NONE: Mapping[str, str] = MappingProxyType({})
RED = "The build of main is red: 3 of 412 tests fail."


class Reporter(Value):
    """A source with its secret; `clock` is how far its clock is off, in seconds."""

    house: House
    name: str
    secret: str
    clock: int = 0

    def signed(self, body: bytes, id_: str) -> dict[str, str]:
        """The headers that sign a body."""
        at = str(self.house.clock.now_ms() // 1000 + self.clock)
        signed = b".".join((id_.encode(), at.encode(), body))
        made = hmac.digest(signing_key(self.secret, Signing.STANDARD), signed, hashlib.sha256)
        return {
            "Content-Type": "text/plain",
            "webhook-id": id_,
            "webhook-timestamp": at,
            "webhook-signature": f"v1,{base64.b64encode(made).decode()}",
        }

    async def reports(
        self, id_: str, words: str = RED, *, at: SlackDaemon | None = None, headers: Mapping[str, str] = _NONE
    ) -> tuple[int, str]:
        """Send an event to a daemon; gives the status, and what became of it or the code of the error."""
        body = words.encode()
        return await post(self.house, self.name, body, {**self.signed(body, id_), **headers}, at=at)


async def post(
    house: House, source: str, body: bytes, headers: dict[str, str], *, at: SlackDaemon | None = None
) -> tuple[int, str]:
    """Post to the door of a daemon, the newest one unless another is named."""
    daemon = at or house.running
    assert daemon.http is not None
    return await post_to(daemon.http.url, source, body, headers)


async def post_to(door: str, source: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    """Post to a door by its URL; gives the status, and what became of the event or the code of the error."""
    url = f"{door}/api/events"
    async with (
        aiohttp.ClientSession() as client,
        client.post(url, params={"source": source}, data=body, headers=headers) as response,
    ):
        answer = await response.json()
        return response.status, str(answer["state"] if response.ok else answer["error"]["code"])


async def open_door(house: House) -> SlackDaemon:
    """Start a daemon with the HTTP API on a free port."""
    return await house.start(http_token=SecretStr("a-token-for-these-tests"), http_port=0)


async def source(house: House, name: str = "ci", *flags: str, room: str = BUILDS) -> Reporter:
    """Let a program report, as an admin does."""
    made = json.loads(await house.command("events", "add", name, "--room", room, *flags, "--json"))
    return Reporter(house, name, made["secret"])
