"""Checks what an installed systemd service lets the daemon reach: library folders, and programs of MCP servers."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from daemon.cli.checks.finding import Finding, ok, warn
from daemon.cli.unit import ServiceUnit, installed_units
from daemon.core.config import Settings, environment
from daemon.core.settings_place import HERE, settings_place
from daemon.tools.mcp.server_config import Server, StdioServer

_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
_COMPILES: Final = frozenset({"node", "npx", "npm", "bun", "bunx", "deno", "pnpm", "yarn"})
_FIX: Final = "scripts/install --tools, then name it after BindReadOnlyPaths= in the tools.conf that it wrote"


def service(
    settings: Settings, servers: Mapping[str, Server], units: Iterable[ServiceUnit] | None = None
) -> list[Finding]:
    """What the installed service hides or forbids; nothing where none is installed."""
    for unit in installed_units() if units is None else units:
        return _Service(unit).findings(settings, servers)
    return []


def whose_settings() -> list[Finding]:
    """Which service's settings the checks are about, and which of its keys this account may not read."""
    place = settings_place()
    if place is HERE:
        return []
    if place.unread:
        found = f"{place.folder}; its {', '.join(place.unread)} may be read by root alone, so they count as not set"
        return [warn("service", found, "run soul doctor with sudo")]
    return [ok("service", f"its settings, and its data in {place.folder}")]


class _Service:
    """What a unit hides from the daemon."""

    def __init__(self, unit: ServiceUnit) -> None:
        self._unit = unit

    def findings(self, settings: Settings, servers: Mapping[str, Server]) -> list[Finding]:
        """Every folder and program that the service can't use."""
        found = [
            warn("service", f"it can't see the library folder {folder}", _FIX)
            for folder in settings.library
            if self._hides(folder)
        ]
        if settings.mcp_servers is not None and self._hides(settings.mcp_servers):
            found.append(warn("service", f"it can't see the list of servers {settings.mcp_servers}", _FIX))
        for name, server in servers.items():
            if isinstance(server, StdioServer):
                found += self._program(name, server)
        return found

    def _program(self, name: str, server: StdioServer) -> list[Finding]:
        place = shutil.which(server.command, path=server.env.get("PATH"))
        found = []
        if place and self._hides(Path(place)):
            found.append(warn("service", f"it can't see {place}, the program of the MCP server {name}", _FIX))
        compiles = {Path(server.command).name, Path(place or "").resolve().name} & _COMPILES
        if compiles and self._unit.last("MemoryDenyWriteExecute") == "yes":
            fault = (
                f"{server.command}, the program of the MCP server {name}, ends at once: it may not compile in memory"
            )
            found.append(warn("service", fault, "scripts/install --tools"))
        return found

    def _hides(self, path: Path) -> bool:
        """Whether a path lies in a home and nothing shows it."""
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
