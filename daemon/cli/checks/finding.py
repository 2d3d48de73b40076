"""Findings of `soul doctor`, and the checks of packages, the clock, the service, tools and vectors."""

import asyncio
import importlib.metadata
import shutil
import site
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import daemon
from daemon.app.lifecycle import clock_of
from daemon.cli.installing import ServiceUnit, installed_units
from daemon.cli.listing import with_database
from daemon.core.config import Settings, environment
from daemon.core.errors import ConfigError, DaemonError, ModelError, StoreError
from daemon.core.ports.vectors import Embedder
from daemon.core.settings_place import HERE, settings_place
from daemon.core.timetable import moment
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.nights import KeptRun
from daemon.memory.admin.tool_admin import RecordedTool, recorded_tools
from daemon.memory.retrieval.statistics import Statistics, statistics
from daemon.memory.retrieval.vectors import HINT, other_length
from daemon.tools.mcp.server_config import Server, StdioServer, read_servers


class Verdict(StrEnum):
    """The result of a check; `skip` means not checked."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: `found` says what it saw, `fix` is the command or step that helps."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Finding:
    """Make a finding that needs nothing."""
    return Finding(name, Verdict.OK, found)


def warn(name: str, found: str, fix: str) -> Finding:
    """Make a finding for the admin; the daemon works."""
    return Finding(name, Verdict.WARN, found, fix)


def fail(name: str, found: str, fix: str) -> Finding:
    """Make a finding that keeps the daemon from working."""
    return Finding(name, Verdict.FAIL, found, fix)


def skip(name: str, found: str) -> Finding:
    """Make a finding for a check that was skipped or has nothing to check."""
    return Finding(name, Verdict.SKIP, found)


def start_files(folders: Sequence[str] | None = None) -> Finding:
    """Check that each `.pth` file, which Python runs at each start, belongs to an installed package."""
    places = [Path(folder) for folder in (site.getsitepackages() if folders is None else folders)]
    there = {path.resolve() for place in places for path in place.glob("*.pth")}
    known = {
        Path(str(one.locate_file(file))).resolve()
        for one in importlib.metadata.distributions(path=[*map(str, places), *sys.path])
        if ".pth"
        in (one.read_text("RECORD") or one.read_text("installed-files.txt") or "")  # most have none, and long lists
        for file in one.files or ()
        if file.suffix == ".pth"
    }
    if unknown := sorted(map(str, there - known)):
        fix = "find out where it comes from; if in doubt, delete .venv and start again: the scripts set it up anew"
        return warn("packages", f"Python runs {', '.join(unknown)} at each start, which is part of no package", fix)
    return ok("packages", "nothing unknown runs when Python starts")


def namesake(folders: Sequence[str] | None = None) -> Finding:
    """Check that Python's path holds no second package called `daemon`, such as python-daemon's."""
    places = [Path(folder) for folder in (sys.path if folders is None else folders)]
    ours = Path(daemon.__file__).parent
    found = [place / name for place in places for name in ("daemon/__init__.py", "daemon.py")]
    others = {str(path) for path in found if path.is_file() and path.parent.resolve() != ours.resolve()}
    others |= {
        f"the package {one.name}"
        for one in importlib.metadata.distributions(path=[*map(str, places)])
        if "daemon" in (one.read_text("top_level.txt") or "").split() and one.name != "soul-daemon"
    }
    if others:
        fix = "keep the daemon in a virtual environment of its own, as the scripts do, or uninstall the other package"
        return warn("name", f"{', '.join(sorted(others))} bears the name `daemon` too: either hides the other", fix)
    return ok("name", "no other package is called daemon")


def nights(failed: Sequence[KeptRun], parked: int) -> list[Finding]:
    """Report the newest failed nights, and memories that are left alone."""
    found = [
        warn("nights", f"{one.id} failed for {one.audience}: {one.error}", "see the log; the next night tries again")
        for one in failed
    ]
    if parked:
        fix = "see `soul memory runs` and `soul memory verify`"
        found.append(warn("nights", f"{parked} memories are left alone, since a part failed at them three times", fix))
    return found


_NAME: Final = "rehearsal"


def rehearsal(settings: Settings) -> list[Finding]:
    """Check SOUL_REHEARSAL_CLOCK as a daemon would. Empty if it isn't set. Only this machine is asked."""
    if not settings.rehearsal_clock:
        return []
    if settings.slack_bot_token is None and settings.slack_app_token is None:
        found = (
            "SOUL_REHEARSAL_CLOCK has no effect: without Slack tokens a daemon lives by the clock of its own workspace"
        )
        return [warn(_NAME, found, "unset SOUL_REHEARSAL_CLOCK, or give the tokens of the local workspace")]
    try:
        now_ms = asyncio.run(_time(settings))
    except ConfigError as error:
        return [fail(_NAME, error.message, error.hint)]
    return [ok(_NAME, f"a daemon lives by the clock of the local workspace, {moment(now_ms)} UTC")]


async def _time(settings: Settings) -> int:
    async with clock_of(settings) as clock:
        return clock.now_ms()


