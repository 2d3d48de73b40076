"""The endpoints that are answered at once: personality, background work, health, metrics and the description."""

import asyncio
import re
from collections.abc import Callable
from typing import Final

from aiohttp import web

import daemon
from daemon.channels.http.chat import Chat
from daemon.channels.http.daemon_side import Backing
from daemon.channels.http.errors import Refusal
from daemon.channels.http.openapi import description
from daemon.channels.http.request_body import read_body
from daemon.channels.http.schemas import ID, Alive, Queued, SubprocessRequest
from daemon.core.errors import StoreError
from daemon.core.telemetry.metrics import CONTENT_TYPE, Metrics

_READY_WITHIN: Final = 2.0  # seconds; who asks whether we can work should not have to wait for it

Personality = Callable[[str], str | None]
"""The soul's markdown: of a mode, or of the soul itself for the empty name; None where there is no such mode."""


class Desk:
    """Handlers on the house behind the door. Each may raise Refusal or a DaemonError."""

    def __init__(self, backing: Backing, chat: Chat, personality: Personality, metrics: Metrics) -> None:
        self._backing = backing
        self._chat = chat
        self._personality = personality
        self._metrics = metrics

    async def subprocess(self, request: web.Request) -> web.Response:
        """POST /api/soul/subprocess."""
        asked = await read_body(request, SubprocessRequest)
        queued = await self._backing.enqueue(self._chat.conversation(asked.session))
        if queued is None:
            raise Refusal(404, "unknown_session", "No such conversation.", "POST a message to /api/soul/chat first")
        return web.json_response(body=Queued(queued=queued).model_dump_json().encode(), status=202)

    async def personality(self, request: web.Request) -> web.Response:
        """GET /api/soul/personality."""
        modes = request.query.getall("mode", [])
        if any(not re.fullmatch(ID, mode) for mode in modes) or len(modes) > 1:
            raise Refusal(422, "invalid", "That is no name of a mode.", "one name of letters, digits, - and _")
        text = self._personality(modes[0] if modes else "")
        if text is None:
            raise Refusal(404, "unknown_mode", "The soul has no such mode.", "leave mode out for the soul itself")
        return web.Response(text=text, content_type="text/markdown", charset="utf-8")

    async def health(self, _request: web.Request) -> web.Response:
        """GET /healthz: that it is answered says it all."""
        return web.json_response(body=Alive(status="alive").model_dump_json().encode())

    async def readiness(self, _request: web.Request) -> web.Response:
        """GET /readyz."""
        try:
            async with asyncio.timeout(_READY_WITHIN):
                reasons = await self._backing.unready()
        except (StoreError, TimeoutError):
            reasons = ("the memory does not answer",)
        if reasons:
            raise Refusal(503, "not_ready", "; ".join(reasons), "", {"Retry-After": "5"})
        return web.json_response(body=Alive(status="ready").model_dump_json().encode())

    async def metrics(self, _request: web.Request) -> web.Response:
        """GET /metrics."""
        body = self._metrics.expose(await self._backing.queues())
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def describe(self, _request: web.Request) -> web.Response:
        """GET /openapi.json."""
        return web.json_response(description(daemon.__version__))
