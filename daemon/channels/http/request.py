"""The checks of HTTP requests (Host, no web pages, bearer token), their bodies, connections and error responses."""

import asyncio
import hmac
import json
import resource
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web_request import BaseRequest
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yarl import URL

from daemon.channels.http.schemas import ID, SOME_TEXT, ErrorAnswer, ErrorDetail
from daemon.core.config import Settings
from daemon.core.contexts import ContextRefused
from daemon.core.errors import DaemonError, StoreError
from daemon.core.files import kept_secret
from daemon.core.pairing import NoSuchCode, PairingOver, TooManyCodes
from daemon.core.ports.services import Emit
from daemon.core.sessions import THE_ADMIN, KeyOwner, NoSuchNote, NotBound, NoteSettled, NotTheirSession, SaidTooMuch
from daemon.core.text import storable

_BY_STATUS: Final = {
    400: ("malformed", "The request can't be read.", "send a complete HTTP request"),
    404: ("unknown", "There is nothing at this address.", "GET /openapi.json lists all addresses"),
    405: ("wrong_method", "This address takes another method.", "see the header Allow"),
    413: ("too_large", "The body is too large.", "a body holds at most 256 KiB"),
    417: ("unexpected", "The expectation in the header Expect can't be met.", "leave the header Expect out"),
}


_OF_CODES: Final = {
    NoSuchCode: (404, "unknown_code"),
    PairingOver: (410, "code_over"),
    TooManyCodes: (429, "too_many_codes"),
}


class Refusal(Exception):
    """A request that is answered with an error response."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint
        self.headers = dict(headers or {})


def as_response(refusal: Refusal) -> web.Response:
    """Return the refusal as a JSON response."""
    error = ErrorAnswer(error=ErrorDetail(code=refusal.code, message=refusal.message, hint=refusal.hint))
    return web.Response(
        status=refusal.status,
        body=error.model_dump_json().encode(),
        content_type="application/json",
        headers=refusal.headers,
    )


def of_http(error: web.HTTPException) -> Refusal:
    """Return the refusal for an error that aiohttp raised."""
    code, message, hint = _BY_STATUS.get(error.status, _BY_STATUS[400])
    headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
    return Refusal(error.status, code, message, hint, headers)


def of_daemon(error: DaemonError) -> Refusal:
    """Return the refusal for a failure inside the daemon. Other errors' texts are hidden, since they may name files."""
    if isinstance(error, ContextRefused):
        return Refusal(422, "invalid", f"{error.message}.", error.hint)
    if isinstance(error, NotTheirSession):
        return Refusal(404, "unknown_session", "There is no such session.", error.hint)
    if isinstance(error, NotBound | SaidTooMuch):
        status, code = (409, "not_bound") if isinstance(error, NotBound) else (429, "over_budget")
        return Refusal(status, code, f"{error.message[:1].upper()}{error.message[1:]}.", error.hint)
    if isinstance(error, NoSuchCode | PairingOver | TooManyCodes):
        status, code = _OF_CODES[type(error)]
        return Refusal(status, code, f"{error.message[:1].upper()}{error.message[1:]}.", error.hint)
    if isinstance(error, NoSuchNote | NoteSettled):
        status, code = (404, "unknown_note") if isinstance(error, NoSuchNote) else (409, "settled")
        return Refusal(status, code, f"{error.message[:1].upper()}{error.message[1:]}.", error.hint)
    what = "database" if isinstance(error, StoreError) else "soul"
    return Refusal(503, "unavailable", f"The {what} can't be reached now.", "try again", {"Retry-After": "2"})


def crashed() -> Refusal:
    return Refusal(500, "crashed", "Something unexpected failed in the daemon.", "the log says what; try again")


TOKEN_FILE: Final = "http.token"  # noqa: S105  # a file's name
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_NO_PAGE: Final = frozenset({"", "none", "same-origin"})


OwnerOf = Callable[[str], Awaitable[KeyOwner | None]]
"""A function that returns the owner of a key, or None for a text that is no valid key."""

OWNER: Final = web.RequestKey("owner", KeyOwner)
"""The owner of a request's token or key, for its handler."""


