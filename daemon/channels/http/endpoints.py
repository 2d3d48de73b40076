"""The handlers behind the routes of the HTTP API, and the routes of programs that report."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel

from daemon.channels.http.chat import Chat, Tts
from daemon.channels.http.contexts import ContextPages
from daemon.channels.http.daemon_side import DaemonSide, SensePages
from daemon.channels.http.events import EventPages
from daemon.channels.http.mcp import McpPage
from daemon.channels.http.pairing import PairPages
from daemon.channels.http.request import Refusal, read_body
from daemon.channels.http.schemas import (
    ID,
    Alive,
    EventTaken,
    Queued,
    ReadingPerceived,
    SenseReading,
    SubprocessRequest,
)
from daemon.channels.http.sessions import SessionPages
from daemon.core.errors import StoreError
from daemon.core.sensing import NAME
from daemon.core.telemetry.metrics import CONTENT_TYPE, Metrics

_READY_WITHIN: Final = 2.0  # seconds; a readiness probe must not hang

Personality = Callable[[str], str | None]
"""A function that returns the soul's markdown by mode, '' for the soul itself, or None for an unknown mode."""


class DaemonPages:
    """The handlers of jobs, personality, health and metrics. `description` is the OpenAPI document.

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
        asked = await read_body(request, SubprocessRequest)
        queued = await self._side.enqueue(self._chat.conversation(asked.session))
        if queued is None:
            raise Refusal(404, "unknown_session", "No such conversation.", "POST a message to /api/soul/chat first")
        return web.json_response(body=Queued(queued=queued).model_dump_json().encode(), status=202)

    async def personality(self, request: web.Request) -> web.StreamResponse:
        """Return the markdown of the soul or of one of its modes."""
        modes = request.query.getall("mode", [])
        if any(not re.fullmatch(ID, mode) for mode in modes) or len(modes) > 1:
            raise Refusal(422, "invalid", "That can't be the name of a mode.", "one name of letters, digits, - and _")
        text = self._personality(modes[0] if modes else "")
        if text is None:
            raise Refusal(404, "unknown_mode", "The soul has no such mode.", "leave mode out for the soul itself")
        return web.Response(text=text, content_type="text/markdown", charset="utf-8")

    async def health(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response(body=Alive(status="alive").model_dump_json().encode())

    async def readiness(self, _request: web.Request) -> web.StreamResponse:
        """Answer 200 if the daemon can work now, else refuse with the reasons."""
        try:
            async with asyncio.timeout(_READY_WITHIN):
                reasons = await self._side.unready()
        except (StoreError, TimeoutError):
            reasons = ("the database does not answer",)
        if reasons:
            raise Refusal(503, "not_ready", "; ".join(reasons), "", {"Retry-After": "5"})
        return web.json_response(body=Alive(status="ready").model_dump_json().encode())

    async def metrics(self, _request: web.Request) -> web.StreamResponse:
        """Return the metrics in Prometheus' text format."""
        body = self._metrics.expose(await self._side.queues())
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def description(self, _request: web.Request) -> web.StreamResponse:
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


JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

