"""Access to the HTTP API: the right Host, no web pages, and the bearer token where a route asks for it.

The token is the admin's. It comes from the settings; without one there, the first start makes it and keeps it in the
home folder. Some routes also take the key of a person's sessions.
"""

import hmac
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

from daemon.channels.http.errors import Refusal
from daemon.core.config import Settings
from daemon.core.ports.telemetry import Emit
from daemon.core.secret_files import kept_secret
from daemon.core.sessions import THE_ADMIN, KeyOwner

TOKEN_FILE: Final = "http.token"  # noqa: S105  # a file's name
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_NO_PAGE: Final = frozenset({"", "none", "same-origin"})


OwnerOf = Callable[[str], Awaitable[KeyOwner | None]]
"""Whose key a text is; None for what is none."""

OWNER: Final = web.RequestKey("owner", KeyOwner)
"""Whose a request is, for its handler."""


class Auth:
    """Middleware that checks every request.

    `hosts` are the names by which requests may name this machine, beside its own. `free` are the paths, as the route
    table writes them, without a token, `keyed` those that take keys, too, `signed` those whose handler looks at the
    signature of the source that the query names. `owner_of` gives whose key a text is.
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
        """Pass the request on. Raises Refusal."""
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

        The bare address that the request came to is always right: no foreign web page can be served from it.
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
        """Whose request it is. Raises Refusal, and what `owner_of` raises."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        # Compared in constant time, so that timing gives nothing of the token away.
        same = hmac.compare_digest(self._token.encode(), given.strip().encode("utf-8", "surrogateescape"))
        owner = THE_ADMIN if same else await self._owner_of(given.strip()) if takes_keys else None
        if scheme.lower() != "bearer" or owner is None:
            hint = "send Authorization: Bearer with SOUL_HTTP_TOKEN, or with the content of the file http.token"
            if takes_keys:
                hint = "send Authorization: Bearer with a key of `soul sessions keys add`, or with the admin's token"
            raise no_entry(hint)
        return owner


def no_entry(hint: str) -> Refusal:
    """The refusal of a token or key that opens nothing."""
    return Refusal(401, "unauthorized", "The token is missing or wrong.", hint, {"WWW-Authenticate": "Bearer"})


def _require_no_page(request: web.Request) -> None:
    """Programs send no Origin; web pages do, and they would act for the user who has them open."""
    if "Origin" in request.headers or request.headers.get("Sec-Fetch-Site", "") not in _NO_PAGE:
        raise Refusal(403, "web_page", "Web pages have no access.", "call the API from a program")


def bearer_token(settings: Settings, emit: Emit) -> str:
    """The token in force. Blocks on a small file; two daemons that start at once agree. Raises ConfigError."""
    if settings.http_token is not None:
        return settings.http_token.get_secret_value()
    hint = "set SOUL_HTTP_TOKEN, or make the home folder writable for the daemon"
    return kept_secret(settings.home / TOKEN_FILE, emit, hint=hint)