class Auth:
    """The middleware that checks every request.

    `hosts` are the names by which requests may name this machine, in addition to loopback. `free` are the paths, as in
    the route table, without a token. `keyed` paths also accept keys. The handlers of `signed` paths check the signature
    of the source that the query names. `owner_of` returns the owner of a key.
    """

    def __init__(
        self,
        token: str,
        hosts: Iterable[str],
        free: frozenset[str],
        keyed: frozenset[str],
        owner_of: OwnerOf,
        *,
        signed: frozenset[str] = frozenset(),
    ) -> None:
        self._token = token
        self._hosts = _LOOPBACK.union(hosts)
        self._free = free
        self._keyed = keyed
        self._signed = signed
        self._owner_of = owner_of

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check the request and pass it on. Raises Refusal."""
        self._require_host(request)
        _require_no_page(request)
        resource = request.match_info.route.resource
        path = resource.canonical if resource is not None else ""
        is_signed = path in self._signed and "source" in request.query
        if resource is not None and path not in self._free and not is_signed:
            request[OWNER] = await self._owner(request, takes_keys=path in self._keyed)
        return await handler(request)

    def _require_host(self, request: web.Request) -> None:
        """Refuse a foreign host name, which a hostile DNS server may point at this machine (DNS rebinding).

        The bare address that the request came to is always allowed: no foreign web page can be served from it.
        """
        try:
            name = URL(f"http://{request.host}").host or ""
        except ValueError:
            name = ""
        address = request.transport.get_extra_info("sockname") if request.transport else None
        if name not in self._hosts and name != (address or ("",))[0]:
            hint = (
                "set SOUL_HTTP_HOST to the name that clients use, or SOUL_HTTP_NAMES to the names that a proxy serves"
            )
            raise Refusal(421, "wrong_host", "The request names another host.", hint)

    async def _owner(self, request: web.Request, *, takes_keys: bool) -> KeyOwner:
        """Return the request's owner. Raises Refusal, and the errors of `owner_of`."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        # Compared in constant time, against timing attacks.
        same = hmac.compare_digest(self._token.encode(), given.strip().encode("utf-8", "surrogateescape"))
        owner = THE_ADMIN if same else await self._owner_of(given.strip()) if takes_keys else None
        if scheme.lower() != "bearer" or owner is None:
            hint = "send Authorization: Bearer with SOUL_HTTP_TOKEN, or with the content of the file http.token"
            if takes_keys:
                hint = "send Authorization: Bearer with a key of `soul sessions keys add`, or with the admin's token"
            raise no_entry(hint)
        return owner


def no_entry(hint: str) -> Refusal:
    """Return the refusal of an invalid token or key."""
    return Refusal(401, "unauthorized", "The token is missing or wrong.", hint, {"WWW-Authenticate": "Bearer"})


def _require_no_page(request: web.Request) -> None:
    """Refuse requests of web pages, which would act for the user who has them open. Programs send no Origin."""
    if "Origin" in request.headers or request.headers.get("Sec-Fetch-Site", "") not in _NO_PAGE:
        raise Refusal(403, "web_page", "Web pages have no access.", "call the API from a program")


def bearer_token(settings: Settings, emit: Emit) -> str:
    """Return the admin's token, from the settings or the home folder, where the first start stores a new one.

    Blocks on a small file. Two daemons that start at once agree. Raises ConfigError.
    """
    if settings.http_token is not None:
        return settings.http_token.get_secret_value()
    hint = "set SOUL_HTTP_TOKEN, or make the home folder writable for the daemon"
    return kept_secret(settings.home / TOKEN_FILE, emit, hint=hint)


_READABLE: Final = "send HTTP/1.1, with an address and headers of less than 8 KiB each in ASCII"
_IDLE: Final = 75.0  # seconds after which an idle connection is closed


_FIRST_REQUEST: Final = 8.0  # seconds within which a client has to send its first request
_MOST: Final = 128  # connections
_SHARE: Final = 4  # one in so many of the process's file descriptors is for connections


def connections(server: web.Server, emit: Emit) -> Callable[[], asyncio.Protocol]:
    """Return the factory of a server's connections. At the limit the oldest idle connection is closed."""
    opened: dict[_Connection, None] = {}  # in the order of their opening
    most = min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE)
    return lambda: _Connection(server, emit, opened, most)


def client_left(request: web.Request) -> asyncio.Event:
    """Return the event that is set once the connection of a request has ended."""
    connection = request.protocol
    assert isinstance(connection, _Connection)  # the server makes this kind only
    return connection.left