_EVERYWHERE: Final = {
    400: "The request can't be read.",
    403: "The request comes from a web page.",
    421: "The request names another host.",
    500: "Something unexpected failed in the daemon.",
    503: "The daemon can't do it now; try again.",
}
_WITH_A_BODY: Final = {
    408: "The body did not arrive in time.",
    413: "The body is larger than 256 KiB.",
    415: "The body is not plain JSON.",
    422: "A field holds an invalid value.",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a route: its meaning, content type, and the model of its JSON or of the events that it streams."""

    meaning: str
    content_type: str = JSON
    model: type[BaseModel] | None = None
    events: Mapping[str, type[BaseModel]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value in the path, in the query or in a header. The handler checks values with a pattern of their own."""

    name: str
    place: str
    meaning: str
    pattern: str = ID
    required: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path, and its handler among the pages. `errors` are added to those of every route.

    `keyed` routes also accept the key of a person's sessions in place of the token. `signed` routes also accept the
    signature of the source that the query names. `takes` are the content types of a body without a model.
    """

    operation: str
    handler: Callable[[Pages], Callable[[web.Request], Awaitable[web.StreamResponse]]]
    method: str
    path: str
    summary: str
    description: str
    answers: Mapping[int, Answer]
    errors: Mapping[int, str] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    parameters: tuple[Parameter, ...] = ()
    free: bool = False
    keyed: bool = False
    signed: bool = False
    takes: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        path = self.path
        for parameter in self.parameters:
            if parameter.pattern == ID:
                path = path.replace(f"{{{parameter.name}}}", f"{{{parameter.name}:{ID}}}")
        return path

    @property
    def all_errors(self) -> Mapping[int, str]:
        errors = dict(_EVERYWHERE)
        if not self.free:
            errors[401] = "The token or key is missing or wrong." if self.keyed else "The token is missing or wrong."
        if self.body is not None:
            errors |= _WITH_A_BODY
        if self.takes:
            errors |= {**_WITH_A_BODY, 415: f"The body is neither {' nor '.join(self.takes)}."}
        return dict(sorted({**errors, **self.errors}.items()))


PROGRAM_ROUTES: Final = (
    Route(
        "report",
        lambda pages: pages.events.take,
        "POST",
        "/api/events",
        "Report an event to a soul",
        "For programs that `soul events add` lets report in one room: a build, a monitor, a forge. The event "
        "is stored before the response and perceived once; whether the soul says anything of it is up to the soul. "
        "A text is kept as it is, JSON as lines of `name: value` without ids, 4,000 characters at most. It is signed "
        "as standardwebhooks.com says, with the headers `webhook-id`, `webhook-timestamp` (at most five minutes off) "
        "and `webhook-signature`: `v1,` and the Base64 of the HMAC-SHA256 over `id.timestamp.body`; or as GitHub "
        "signs, with `X-Hub-Signature-256`. The same id again is not perceived again. How to set it up: "
        "docs/EXTENDING.md.",
        {202: Answer("It is stored, or it was before.", model=EventTaken)},
        {
            401: "The source or the signature is missing, wrong, or more than five minutes off.",
            409: "An event with another body has this id.",
            413: "The body is larger than 64 KiB.",
            429: "The source sent too many events in a minute.",
        },
        parameters=(Parameter("source", "query", "The name of the source.", NAME.pattern, required=True),),
        free=True,
        takes=(JSON, "text/plain"),
    ),
    Route(
        "sense",
        lambda pages: pages.senses.take,
        "POST",
        "/api/soul/sense",
        "Let the soul sense something",
        "For a build, a monitor, a sensor: something is so, and no answer is due. The reading waits in the "
        "conversations that the answer names, and the next thought there perceives it, as data. It wakes a thought of "
        "a soul that thinks by itself where it shares words with what the soul means to do there or looks out for "
        "(docs/MIND.md). `room` and `thread` name a conversation that people have had with the soul. Without `thread` "
        "a reading for a channel goes into those of its threads, three at most, in which the soul means to do "
        "something with which it shares words. It is stored before the response; the same id with the same words "
        "gives the same answer again. In place of the token it may be signed, as events are (POST /api/events), by a "
        "source that the query names; such a one tells of its own room alone.",
        {202: Answer("It is stored, or it was before.", model=ReadingPerceived)},
        {
            401: "The token is missing or wrong, or the signature is, or it is more than five minutes off.",
            404: "The soul has no such conversation, or nothing in the channel's threads that this is about.",
            409: "A reading with other words has this id.",
            413: "The body is larger than 64 KiB.",
            429: "60 readings came with this token or from this source in a minute.",
        },
        body=SenseReading,
        parameters=(Parameter("source", "query", "The name of the source that signs it.", NAME.pattern),),
        signed=True,
    ),
)
