"""Every fault of the HTTP door in one form: a status, and `{"error": {"code", "message", "hint"}}` as JSON."""

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from daemon.channels.http.schemas import ErrorAnswer, ErrorDetail
from daemon.core.errors import DaemonError, StoreError

_PLAIN: Final = {
    400: ("malformed", "The request can't be read.", ""),
    404: ("unknown", "There is nothing here.", "GET /openapi.json tells what there is"),
    405: ("wrong_method", "This address takes another method.", "see the header Allow"),
    413: ("too_large", "The body is too large.", "a body holds at most 256 KiB"),
    417: ("unexpected", "That expectation can't be met.", "leave the header Expect out"),
}


class Refusal(Exception):
    """A request that is not granted; becomes the answer."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint
        self.headers = dict(headers or {})


def as_answer(fault: Refusal) -> web.Response:
    """A refusal as the response that tells it."""
    told = ErrorAnswer(error=ErrorDetail(code=fault.code, message=fault.message, hint=fault.hint))
    return web.Response(
        status=fault.status,
        body=told.model_dump_json().encode(),
        content_type="application/json",
        headers=fault.headers,
    )


def of_http(fault: web.HTTPException) -> Refusal:
    """What aiohttp found wrong with a request, in our form."""
    code, message, hint = _PLAIN.get(fault.status, _PLAIN[400])
    headers = {"Allow": fault.headers["Allow"]} if "Allow" in fault.headers else {}
    return Refusal(fault.status, code, message, hint, headers)


def of_daemon(error: DaemonError) -> Refusal:
    """What the house could not do just now. Its own words stay in the log: they may name files."""
    where = "memory" if isinstance(error, StoreError) else "soul"
    return Refusal(503, "unavailable", f"The {where} can't be reached just now.", "try again", {"Retry-After": "2"})


def crashed() -> Refusal:
    """Something broke that we did not expect."""
    return Refusal(500, "crashed", "Something broke inside.", "the log tells what; try again")
