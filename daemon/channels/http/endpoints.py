"""The pages that handle the routes of the HTTP API, and the page of jobs, personality, health and metrics."""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from daemon.channels.http.chat import Chat
from daemon.channels.http.contexts import ContextPages
from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.errors import Refusal
from daemon.channels.http.events import EventPages
from daemon.channels.http.mcp_page import McpPage
from daemon.channels.http.pairing import PairPages
from daemon.channels.http.request_body import read_body
from daemon.channels.http.schemas import ID, Alive, Queued, SubprocessRequest
from daemon.channels.http.senses import SensePages
from daemon.channels.http.sessions import SessionPages
from daemon.channels.http.tts import Tts
from daemon.core.errors import StoreError
from daemon.core.telemetry.metrics import CONTENT_TYPE, Metrics

_READY_WITHIN: Final = 2.0  # seconds; a readiness probe must not hang

Personality = Callable[[str], str | None]
"""The soul's markdown by mode, '' for the soul itself; None for a mode that it does not have."""


class DaemonPages:
    """The handlers of what the daemon itself can tell; `description` is the OpenAPI document.

    All may raise Refusal and StoreError.
    """

    def __init__(
        self,
        side: DaemonSide,
        chat: Chat,
        *,
        personality: Personality,
        metrics: Metrics,
        description: Mapping[str, Any],
    ) -> None:
        self._side = side
        self._chat = chat
        self._personality = personality
        self._metrics = metrics
        self._description = description

    async def subprocess(self, request: web.Request) -> web.StreamResponse:
        """Queue the background jobs of a conversation."""
        asked = await read_body(request, SubprocessRequest)
        queued = await self._side.enqueue(self._chat.conversation(asked.session))
        if queued is None:
            raise Refusal(404, "unknown_session", "No such conversation.", "POST a message to /api/soul/chat first")
        return web.json_response(body=Queued(queued=queued).model_dump_json().encode(), status=202)

    async def personality(self, request: web.Request) -> web.StreamResponse:
        """Give the markdown of the soul or of one of its modes."""
        modes = request.query.getall("mode", [])
        if any(not re.fullmatch(ID, mode) for mode in modes) or len(modes) > 1:
            raise Refusal(422, "invalid", "That can't be the name of a mode.", "one name of letters, digits, - and _")
        text = self._personality(modes[0] if modes else "")
        if text is None:
            raise Refusal(404, "unknown_mode", "The soul has no such mode.", "leave mode out for the soul itself")
        return web.Response(text=text, content_type="text/markdown", charset="utf-8")

    async def health(self, _request: web.Request) -> web.StreamResponse:
        """Answer at all: the event loop runs."""
        return web.json_response(body=Alive(status="alive").model_dump_json().encode())

    async def readiness(self, _request: web.Request) -> web.StreamResponse:
        """Say whether the daemon can work now."""
        try:
            async with asyncio.timeout(_READY_WITHIN):
                reasons = await self._side.unready()
        except (StoreError, TimeoutError):
            reasons = ("the database does not answer",)
        if reasons:
            raise Refusal(503, "not_ready", "; ".join(reasons), "", {"Retry-After": "5"})
        return web.json_response(body=Alive(status="ready").model_dump_json().encode())

    async def metrics(self, _request: web.Request) -> web.StreamResponse:
        """Give the metrics in Prometheus' text format."""
        body = self._metrics.expose(await self._side.queues())
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def description(self, _request: web.Request) -> web.StreamResponse:
        """Give the OpenAPI document."""
        return web.json_response(self._description)


@dataclass(frozen=True, slots=True)
class Pages:
    """All handlers. Each may raise Refusal, ContextRefused and StoreError."""

    daemon: DaemonPages
    chat: Chat
    tts: Tts
    sessions: SessionPages
    contexts: ContextPages
    pairing: PairPages
    mcp: McpPage
    events: EventPages
    senses: SensePages
