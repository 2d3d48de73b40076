"""What one route of the HTTP API is: its handler, and what the server and the description make of it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from pydantic import BaseModel

from daemon.channels.http.endpoints import Pages
from daemon.channels.http.schemas import ID

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
    """What it means, its content type, and its model if it is JSON of ours, or those of the events that it streams."""

    meaning: str
    content_type: str = JSON
    model: type[BaseModel] | None = None
    events: Mapping[str, type[BaseModel]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value in the path, in the query or in a header; the handler checks what has a pattern of its own."""

    name: str
    place: str
    meaning: str
    pattern: str = ID
    required: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path, and which of the pages handles it. `errors` are
    its own, besides those of every route.

    `keyed` ones take the key of a person's sessions in place of the token, too, `signed` ones the signature of the
    source that the query names. `takes` are the kinds of a body that has no model.
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
        """The path as aiohttp's router takes it."""
        path = self.path
        for parameter in self.parameters:
            if parameter.pattern == ID:
                path = path.replace(f"{{{parameter.name}}}", f"{{{parameter.name}:{ID}}}")
        return path

    @property
    def all_errors(self) -> Mapping[int, str]:
        """Every error it may answer with, by status."""
        errors = dict(_EVERYWHERE)
        if not self.free:
            errors[401] = "The token or key is missing or wrong." if self.keyed else "The token is missing or wrong."
        if self.body is not None:
            errors |= _WITH_A_BODY
        if self.takes:
            errors |= {**_WITH_A_BODY, 415: f"The body is neither {' nor '.join(self.takes)}."}
        return dict(sorted({**errors, **self.errors}.items()))
