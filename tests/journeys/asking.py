"""For journeys in which people ask a session: a daemon in Slack with the HTTP API, and a session's real hook script."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import aiohttp
from pydantic import SecretStr

from daemon.app.assembly import souls_of
from daemon.app.http_api import side_of
from daemon.channels.http.channel import HttpChannel
from daemon.core.concurrency import alongside
from daemon.core.ports.services import GateDecision
from daemon.core.sessions import Visibility
from daemon.core.telemetry.metrics import Metrics
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.shared.keys import KeyAdmin
from tests.fakes import TIMEOUT
from tests.hooks.client import Client, Ran
from tests.http.daemons import TOKEN, Got, bearer
from tests.journeys.house import House
from tests.journeys.problems import press

TEAM = "T0LOCAL"
NAMES = {"U0ADA": "Ada Lovelace", "U0BEN": "Ben", "U0DORA": "Dora"}
MAY = "May I put a question to your session"
WORDS = "which migration renames tenant_id?"


async def _standing(person: str) -> GateDecision:
    return GateDecision(admitted=person in NAMES, name=NAMES.get(person, ""))


@asynccontextmanager
async def door(house: House) -> AsyncIterator[str]:
    """The HTTP API of the newest daemon, until the block ends; gives its address."""
    settings = house.settings.model_copy(update={"http_port": 0, "http_token": SecretStr(TOKEN)})
    souls = souls_of(settings, house.events)
    http = HttpChannel(settings, house.clock, house.events, Metrics())
    http.connect(side_of(house.built, souls, TEAM, standing_of=_standing))
    ready = asyncio.Event()
    async with alongside(http.listen(house.built.store.inbox, ready)):
        async with asyncio.timeout(TIMEOUT):
            await ready.wait()
        try:
            yield http.url
        finally:
            await http.close()


class AskedSession:
    """A session of Ada's in the project `api`, whose hooks the real script reports."""

    def __init__(self, house: House, client: Client) -> None:
        self.house = house
        self.client = client

    @classmethod
    async def begun(
        cls, house: House, home: Path, url: str, *, person: str = "U0ADA", **fields: object
    ) -> "AskedSession":
        """A session of a person that has just started, with a new key."""
        session = cls(house, Client(home / "api", url, await new_key(house, person)))
        await session.client.report("SessionStart", source="startup", **fields)
        return session

    async def ends_turn(self, turn: str = "p1") -> Ran:
        """It ends a turn; gives what it is handed."""
        await self.client.report("UserPromptSubmit", prompt_id=turn)
        return await self.client.report("Stop", prompt_id=turn, stop_hook_active=False)

    async def goes_on(self, said: str, turn: str = "p1") -> Ran:
        """It has gone on for what it was handed, and said this."""
        return await self.client.report("Stop", prompt_id=turn, stop_hook_active=True, last_assistant_message=said)

    def moves(self, url: str) -> None:
        """The daemon is at another address from now on, and what its script keeps is for that one."""
        old, self.client.env["SOUL_URL"] = self.client.env["SOUL_URL"], url
        kept = self.client.home / ".local" / "state" / "soul"
        if (folder := kept / f"sessions-{crc32(old.encode()):08x}").exists():
            folder.rename(kept / f"sessions-{crc32(url.encode()):08x}")

    async def ask(self, method: str, path: str, key: str = "", **how: Any) -> Got:  # noqa: ANN401  # any option of aiohttp
        """A request with its key, or another one."""
        headers = bearer(key or self.client.env["SOUL_KEY"])
        url = f"{self.client.env['SOUL_URL']}{path}"
        async with aiohttp.ClientSession() as client, client.request(method, url, headers=headers, **how) as response:
            return Got(response.status, dict(response.headers), await response.read())


async def new_key(
    house: House, person: str = "U0ADA", visibility: Visibility = Visibility.PROJECT, *, remember: bool = False
) -> str:
    """A new key of a person."""
    admin = KeyAdmin(house.built.store.database, house.clock, "root")
    return (await admin.add(person, visibility, remember=remember))[1]


async def asks(house: House, person: str = "Ben", room: str = "general", words: str = WORDS, how: str = "ask") -> str:
    """A person asks Ada's session; gives what the soul says."""
    mention = "" if room == "dm" else "@soul "
    return await house.answered(person, room, f"{mention}{how} ada-api: {words}")


async def question(house: House, containing: str = MAY) -> str:
    """The ts of the question in Ada's direct messages."""
    post = await house.reply("D0ADA", containing)
    await house.idle()
    return str(post["ts"])


async def allowed(house: House) -> None:
    """Ada allows what she was asked last."""
    assert await press(house, "Ada", "D0ADA", await question(house)) == "accepted"
    await house.reply("general", "It is allowed")
    await house.idle()


async def forgotten(house: House, *people: str) -> None:
    """These people are forgotten, as by their own word."""
    for person in people:
        who, now = await house.person(person), house.clock.now_ms()
        gone = partial(erase, workspace=TEAM, person=who, spared=Spared(), now=now, said_ms=now)
        await house.built.store.database.write(gone)


async def states(house: House) -> list[str]:
    """The states of all questions, oldest first."""
    rows = await house.rows("SELECT state FROM shared_messages WHERE kind <> 'answer' ORDER BY created_ms, rowid")
    return [row["state"] for row in rows]
