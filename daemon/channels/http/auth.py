"""Who may pass the HTTP door at all: the right Host, no web page, and the bearer token where it is asked for."""

from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

from daemon.channels.http.errors import Refusal
from daemon.channels.http.token import same

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_FROM_HERE: Final = frozenset({"", "none", "same-origin"})


class Guard:
    """Middleware that refuses strangers. `free` are the paths, as the route table writes them, that need no token."""

    def __init__(self, token: str, host: str, free: frozenset[str]) -> None:
        self._token = token
        self._hosts = _LOOPBACK | {host}
        self._free = free

    @web.middleware
    async def watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The middleware. Raises Refusal."""
        self._require_host(request)
        _require_no_page(request)
        resource = request.match_info.route.resource
        if resource is not None and resource.canonical not in self._free:
            self._require_token(request)
        return await handler(request)

    def _require_host(self, request: web.Request) -> None:
        """A name that somebody else's DNS made to point here is not ours (DNS rebinding).

        The bare address that a request came to always is: no page of a stranger's can be served from there.
        """
        try:
            name = URL(f"http://{request.host}").host or ""
        except ValueError:
            name = ""
        came_to = request.transport.get_extra_info("sockname") if request.transport else None
        if name not in self._hosts and name != (came_to or ("",))[0]:
            raise Refusal(
                421, "wrong_host", "This is not the host that was asked for.", "set SOUL_HTTP_HOST to its name"
            )

    def _require_token(self, request: web.Request) -> None:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not same(self._token, given.strip()):
            hint = "send Authorization: Bearer with SOUL_HTTP_TOKEN, or with what the file http.token holds"
            raise Refusal(401, "unauthorized", "The token is missing or wrong.", hint, {"WWW-Authenticate": "Bearer"})


def _require_no_page(request: web.Request) -> None:
    """Programs send no Origin; a web page that wants to speak for whoever looks at it does."""
    if "Origin" in request.headers or request.headers.get("Sec-Fetch-Site", "") not in _FROM_HERE:
        raise Refusal(403, "web_page", "Web pages may not speak here.", "call it from a program")
