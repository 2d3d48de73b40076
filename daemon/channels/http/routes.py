"""The one table of what the HTTP door serves; the server, the description and the document are made from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pydantic import BaseModel

from daemon.channels.http.schemas import (
    ID,
    Alive,
    ChatAnswer,
    ChatPending,
    ChatRequest,
    ErrorAnswer,
    Queued,
    SpeechRequest,
    SubprocessRequest,
)

JSON: Final = "application/json"


class Operation(StrEnum):
    """What can be asked of the door."""

    CHAT = "chat"
    ANSWER = "answer"
    SUBPROCESS = "subprocess"
    PERSONALITY = "personality"
    TTS = "tts"
    HEALTH = "health"
    READINESS = "readiness"
    METRICS = "metrics"
    DESCRIPTION = "description"


@dataclass(frozen=True, slots=True)
class Answer:
    """One kind of success: what it means, its content type, and its model where it is JSON of ours."""

    meaning: str
    kind: str = JSON
    shape: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A part of the path or of the query; all are ids."""

    name: str
    place: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path. `faults` tells the refusals of its own beside those that every route has."""

    operation: Operation
    method: str
    path: str
    summary: str
    description: str
    answers: Mapping[int, Answer]
    faults: Mapping[int, str] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    parameters: tuple[Parameter, ...] = ()
    free: bool = False

    @property
    def pattern(self) -> str:
        """The path as aiohttp's router takes it."""
        path = self.path
        for parameter in self.parameters:
            path = path.replace(f"{{{parameter.name}}}", f"{{{parameter.name}:{ID}}}")
        return path

    @property
    def all_faults(self) -> Mapping[int, str]:
        """Every refusal it may answer with, by status."""
        faults = dict(_EVERYWHERE)
        if not self.free:
            faults[401] = "The token is missing or wrong."
        if self.body is not None:
            faults |= _WITH_A_BODY
        return dict(sorted({**faults, **self.faults}.items()))


_EVERYWHERE: Final = {
    400: "The request can't be read.",
    403: "It came from a web page.",
    421: "It was meant for another host.",
    500: "Something broke inside.",
    503: "The daemon can't do it just now; try again.",
}
_WITH_A_BODY: Final = {
    408: "The body did not arrive in time.",
    413: "The body is larger than 256 KiB.",
    415: "The body is not plain JSON.",
    422: "A field does not hold what it may.",
}

ROUTES: Final = (
    Route(
        Operation.CHAT,
        "POST",
        "/api/soul/chat",
        "Say something and hear the answer",
        "The answer comes as server-sent events: `soul:stream:start`, then any number of `soul:stream:chunk` and "
        "`soul:stream:task`, and in the end `soul:stream:done` or `soul:stream:error`. Chunks are a draft; the text of "
        "`done` is what counts. A second `start` says that the draft begins anew. The message is stored before the "
        "stream begins: who leaves early loses nothing, and the same message_id in the same session brings the same "
        "answer again, also after a restart of the daemon. Lines that begin with a colon are signs of life.",
        {200: Answer("The answer as it is made.", "text/event-stream")},
        {409: "A message with other words has this message_id."},
        body=ChatRequest,
    ),
    Route(
        Operation.ANSWER,
        "GET",
        "/api/soul/chat/{session}/{message_id}",
        "Fetch the answer to a message",
        "For whoever does not wait for a stream.",
        {
            200: Answer("The answer.", shape=ChatAnswer),
            202: Answer("It is being made; ask again.", shape=ChatPending),
        },
        {404: "No such message came.", 410: "It ended without an answer; the hint says what to do."},
        parameters=(
            Parameter("session", "path", "The conversation."),
            Parameter("message_id", "path", "The message in it."),
        ),
    ),
    Route(
        Operation.SUBPROCESS,
        "POST",
        "/api/soul/subprocess",
        "Have a conversation thought over",
        "Runs what the soul does in the background after a reply, for one conversation: modelling who it talks with, "
        "for instance.",
        {202: Answer("It will be done.", shape=Queued)},
        {404: "No such conversation."},
        body=SubprocessRequest,
    ),
    Route(
        Operation.PERSONALITY,
        "GET",
        "/api/soul/personality",
        "Read who the soul is",
        "The soul's own markdown, or that of one of its modes.",
        {200: Answer("The personality.", "text/markdown")},
        {404: "The soul has no such mode.", 422: "That is no name of a mode."},
        parameters=(Parameter("mode", "query", "One of the soul's modes, `academic` for instance."),),
    ),
    Route(
        Operation.TTS,
        "POST",
        "/api/soul/tts",
        "Have words read aloud",
        "By the speech endpoint of the settings, else by espeak-ng. The audio comes as it is made.",
        {200: Answer("The audio; espeak-ng makes WAV.", "audio/*")},
        {501: "Nothing here can speak; the hint says what to set or install.", 502: "The speech failed."},
        body=SpeechRequest,
    ),
    Route(
        Operation.HEALTH,
        "GET",
        "/healthz",
        "Learn whether it is alive",
        "The process runs and its loop breathes.",
        {200: Answer("It is alive.", shape=Alive)},
        free=True,
    ),
    Route(
        Operation.READINESS,
        "GET",
        "/readyz",
        "Learn whether it can work",
        "It is connected and its memory answers. The reasons why not tell of nobody.",
        {200: Answer("It can work.", shape=Alive)},
        {503: "It can't; the message says why."},
        free=True,
    ),
    Route(
        Operation.METRICS,
        "GET",
        "/metrics",
        "Learn how much happens",
        "Counters and gauges for Prometheus.",
        {200: Answer("The metrics.", "text/plain")},
    ),
    Route(
        Operation.DESCRIPTION,
        "GET",
        "/openapi.json",
        "Read this description",
        "OpenAPI 3.1.",
        {200: Answer("The description.")},
        free=True,
    ),
)

FAULT: Final = ErrorAnswer
