"""Checks of MCP servers, of what the installed service hides from them, and of the clock of a rehearsal."""

import asyncio
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from daemon.app.lifecycle import clock_of
from daemon.cli.checks import Finding, Premises, StoreRows, check, check_rows, fail, named, ok, warn
from daemon.cli.installing import ServiceUnit, installed_units
from daemon.core.config import Settings, environment
from daemon.core.errors import ConfigError
from daemon.core.timetable import moment
from daemon.tools.mcp.server_config import Server, StdioServer, read_servers

_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
_COMPILES: Final = frozenset({"node", "npx", "npm", "bun", "bunx", "deno", "pnpm", "yarn"})
_FIX: Final = "scripts/install --tools, then name it after BindReadOnlyPaths= in the tools.conf that it wrote"


def service(
    settings: Settings, servers: Mapping[str, Server], units: Iterable[ServiceUnit] | None = None
) -> list[Finding]:
    """Check what the installed service hides or forbids. Empty if none is installed."""
    unit = next(iter(installed_units() if units is None else units), None)
    return list(_Service(unit).findings(settings, servers)) if unit else []


class _Service:
    """The paths that a unit hides from the daemon."""

    def __init__(self, unit: ServiceUnit) -> None:
        self._unit = unit

    def findings(self, settings: Settings, servers: Mapping[str, Server]) -> Iterator[Finding]:
        """Report every folder and program that the service can't use."""
        for folder in filter(self._hides, settings.library):
            yield warn(f"it can't see the library folder {folder}", _FIX)
        if settings.mcp_servers is not None and self._hides(settings.mcp_servers):
            yield warn(f"it can't see the list of servers {settings.mcp_servers}", _FIX)
        for name, server in servers.items():
            if isinstance(server, StdioServer):
                yield from self._program(name, server)

    def _program(self, name: str, server: StdioServer) -> Iterator[Finding]:
        place = shutil.which(server.command, path=server.env.get("PATH"))
        if place and self._hides(Path(place)):
            yield warn(f"it can't see {place}, the program of the MCP server {name}", _FIX)
        compiles = {Path(server.command).name, Path(place or "").resolve().name} & _COMPILES
        if compiles and self._unit.last("MemoryDenyWriteExecute") == "yes":
            found = (
                f"{server.command}, the program of the MCP server {name}, ends at once: it may not compile in memory"
            )
            yield warn(found, "scripts/install --tools")

    def _hides(self, path: Path) -> bool:
        """Return true if a path lies in a home and no unit setting shows it."""
        if self._unit.last("ProtectHome") not in {"yes", "true", "tmpfs"}:
            return False
        real = path.absolute().resolve()
        home = environment().get("HOME", "/")
        shown = [
            Path(one.lstrip("-+").partition(":")[0].replace("%h", home))
            for value in self._unit.all("BindPaths", "BindReadOnlyPaths")
            for one in value.split()
        ]
        return any(map(real.is_relative_to, _HOMES)) and not any(real.is_relative_to(one.resolve()) for one in shown)


def _servers(settings: Settings) -> Mapping[str, Server]:
    """Return the configured servers. Raises ConfigError."""
    return read_servers(settings.mcp_servers, keys=False) if settings.mcp_servers is not None else {}


@check("tools", quick=True)
def tools(at: Premises) -> Iterator[Finding]:
    """Check the MCP servers, and what the service lets them and the library reach."""
    servers = dict[str, Server]()
    try:
        servers.update(_servers(at.settings))
    except ConfigError as error:
        yield fail(error.message, error.hint)
    for one in service(at.settings, servers):
        yield named("service", one)
    if servers:
        yield ok(f"MCP servers, not started by this check: {', '.join(servers)}")


@check_rows("tools")
def recorded(at: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report tools that describe themselves in another way than at first sight, and those that everybody may allow."""
    try:
        servers = _servers(at.settings)
    except ConfigError:
        return  # the check above says so
    changed = sorted({one["name"] for one in store.tools if one["changed_ms"] is not None})
    if servers and changed:
        said = "say something else of themselves than at their first sight; each use asks for a click"
        yield warn(f"{', '.join(changed)} {said}", f"if you trust the change: soul tools accept {' '.join(changed)}")
    writing = {one["server"] for one in store.tools if one["writes"]}
    open_to_all = [name for name, server in servers.items() if name in writing and not server.approvers]
    if open_to_all and not at.settings.approvers:
        found = f"tools of {', '.join(open_to_all)} change things, and every user may allow that to the soul by a click"
        fix = 'set SOUL_APPROVERS, or "approvers": ["U…"] in the list of servers'
        yield named("approvers", warn(found, fix))


@check("rehearsal")
def rehearsal(at: Premises) -> Iterator[Finding]:
    """Check SOUL_REHEARSAL_CLOCK as a daemon would. Only this machine is asked."""
    settings = at.settings
    if not settings.rehearsal_clock:
        return
    if settings.slack_bot_token is None and settings.slack_app_token is None:
        found = "without Slack tokens a daemon lives by the clock of its own workspace"
        fix = "unset SOUL_REHEARSAL_CLOCK, or give the tokens of the local workspace"
        yield warn(f"SOUL_REHEARSAL_CLOCK has no effect: {found}", fix)
        return
    try:
        now_ms = asyncio.run(_time(settings))
    except ConfigError as error:
        yield fail(error.message, error.hint)
    else:
        yield ok(f"a daemon lives by the clock of the local workspace, {moment(now_ms)} UTC")


async def _time(settings: Settings) -> int:
    async with clock_of(settings) as clock:
        return clock.now_ms()
