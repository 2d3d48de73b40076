"""The one table of routes; the server, the OpenAPI description and `docs/HTTP.md` are made from it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from pydantic import BaseModel

from daemon.channels.http.endpoints import Endpoints
from daemon.channels.http.schemas import (
    ID,
    Alive,
    ChatAnswer,
    ChatPending,
    ChatRequest,
    Queued,
    SpeechRequest,
    SubprocessRequest,
)

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """One kind of success: what it means, its content type, and its model if it is JSON of ours."""

    meaning: str
    content_type: str = JSON
    model: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """An id in the path or in the query."""

    name: str
    place: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path, and its handler. `errors` are its own, beside those that every route has."""

    handler: Callable[[Endpoints, web.Request], Awaitable[web.StreamResponse]]
    method: str
    path: str
    summary: str
    description: str
    answers: Mapping[int, Answer]
    errors: Mapping[int, str] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    parameters: tuple[Parameter, ...] = ()
    free: bool = False

    @property
    def operation(self) -> str:
        """The operation id: the handler's name."""
        return self.handler.__name__

    @property
    def pattern(self) -> str:
        """The path as aiohttp's router takes it."""
        path = self.path
        for parameter in self.parameters:
            path = path.replace(f"{{{parameter.name}}}", f"{{{parameter.name}:{ID}}}")
        return path

    @property
    def all_errors(self) -> Mapping[int, str]:
        """Every error it may answer with, by status."""
        errors = dict(_EVERYWHERE)
        if not self.free:
            errors[401] = "The token is missing or wrong."
        if self.body is not None:
            errors |= _WITH_A_BODY
        return dict(sorted({**errors, **self.errors}.items()))


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

ROUTES: Final = (
    Route(
        Endpoints.chat,
        "POST",
        "/api/soul/chat",
        "Send a message and stream the reply",
        "The reply comes as server-sent events: `soul:stream:start`, then any number of `soul:stream:chunk` and "
        "`soul:stream:task`, and at the end `soul:stream:done` or `soul:stream:error`. Chunks are a draft; the text of "
        "`done` is the reply. A second `start` means that the draft begins again. The message is stored before the "
        "stream begins, so a client that disconnects loses nothing: the same message_id in the same session brings the "
        "same reply again, also after a restart of the daemon. Lines that begin with a colon are keep-alives.",
        {200: Answer("The reply as it is made.", "text/event-stream")},
        {409: "A message with a different text has this message_id."},
        body=ChatRequest,
    ),
    Route(
        Endpoints.answer,
        "GET",
        "/api/soul/chat/{session}/{message_id}",
        "Fetch the reply to a message",
        "For clients that don't read a stream.",
        {
            200: Answer("The reply.", model=ChatAnswer),
            202: Answer("The reply is being made; ask again.", model=ChatPending),
        },
        {404: "No such message has arrived.", 410: "There is no reply; the hint says what to do."},
        parameters=(
            Parameter("session", "path", "The conversation."),
            Parameter("message_id", "path", "The message in it."),
        ),
    ),
    Route(
        Endpoints.subprocess,
        "POST",
        "/api/soul/subprocess",
        "Queue the background jobs of a conversation",
        "The jobs that the soul runs after a reply, such as modelling the user.",
        {202: Answer("The jobs are queued.", model=Queued)},
        {404: "No such conversation."},
        body=SubprocessRequest,
    ),
    Route(
        Endpoints.personality,
        "GET",
        "/api/soul/personality",
        "Read the soul's personality",
        "The soul's own markdown, or that of one of its modes.",
        {200: Answer("The personality.", "text/markdown")},
        {404: "The soul has no such mode.", 422: "That can't be the name of a mode."},
        parameters=(Parameter("mode", "query", "One of the soul's modes, for instance `academic`."),),
    ),
    Route(
        Endpoints.tts,
        "POST",
        "/api/soul/tts",
        "Read a text aloud",
        "Through the speech endpoint in the settings, else with espeak-ng. The endpoint's audio streams.",
        {200: Answer("The audio; WAV from espeak-ng.", "audio/*")},
        {501: "No speech is set up; the hint says what to set or install.", 502: "The speech failed."},
        body=SpeechRequest,
    ),
    Route(
        Endpoints.health,
        "GET",
        "/healthz",
        "Check that the daemon is alive",
        "The process runs and answers.",
        {200: Answer("It is alive.", model=Alive)},
        free=True,
    ),
    Route(
        Endpoints.readiness,
        "GET",
        "/readyz",
        "Check that the daemon can work",
        "Ready means that it is connected and its database answers. Otherwise the message says why, without names.",
        {200: Answer("It can work.", model=Alive)},
        {503: "It can't; the message says why."},
        free=True,
    ),
    Route(
        Endpoints.metrics,
        "GET",
        "/metrics",
        "Read the metrics",
        "Counters and gauges for Prometheus.",
        {200: Answer("The metrics.", "text/plain")},
    ),
    Route(
        Endpoints.description,
        "GET",
        "/openapi.json",
        "Read this description",
        "OpenAPI 3.1.",
        {200: Answer("The description.")},
        free=True,
    ),
)
