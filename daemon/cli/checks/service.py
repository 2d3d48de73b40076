"""Checks what an installed systemd service lets the daemon reach: library folders, and programs of MCP servers."""

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from daemon.cli.checks.finding import Finding, warn
from daemon.core.config import Settings, environment
from daemon.tools.mcp.server_config import Server, StdioServer

_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
_COMPILES: Final = frozenset({"node", "npx", "npm", "bun", "bunx", "deno", "pnpm", "yarn"})
_FIX: Final = "scripts/install --tools, then name it after BindReadOnlyPaths= in the tools.conf that it wrote"


def service(settings: Settings, servers: Mapping[str, Server], units: Iterable[Path] | None = None) -> list[Finding]:
    """What the installed service hides or forbids; nothing where none is installed."""
    for unit in installed_units() if units is None else units:
        if unit.is_file():
            return _Service(unit).findings(settings, servers)
    return []


def installed_units() -> tuple[Path, ...]:
    """Where `scripts/install` puts the service: for a person, and for a server."""
    variables = environment()
    config = Path(variables.get("XDG_CONFIG_HOME") or Path(variables.get("HOME", "/")) / ".config")
    return config / "systemd/user/soul.service", Path("/etc/systemd/system/soul.service")


class _Service:
    """The lines of a unit and of the files in its `.d` folder; later lines win."""

    def __init__(self, unit: Path) -> None:
        files = [unit, *sorted(unit.with_name(f"{unit.name}.d").glob("*.conf"))]
        text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
        self._pairs = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)

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
        if compiles and self._last("MemoryDenyWriteExecute") == "yes":
            fault = (
                f"{server.command}, the program of the MCP server {name}, ends at once: it may not compile in memory"
            )
            found.append(warn("service", fault, "scripts/install --tools"))
        return found

    def _last(self, name: str) -> str:
        return next((value.strip() for key, value in reversed(self._pairs) if key == name), "")

    def _hides(self, path: Path) -> bool:
        """Whether a path lies in a home and nothing shows it."""
        if self._last("ProtectHome") not in {"yes", "true", "tmpfs"}:
            return False
        real = path.absolute().resolve()
        home = environment().get("HOME", "/")
        shown = [
            Path(one.lstrip("-+").partition(":")[0].replace("%h", home))
            for key, value in self._pairs
            if key in {"BindPaths", "BindReadOnlyPaths"}
            for one in value.split()
        ]
        return any(map(real.is_relative_to, _HOMES)) and not any(real.is_relative_to(one.resolve()) for one in shown)
