"""A workspace and its HTTP server on a loopback port, in this process."""

import asyncio
import errno
import hmac
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self
from urllib.parse import quote_plus, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.core.errors import ConfigError
from daemon.core.phrases import ASK_SHORTCUT, USAGE, WHY_SHORTCUT
from daemon.core.ports.services import Clock, SystemClock
from daemon.core.sentences import SENTENCES
from daemon.core.soul_names import commands_of
from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.control import Control
from daemon.local_slack.faults import Profile, RateLimits
from daemon.local_slack.model import AppIdentity, MessageShortcut, SlashCommand
from daemon.local_slack.sockets import Retries
from daemon.local_slack.state import seeded
from daemon.local_slack.web_api.files import AppUrls
from daemon.local_slack.web_api.router import WebApi
from daemon.local_slack.workspace import Workspace

HOST: Final = "127.0.0.1"
PAGE: Final = Path(__file__).parent / "page"
SCOPES: Final = frozenset(
    {
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "channels:join",
        "channels:read",
        "chat:write",
        "chat:write.customize",
        "commands",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "im:write",
        "mpim:history",
        "mpim:read",
        "mpim:write",
        "reactions:read",
        "reactions:write",
        "usergroups:read",
        "users:read",
    }
)
"""The scopes of the app: those the daemon needs, and those for reading all its channels (Slack: app manifest)."""
SHORTCUTS: Final = (
    MessageShortcut(WHY_SHORTCUT, SENTENCES["because_shortcut"]),
    MessageShortcut(ASK_SHORTCUT, SENTENCES["ask_about_shortcut"]),
)
"""The message shortcuts of the app."""
SOULS: Final = MappingProxyType({"minoan": "Kothar"})
"""The souls whose slash commands the app has by default."""
_LARGEST_REQUEST: Final = 64 * 1024 * 1024  # bytes
_WAKE_READERS_EVERY: Final = 15.0  # seconds
_BACKLOG: Final = 4096  # load tests open hundreds of connections at once


_OWN_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_POLICY: Final = "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
_NO_KEY: Final = "open the address that was printed when the workspace started: it holds the workspace's key"


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add headers that forbid framing the workspace and hide the server's software."""
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