_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
_COMPILES: Final = frozenset({"node", "npx", "npm", "bun", "bunx", "deno", "pnpm", "yarn"})
_FIX: Final = "scripts/install --tools, then name it after BindReadOnlyPaths= in the tools.conf that it wrote"


def service(
    settings: Settings, servers: Mapping[str, Server], units: Iterable[ServiceUnit] | None = None
) -> list[Finding]:
    """Check what the installed service hides or forbids. Empty if none is installed."""
    for unit in installed_units() if units is None else units:
        return _Service(unit).findings(settings, servers)
    return []


def whose_settings() -> list[Finding]:
    """Report whose settings the checks use, and the service's keys that this account may not read."""
    place = settings_place()
    if place is HERE:
        return []
    if place.unread:
        found = f"{place.folder}; its {', '.join(place.unread)} may be read by root alone, so they count as not set"
        return [warn("service", found, "run soul doctor with sudo")]
    return [ok("service", f"its settings, and its data in {place.folder}")]


class _Service:
    """The paths that a unit hides from the daemon."""

    def __init__(self, unit: ServiceUnit) -> None:
        self._unit = unit

    def findings(self, settings: Settings, servers: Mapping[str, Server]) -> list[Finding]:
        """Report every folder and program that the service can't use."""
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


def tools(settings: Settings) -> list[Finding]:
    """Check the MCP servers, and what the service lets them and the library reach."""
    try:
        servers = read_servers(settings.mcp_servers, keys=False) if settings.mcp_servers is not None else {}
    except ConfigError as error:
        return [fail("tools", error.message, error.hint), *service(settings, {})]
    findings = service(settings, servers)
    if servers:
        findings.append(ok("tools", f"MCP servers, not started by this check: {', '.join(servers)}"))
        seen = _recorded(settings)
        findings += [*_changed(seen), *_approvers(settings, servers, seen)]
    return findings


def _recorded(settings: Settings) -> tuple[RecordedTool, ...]:
    if not settings.database_path.exists():
        return ()
    try:
        return with_database(settings, recorded_tools)
    except StoreError:
        return ()  # the checks of memory.db say why


def _changed(seen: tuple[RecordedTool, ...]) -> list[Finding]:
    changed = sorted({one.name for one in seen if one.changed_ms is not None})
    if not changed:
        return []
    found = (
        f"{', '.join(changed)} say something else of themselves than at their first sight; each use asks for a click"
    )
    return [warn("tools", found, f"if you trust the change: soul tools accept {' '.join(changed)}")]


def _approvers(settings: Settings, servers: Mapping[str, Server], seen: tuple[RecordedTool, ...]) -> list[Finding]:
    writing = {one.server for one in seen if one.writes}
    open_to_all = [name for name, server in servers.items() if name in writing and not server.approvers]
    if settings.approvers or not open_to_all:
        return []
    found = f"tools of {', '.join(open_to_all)} change things, and every user may allow that to the soul by a click"
    return [warn("approvers", found, 'set SOUL_APPROVERS, or "approvers": ["U…"] in the list of servers')]


def vectors(settings: Settings, *, offline: bool) -> list[Finding]:
    """Check that memories can be found by meaning."""
    try:
        embedder = build_embedder(settings)
    except DaemonError as error:
        return [fail("embedder", error.message, error.hint)]
    if embedder is None:
        return [ok("embedder", "none is set: memories are found by full text alone")]
    finding, length = _embedder(embedder, offline=offline and settings.embedder == "endpoint")
    findings = [finding]
    if not settings.database_path.exists():
        return findings
    try:
        found = with_database(settings, lambda database: statistics(database, settings.index_folder, embedder.id))
    except (DaemonError, OSError) as error:
        return [*findings, skip("vectors", f"not looked at: {error}")]
    return [*findings, _stand(found, length)]


def _embedder(embedder: Embedder, *, offline: bool) -> tuple[Finding, int]:
    if offline:
        return skip("embedder", f"{embedder.id} is not asked"), 0
    try:
        length = asyncio.run(_length(embedder))
    except ModelError as error:
        return warn("embedder", f"{error.message}; full text serves alone", error.hint), 0
    return ok("embedder", f"{embedder.id} gives vectors of {length} numbers"), length


async def _length(embedder: Embedder) -> int:
    try:
        (vector,) = await embedder.embed(["doctor"])
        return len(vector)
    finally:
        await embedder.aclose()


def _stand(found: Statistics, length: int) -> Finding:
    line = f"{found.have} of {found.wanted} memories have vectors, {found.queued} changes wait; {found.kind}"
    if 0 not in {length, found.length} and length != found.length:
        return warn("vectors", f"{line}: {other_length(length, found.length)}; full text serves alone", HINT)
    if found.owner is None:
        return ok("vectors", f"{line}; no daemon keeps them now")
    line += f", generation {found.generation}, kept by process {found.owner}"
    if found.trouble:
        return warn("vectors", f"{line}: {found.trouble}; full text serves meanwhile", found.hint)
    return ok("vectors", line)
