"""The checks of HTTP requests (Host, no web pages, bearer token), their bodies and error responses."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Final, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails
from yarl import URL

from daemon.core.config import Settings
from daemon.core.contexts import ContextRefused
from daemon.core.errors import DaemonError, StoreError
from daemon.core.files import kept_secret
from daemon.core.pairing import NoSuchCode, PairingOver, TooManyCodes
from daemon.core.ports.arrivals import MemberTaken
from daemon.core.ports.services import Emit
from daemon.core.sensing import NowhereToPerceive, OtherEvent, OtherReading, SourceEnded, TooManyEvents, TooManyReadings
from daemon.core.sessions import (
    THE_ADMIN,
    KeyEnded,
    KeyOwner,
    NoSuchNote,
    NotBound,
    NoteSettled,
    NotTheirSession,
    SaidTooMuch,
    TooManySessions,
)
from daemon.core.text import storable

ID: Final = "[A-Za-z0-9_-]{1,64}"
CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
SOME_TEXT: Final = rf"^[^{CONTROLS}]*[^\s{CONTROLS}][^{CONTROLS}]*$"

Id = Annotated[str, StringConstraints(pattern=f"^{ID}$")]


class RequestModel(BaseModel):  # built at its first use: neither the start nor a message in Slack needs it
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class ResponseModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, defer_build=True)


class ErrorDetail(ResponseModel):
    """The error and its remedy."""

    code: str = Field(description="For programs; stays the same.")
    message: str = Field(description="What happened.")
    hint: str = Field(description="What to do; may be empty.")


class ErrorAnswer(ResponseModel):
    """Every error has this form."""

    error: ErrorDetail


_BY_STATUS: Final = {
    400: ("malformed", "The request can't be read.", "send a complete HTTP request"),
    404: ("unknown", "There is nothing at this address.", "GET /openapi.json lists all addresses"),
    405: ("wrong_method", "This address takes another method.", "see the header Allow"),
    413: ("too_large", "The body is too large.", "a body holds at most 256 KiB"),
    417: ("unexpected", "The expectation in the header Expect can't be met.", "leave the header Expect out"),
}


_IN_A_MINUTE: Final = {"Retry-After": "60"}
_OF_ERRORS: Final[dict[type[DaemonError], tuple[int, str, dict[str, str]]]] = {
    ContextRefused: (422, "invalid", {}),
    MemberTaken: (409, "taken", {}),
    NotTheirSession: (404, "unknown_session", {}),
    TooManySessions: (409, "too_many_sessions", {}),
    NotBound: (409, "not_bound", {}),
    SaidTooMuch: (429, "over_budget", {}),
    NoSuchNote: (404, "unknown_note", {}),
    NoteSettled: (409, "settled", {}),
    NoSuchCode: (404, "unknown_code", {}),
    PairingOver: (410, "code_over", {}),
    TooManyCodes: (429, "too_many_codes", {}),
    TooManyEvents: (429, "too_many_events", _IN_A_MINUTE),
    OtherEvent: (409, "other_words", {}),
    TooManyReadings: (429, "too_many_readings", _IN_A_MINUTE),
    OtherReading: (409, "other_words", {}),
    NowhereToPerceive: (404, "unknown_room", {}),
}
"""The errors that are the client's fault: their status, code and headers."""


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
    if isinstance(error, KeyEnded):
        return no_entry(error.hint)
    if isinstance(error, SourceEnded):
        return unsigned()
    for kind in type(error).__mro__:
        if kind in _OF_ERRORS:
            status, code, headers = _OF_ERRORS[kind]
            begins_with_a_name = isinstance(error, ContextRefused | TooManyEvents)
            message = error.message if begins_with_a_name else f"{error.message[:1].upper()}{error.message[1:]}"
            return Refusal(status, code, f"{message}.", error.hint, headers)
    what = "database" if isinstance(error, StoreError) else "soul"
    return Refusal(503, "unavailable", f"The {what} can't be reached now.", "try again", {"Retry-After": "2"})


def crashed() -> Refusal:
    return Refusal(500, "crashed", "Something unexpected failed in the daemon.", "the log says what; try again")


TOKEN_FILE: Final = "http.token"  # noqa: S105  # a file's name
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_NO_PAGE: Final = frozenset({"", "none", "same-origin"})


OwnerOf = Callable[[str], Awaitable[KeyOwner | None]]
"""A function that returns the owner of a key, or None for a text that is no valid key."""


class Scope(StrEnum):
    """The keys that open routes, in the words of docs/HTTP.md. A handler checks signatures and sources itself."""

    FREE = "-"
    ADMIN = "token"
    KEYED = "token or key"
    SIGNED = "signature"
    ADMIN_OR_SIGNED = "token or signature"


class Auth:
    """The checks of every request.

    `hosts` are the names by which requests may name this machine, in addition to loopback. `owner_of` returns the owner
    of a key.
    """

    def __init__(self, token: str, hosts: Iterable[str], owner_of: OwnerOf) -> None:
        self._token = token
        self._hosts = _LOOPBACK.union(hosts)
        self._owner_of = owner_of

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Pass on the request of a program that names this machine. Raises Refusal."""
        self._require_host(request)
        _require_no_page(request)
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

    async def owner(self, request: web.Request, scope: Scope) -> KeyOwner | None:
        """Return the owner of the token or key, or None where none is needed.

        Raises Refusal, and the errors of `owner_of`.
        """
        is_signed = scope is Scope.ADMIN_OR_SIGNED and "source" in request.query
        if is_signed or scope in {Scope.FREE, Scope.SIGNED}:
            return None
        takes_keys = scope is Scope.KEYED
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


def unsigned() -> Refusal:
    """Return the one refusal for an unknown source, a wrong signature and an old one, which must look alike."""
    hint = "sign with the secret of `soul events add`, name the source in ?source=…, and look at both clocks"
    return Refusal(
        401, "unsigned", "The source or the signature is missing, wrong, or more than five minutes off.", hint
    )


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
JSON: Final = "application/json"
_SLOWEST: Final = 30.0  # seconds that a body may take to arrive

Body = TypeVar("Body", bound=BaseModel)


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


async def read_raw(request: web.Request, kinds: tuple[str, ...] = (JSON,), most: int = LARGEST) -> bytes:
    """Return the raw body. Raises Refusal: 408 too slow, 413 too large, 415 another kind; HTTPException: 413."""
    if request.content_type not in kinds or "Content-Encoding" in request.headers:
        if kinds == (JSON,):
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