class _Connection(web.RequestHandler):
    """aiohttp's connection, with errors in our form even for unreadable requests, and without a server name."""

    __slots__ = ("_emit", "_first", "_most", "_opened", "left")

    def __init__(self, server: web.Server, emit: Emit, opened: "dict[_Connection, None]", most: int) -> None:
        # Compressed bodies are refused by their header. Unpacking them first would only allow errors and zip bombs.
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, access_log=None, keepalive_timeout=_IDLE, auto_decompress=False)  # type: ignore[arg-type]  # None switches it off
        self._emit, self._opened, self._most = emit, opened, most
        self._first: asyncio.TimerHandle | None = None
        self.left = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make room for the client, or close the connection if all others are in use."""
        super().connection_made(transport)
        if len(self._opened) >= self._most:
            idle = next((one for one in self._opened if one.is_idle), self)
            self._emit("http.crowded", most=self._most)
            idle.force_close()
            self._opened.pop(idle, None)
            if idle is self:
                return
        self._opened[self] = None
        self._first = asyncio.get_running_loop().call_later(_FIRST_REQUEST, self._close_silent)

    @property
    def is_idle(self) -> bool:
        return not self._request_in_progress

    def _close_silent(self) -> None:
        if not self._request_count:
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Record that the client has left."""
        self.left.set()
        self._opened.pop(self, None)
        if self._first is not None:
            self._first.cancel()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the response to a request that reached no handler, and close the connection."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun and can't be taken back")
        if status < 500:  # noqa: PLR2004  # the client's fault
            self._emit("http.malformed", status=status)
            refusal = Refusal(status, "malformed", "This is no readable HTTP request.", _READABLE)
        else:
            self._emit("http.crashed", error=exc)
            refusal = crashed()
        response = as_response(refusal)
        response.headers["Server"] = ""  # without this header aiohttp adds its own name
        response.force_close()
        return response


_MOST_FAULTS: Final = 5
_OF_PATTERNS: Final = {
    SOME_TEXT: "has to hold more than space, and no control characters",
    f"^{ID}$": "has to be 1 to 64 of A-Z, a-z, 0-9, hyphen and underscore",
}


def no_json() -> Refusal:
    """Return the refusal of a body that is no JSON, or JSON that no reader accepts."""
    hint = (
        "send one JSON object in UTF-8, of whole characters, not deeply nested, with numbers of less than 4,300 digits"
    )
    return Refusal(400, "malformed", "The body is not valid JSON.", hint)


def reasons(error: ValidationError, whole: str) -> str:
    """Return the first validation errors, by field. `whole` names the validated object."""
    errors = error.errors(include_url=False, include_input=False)[:_MOST_FAULTS]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or whole}: {_said(one)}" for one in errors)


def _said(fault: ErrorDetails) -> str:
    return _OF_PATTERNS.get(fault.get("ctx", {}).get("pattern", ""), fault["msg"])


LARGEST: Final = 256 * 1024  # bytes; 20,000 characters fit in any escaping
_JSON: Final = "application/json"
_SLOWEST: Final = 30.0  # seconds that a body may take to arrive

Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: web.Request, model: type[Body]) -> Body:
    """Return the body as `model`.

    Raises Refusal: 400 broken JSON, 408 too slow, 413 too large, 415 not JSON, 422 invalid.
    """
    return body_of(await read_raw(request), model)


def body_of(raw: bytes, model: type[Body]) -> Body:
    """Return the body as `model`. Raises Refusal: 400 broken JSON, 422 invalid."""
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise _refused(error) from error


def mended(raw: bytes) -> bytes:
    """Return JSON that strict readers accept: control characters escaped, U+FFFD for lone surrogates.

    It is for texts that a program repeats from elsewhere: one odd text loses no event. Invalid JSON stays unchanged.
    """
    try:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return raw
    return storable(json.dumps(value, ensure_ascii=False)).encode()


async def read_raw(request: web.Request, kinds: tuple[str, ...] = (_JSON,), most: int = LARGEST) -> bytes:
    """Return the raw body. Raises Refusal: 408 too slow, 413 too large, 415 another kind; HTTPException: 413."""
    if request.content_type not in kinds or "Content-Encoding" in request.headers:
        if kinds == (_JSON,):
            raise Refusal(415, "not_json", "The body must be plain JSON.", "send Content-Type: application/json")
        raise Refusal(415, "wrong_kind", f"The body must be {' or '.join(kinds)}.", "name its kind in Content-Type")
    try:
        async with asyncio.timeout(_SLOWEST):
            body = await request.read()
    except TimeoutError:
        raise Refusal(408, "too_slow", "The body did not arrive in time.", "try again") from None
    if len(body) > most:
        raise Refusal(413, "too_large", "The body is too large.", f"a body holds at most {most // 1024} KiB here")
    return body


def _refused(error: ValidationError) -> Refusal:
    if any(one["type"] == "json_invalid" for one in error.errors(include_url=False, include_input=False)):
        return no_json()
    return Refusal(422, "invalid", f"{reasons(error, 'body')}.", "GET /openapi.json says what each field may hold")


_LONGEST_WAIT: Final = 25


def seconds_of(request: web.Request) -> float:
    """Return the seconds to wait, from the query. Raises Refusal."""
    given = request.query.getall("wait", ["0"])
    if len(given) != 1 or not (given[0].isascii() and given[0].isdigit() and int(given[0][:9]) <= _LONGEST_WAIT):
        raise Refusal(422, "invalid", "That can't be waited for.", f"wait=0 to wait={_LONGEST_WAIT}, in seconds")
    return float(given[0])
