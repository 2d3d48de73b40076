"""Keeps the workspace to its user: other accounts of the machine lack its key, other web pages its origin."""

import hmac
import secrets
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

_OWN_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_POLICY: Final = "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
_NO_KEY: Final = "open the address that was printed when the workspace started: it holds the workspace's key"


class Lock:
    """The key of one workspace, which its page and programs send as a bearer token.

    It is no cookie: cookies know no ports, so that another program on this machine would get it.
    """

    def __init__(self, key: str = "") -> None:
        self.key = key or secrets.token_urlsafe(16)

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse control requests without the key, and any that another web page could have caused."""
        if request.path.startswith("/_control/"):
            if not _is_from_here(request):
                hint = "open the workspace by its own address on this machine, such as http://127.0.0.1:8765/"
                return web.json_response({"ok": False, "error": "not_from_here", "hint": hint}, status=403)
            if not self._opened_by(request):
                return web.json_response({"ok": False, "error": "no_key", "hint": _NO_KEY}, status=403)
        return await handler(request)

    def _opened_by(self, request: web.Request) -> bool:
        return self._is_key(request.headers.get("Authorization", "").removeprefix("Bearer "))

    def _is_key(self, sent: str) -> bool:
        return hmac.compare_digest(sent.encode(), self.key.encode())


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """No page may frame or embed the workspace, and nothing names the software."""
    response.headers["Server"] = ""  # when it is missing, aiohttp adds its own name
    response.headers.update(_HEADERS)
    response.headers.setdefault("Content-Security-Policy", _POLICY)


def _is_from_here(request: web.Request) -> bool:
    try:
        host = urlsplit(f"//{request.host}").hostname
        origin = request.headers.get("Origin", "")
        own = host in _OWN_NAMES and (not origin or urlsplit(origin).netloc == request.host)
    except ValueError:
        return False
    return own and request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
