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
    """The key of one workspace, kept in a cookie by its page and sent as a bearer token by programs."""

    def __init__(self, key: str = "") -> None:
        self.key = key or secrets.token_urlsafe(16)

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse control requests and the page without the key, and any that another web page could have caused."""
        if request.path == "/":
            return await self._page(request, handler)
        if request.path.startswith("/_control/"):
            if not _is_from_here(request):
                hint = "open the workspace by its own address on this machine, such as http://127.0.0.1:8765/"
                return web.json_response({"ok": False, "error": "not_from_here", "hint": hint}, status=403)
            if not self._opened_by(request):
                return web.json_response({"ok": False, "error": "no_key", "hint": _NO_KEY}, status=403)
        return await handler(request)

    async def _page(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The page itself; an address with the key becomes a cookie and an address without it."""
        if self._is_key(request.query.get("key", "")):
            rest = request.rel_url.without_query_params("key")
            moved = web.HTTPSeeOther(rest)
            moved.set_cookie(_cookie(request), self.key, httponly=True, samesite="Strict", path="/")
            raise moved
        if not self._opened_by(request):
            return web.Response(status=403, text=f"This workspace is locked: {_NO_KEY}.\n")
        return await handler(request)

    def _opened_by(self, request: web.Request) -> bool:
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.cookies.get(_cookie(request))
        return self._is_key(sent or "")

    def _is_key(self, sent: str) -> bool:
        return hmac.compare_digest(sent.encode(), self.key.encode())


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """No page may frame or embed the workspace, and nothing names the software."""
    response.headers["Server"] = ""  # when it is missing, aiohttp adds its own name
    response.headers.update(_HEADERS)
    response.headers.setdefault("Content-Security-Policy", _POLICY)


def _cookie(request: web.Request) -> str:
    """Cookies know no ports, and there may be several workspaces on this machine."""
    return f"workspace_{request.url.port}"


def _is_from_here(request: web.Request) -> bool:
    try:
        host = urlsplit(f"//{request.host}").hostname
        origin = request.headers.get("Origin", "")
        own = host in _OWN_NAMES and (not origin or urlsplit(origin).netloc == request.host)
    except ValueError:
        return False
    return own and request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
