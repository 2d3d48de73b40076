"""Routes: a decorator makes a method an address. Reading of the request and description come from its signature."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from aiohttp import web
from msgspec.structs import replace
from pydantic import BaseModel

from daemon.channels.http.request import ID, JSON, LARGEST, Auth, Refusal, Scope, body_of, read_raw
from daemon.core.sessions import KeyOwner
from daemon.core.value import Value

EVENT_STREAM: Final = "text/event-stream"


class Headers(dict[str, str]):
    """The headers of the response, which a handler fills."""


class Parameter(Value):
    """A value in the path, in the query or in a header, by the name of the handler's argument if `name` is empty.

    The values of the query are a tuple, unless `read` reads and checks the parameter. A pattern in the path other than
    ID is checked by the handler.
    """

    place: str
    meaning: str
    pattern: str = ID
    required: bool = False
    name: str = ""
    read: Callable[[web.Request], object] | None = None

    def value(self, request: web.Request) -> object:
        """Return the value. Raises the Refusal of `read`."""
        if self.read is not None:
            return self.read(request)
        if self.place == "path":
            return request.match_info[self.name]
        return tuple(request.query.getall(self.name, ()))


_LONGEST_WAIT: Final = 25


def wait_for(what: str) -> Parameter:
    """Return the parameter with the seconds to wait, a float."""
    meaning = f"Seconds to wait for {what}, up to {_LONGEST_WAIT}."
    return Parameter("query", meaning, "[0-9]|1[0-9]|2[0-5]", name="wait", read=_seconds)


def _seconds(request: web.Request) -> float:
    given = request.query.getall("wait", ["0"])
    if len(given) != 1 or not (given[0].isascii() and given[0].isdigit() and int(given[0][:9]) <= _LONGEST_WAIT):
        raise Refusal(422, "invalid", "That can't be waited for.", f"wait=0 to wait={_LONGEST_WAIT}, in seconds")
    return float(given[0])


@dataclass(frozen=True, slots=True)
class Answer:
    """A success: its meaning, content type, and the model of its JSON or of the events that it streams."""

    meaning: str
    content_type: str = JSON
    model: type[BaseModel] | None = None
    events: Mapping[str, type[BaseModel]] = field(default_factory=dict)


Handler = Callable[..., Awaitable[BaseModel | web.StreamResponse | None]]


class Route(Value):
    """A handler with its address. `errors` are added to those of every route.

    `wants` are the handler's arguments in order: a Parameter, a model for the body, or a type that `ServedRoute` knows.
    `takes` are the content types of a raw body, and `largest` is its limit.
    """

    method: str
    path: str
    run: Handler
    scope: Scope
    answers: Mapping[int, Answer]
    errors: Mapping[int, str]
    wants: tuple[Any, ...]
    body: type[BaseModel] | None
    takes: tuple[str, ...]
    largest: int

    @property
    def operation(self) -> str:
        return self.run.__name__

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(one for one in self.wants if isinstance(one, Parameter))

    @property
    def pattern(self) -> str:
        path = self.path
        for one in self.parameters:
            if one.pattern == ID:
                path = path.replace(f"{{{one.name}}}", f"{{{one.name}:{ID}}}")
        return path


def route(
    method: str,
    path: str,
    answers: Mapping[int, str],
    errors: Mapping[int, str] | None = None,
    *,
    scope: Scope = Scope.ADMIN,
    kind: str = JSON,
    events: Mapping[str, type[BaseModel]] | None = None,
    body: type[BaseModel] | None = None,
    takes: tuple[str, ...] = (JSON,),
    largest: int = LARGEST,
) -> Callable[[Handler], Route]:
    """Make a method of a page a route. The first line of its docstring is the summary, the rest the description.

    `answers` are the meanings of the statuses, in the order of the types that the method returns: a model is JSON, None
    has no content, a response of aiohttp is of this `kind` or streams `events`. `body` describes a raw body.
    """

    def made(run: Handler) -> Route:
        signature = inspect.signature(run)
        wants = tuple(_wanted(one) for one in list(signature.parameters.values())[1:])
        if KeyOwner in wants and scope not in {Scope.ADMIN, Scope.KEYED}:
            raise TypeError(f"{path} may be called without an owner")
        models = [one for one in wants if isinstance(one, type) and issubclass(one, BaseModel)]
        returned = get_args(signature.return_annotation) or (signature.return_annotation,)
        described = {
            status: _answer(meaning, one, kind, events or {})
            for (status, meaning), one in zip(answers.items(), returned, strict=True)
        }
        given = body or next(iter(models), None)
        kinds = takes if bytes in wants and given is None else ()
        return Route(method, path, run, scope, described, errors or {}, wants, given, kinds, largest)

    return made


def _wanted(argument: inspect.Parameter) -> object:
    for one in getattr(argument.annotation, "__metadata__", ()):
        if isinstance(one, Parameter):
            return one if one.name else replace(one, name=argument.name)
    return argument.annotation


def _answer(meaning: str, returned: Any, kind: str, events: Mapping[str, type[BaseModel]]) -> Answer:  # noqa: ANN401  # an annotation
    if returned in {None, type(None)}:
        return Answer(meaning, "")
    if issubclass(returned, BaseModel):
        return Answer(meaning, model=returned)
    return Answer(meaning, EVENT_STREAM if events else kind, events=events)


def routes_of(*pages: type) -> tuple[Route, ...]:
    return tuple(one for page in pages for one in vars(page).values() if isinstance(one, Route))


class ServedRoute:
    """A route of one page, as aiohttp calls it."""

    def __init__(self, route_: Route, page: object, auth: Auth) -> None:
        self._route = route_
        self._page = page
        self._auth = auth

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Check the token or key, read what the handler wants, in its order, and send what it returns."""
        owner, headers = await self._auth.owner(request, self._route.scope), Headers()
        given = [await self._given(one, request, owner, headers) for one in self._route.wants]
        made = await self._route.run(self._page, *given)
        if isinstance(made, web.StreamResponse):
            return made
        model = None if made is None else type(made)
        status = next(status for status, one in self._route.answers.items() if one.model is model)
        if made is None:
            return web.Response(status=status, headers=headers)
        return web.json_response(body=made.model_dump_json().encode(), status=status, headers=headers)

    async def _given(self, wanted: Any, request: web.Request, owner: KeyOwner | None, headers: Headers) -> object:  # noqa: ANN401  # see Route
        if isinstance(wanted, Parameter):
            return wanted.value(request)
        if wanted in {web.Request, KeyOwner, Headers}:
            return {web.Request: request, KeyOwner: owner, Headers: headers}[wanted]
        if wanted is bytes:
            return await read_raw(request, self._route.takes or (JSON,), self._route.largest)
        return body_of(await read_raw(request), wanted)