class WorkspaceServer:
    """The server of one workspace:

    `async with` binds it to 127.0.0.1 and serves until the block ends. Port 0 takes a free one. Raises ConfigError if
    the port is taken.
    """

    def __init__(self, workspace: Workspace, port: int, page: Path, key: str) -> None:
        self.workspace = workspace
        self.clock = workspace.clock
        self.key = key or secrets.token_urlsafe(16)
        self.url = self.page_url = self.api_url = ""
        self.team = workspace.state.team
        self.bot_user = workspace.state.bot()
        self.bot_token = workspace.state.app.bot_token
        self.app_token = workspace.state.app.app_token
        self._port = port
        self._page = page
        self._tasks = asyncio.TaskGroup()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        self._runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=2.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self._port, backlog=_BACKLOG)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            if error.errno != errno.EADDRINUSE:
                raise ConfigError(
                    f"can't listen on {HOST}:{self._port}: {error.strerror}", hint="choose another port"
                ) from error
            hint = "stop the other program, or set SOUL_WORKSPACE_PORT to another port (0 picks a free one)"
            raise ConfigError(f"port {self._port} on {HOST} is in use", hint=hint) from error
        self.url = self.workspace.state.url = f"http://{HOST}:{self._runner.addresses[0][1]}"
        self.page_url, self.api_url = f"{self.url}/?key={self.key}", f"{self.url}/api/"
        await self._tasks.__aenter__()
        self._timers = self._tasks.create_task(self.workspace.clock.run())
        self._wake_readers()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timers.cancel()
        await self._tasks.__aexit__(None, None, None)
        if self._runner is not None:
            await self._runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=_LARGEST_REQUEST, middlewares=[self._check])
        application.on_response_prepare.append(add_headers)
        api, urls, control = WebApi(self.workspace), AppUrls(self.workspace), Control(self.workspace)
        application.add_routes(
            [
                web.get("/api/{method}", api.handle),
                web.post("/api/{method}", api.handle),
                web.get("/link/", self.workspace.sockets.handle),
                web.post("/upload/{file}", urls.upload),
                web.get("/files-pri/{key}/{name}", urls.download),
                web.post("/response/{key}", urls.respond),
                web.get("/clock", control.clock),
                web.get("/_control/{name}", control.handle),
                web.post("/_control/{name}", control.handle),
                web.get(r"/archives/{channel:\w+}/p{ts:\d+}", self._message),
                web.get("/", self._index),
                web.get("/{path:.+}", self._page_file),
            ]
        )
        application.on_shutdown.append(self._close_streams)
        return application

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse control requests without the key as bearer token, and any that another web page could have caused.

        A cookie with the key would also go to other programs on this machine.
        """
        if request.path.startswith("/_control/"):
            if not _is_from_here(request):
                hint = "open the workspace by its own address on this machine, such as http://127.0.0.1:8765/"
                return web.json_response({"ok": False, "error": "not_from_here", "hint": hint}, status=403)
            sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(sent.encode(), self.key.encode()):
                return web.json_response({"ok": False, "error": "no_key", "hint": _NO_KEY}, status=403)
        return await handler(request)

    async def _close_streams(self, _application: web.Application) -> None:
        self.workspace.sockets.close_all()
        self.workspace.feed.close()

    async def _index(self, _request: web.Request) -> web.StreamResponse:
        index = self._page / "index.html"
        if index.is_file():
            return web.FileResponse(index, headers={"Cache-Control": "no-cache"})
        return web.Response(text="The local workspace is running; its page is not installed.\n")

    async def _message(self, request: web.Request) -> web.StreamResponse:
        rest = [request.match_info["channel"], *filter(None, [request.query.get("thread_ts", "")])]
        raise web.HTTPSeeOther(f"/#/{'/'.join(map(quote_plus, rest))}")

    async def _page_file(self, request: web.Request) -> web.StreamResponse:
        path = (self._page / request.match_info["path"]).resolve()
        if not path.is_relative_to(self._page.resolve()) or not path.is_file():
            return web.Response(status=404, text="not found\n")
        return web.FileResponse(path, headers={"Cache-Control": "no-cache"})

    def _wake_readers(self) -> None:
        self.workspace.feed.wake()
        self.workspace.clock.after(_WAKE_READERS_EVERY, self._wake_readers)


def serve_workspace(
    *,
    port: int = 0,
    clock: Clock | None = None,
    limits: str = "off",
    bot_token: str = "",
    app_token: str = "",
    bot_name: str = "Soul",
    scopes: Iterable[str] = SCOPES,
    retries: Retries | None = None,
    page: Path = PAGE,
    key: str = "",
    note: str = "",
    souls: Mapping[str, str] = SOULS,
) -> WorkspaceServer:
    """Return a new seeded workspace's server, for `async with`.

    Missing tokens and key are created. `note` is a line about the app on the page. Each of the `souls` has the slash
    commands of its names.
    """
    app = AppIdentity(
        bot_token=bot_token or f"xoxb-local-{secrets.token_hex(12)}",
        app_token=app_token or f"xapp-1-{AppIdentity().app_id}-1-{secrets.token_hex(12)}",
        shortcuts=SHORTCUTS,
        note=note,
        commands=tuple(SlashCommand(one, SENTENCES["command_shows"], USAGE) for one in commands_of(souls)),
    )
    workspace_clock = WorkspaceClock(clock or SystemClock())
    workspace = Workspace(
        seeded(app, bot_name, workspace_clock.now()),
        workspace_clock,
        limits=RateLimits(Profile(limits)),
        retries=retries or Retries(),
        scopes=frozenset(scopes),
    )
    return WorkspaceServer(workspace, port, page, key)
