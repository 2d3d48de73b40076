"""Every error of the HTTP API in one form: a status, and `{"error": {"code", "message", "hint"}}` as JSON."""

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from daemon.channels.http.schemas import ErrorAnswer, ErrorDetail
from daemon.core.contexts import ContextRefused
from daemon.core.errors import DaemonError, StoreError
from daemon.core.pairing import NoSuchCode, PairingOver, TooManyCodes
from daemon.core.sessions import NoSuchNote, NotBound, NoteSettled, NotTheirSession, SaidTooMuch

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
    """A request that gets an error response."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint
        self.headers = dict(headers or {})


def as_response(refusal: Refusal) -> web.Response:
    """The refusal as a JSON response."""
    error = ErrorAnswer(error=ErrorDetail(code=refusal.code, message=refusal.message, hint=refusal.hint))
    return web.Response(
        status=refusal.status,
        body=error.model_dump_json().encode(),
        content_type="application/json",
        headers=refusal.headers,
    )


def of_http(error: web.HTTPException) -> Refusal:
    """An error that aiohttp raised, in our form."""
    code, message, hint = _BY_STATUS.get(error.status, _BY_STATUS[400])
    headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
    return Refusal(error.status, code, message, hint, headers)


def of_daemon(error: DaemonError) -> Refusal:
    """A failure inside the daemon. Only a refusal's own text is shown: that of others may name files."""
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
    """An unexpected failure."""
    return Refusal(500, "crashed", "Something unexpected failed in the daemon.", "the log says what; try again")
