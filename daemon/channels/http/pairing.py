"""The routes by which a machine gets a key without an admin: a code to show, and the key once its person allowed it."""

import asyncio
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from daemon.channels.http.askers import asker_at
from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.errors import Refusal
from daemon.channels.http.request_body import read_body
from daemon.channels.http.request_query import seconds_of
from daemon.core.pairing import CODE
from daemon.core.sessions import Visibility

_MOST_WAITING: Final = 40  # machines that are answered once something happens


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class PairRequest(_Body):
    """A machine that asks for a key."""

    machine: Annotated[str, StringConstraints(min_length=1, max_length=80)] = Field(
        description="What the person is shown of it, for instance its name: up to 80 characters."
    )


class PairBegun(_Body):
    """What the person writes to the soul, and what fetches the key."""

    code: str = Field(description="The person writes `pair CODE` to the soul, in a direct message in Slack.")
    secret: str = Field(description="Fetches the key, as bearer token. It stays on the machine.")
    soul: str = Field(description="The name of the soul.")
    until_ms: int = Field(description="Until when the code can be typed and decided on.")


class PairWaits(_Body):
    """The person has not decided yet."""

    state: Literal["waits"] = "waits"


class PairKey(_Body):
    """The key, which is shown this once."""

    state: Literal["paired"] = "paired"
    key: str = Field(description="The key. memory.db holds its hash alone.")
    person: str = Field(description="Whose it is: a Slack id.")
    name: str = Field(description="The person's name.")
    visibility: Visibility = Field(description="What others see of its sessions.")
    remember: bool = Field(description="Whether what its sessions ask to be kept is kept.")
    direct: bool = Field(description="Whether its sessions know the person's direct messages with the soul.")


def _ends(request: web.Request) -> tuple[object, object]:
    return request.get_extra_info("peername"), request.get_extra_info("sockname")


class PairPages:
    """The handlers. All may raise Refusal, StoreError, and what `MachinesPairing` raises."""

    def __init__(self, side: DaemonSide) -> None:
        self._pairing = side.pairing
        self._waiting = 0

    async def begin(self, request: web.Request) -> web.Response:
        """Give a machine a code and its secret."""
        machine = (await read_body(request, PairRequest)).machine
        begun = await self._pairing.begin(machine, await asyncio.to_thread(asker_at, *_ends(request)))
        shown = PairBegun(code=begun.code, secret=begun.secret, soul=begun.soul, until_ms=begun.until_ms)
        return web.json_response(body=shown.model_dump_json().encode())

    async def fetch(self, request: web.Request) -> web.Response:
        """Give the machine its key, once, or say that nobody has decided yet."""
        code, seconds = request.match_info["code"], seconds_of(request)
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if not CODE.fullmatch(code) or scheme.lower() != "bearer" or not secret.strip():
            raise Refusal(404, "unknown_code", "There is no such code.", "begin again with POST /api/pair")
        if self._waiting >= _MOST_WAITING:
            raise Refusal(429, "too_many", "So many machines wait now.", "try again", {"Retry-After": "5"})
        self._waiting += 1
        try:
            found = await self._pairing.fetch(code, secret.strip(), seconds)
        finally:
            self._waiting -= 1
        if found is None:
            return web.json_response(body=PairWaits().model_dump_json().encode(), status=202)
        rights = found.rights
        shown = PairKey(
            key=found.key,
            person=found.person,
            name=found.name,
            visibility=rights.visibility,
            remember=rights.remember,
            direct=rights.direct,
        )
        return web.json_response(body=shown.model_dump_json().encode())
