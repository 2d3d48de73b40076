"""Checks MCP servers: their list, who may allow what they do, tools that have changed; starts no server."""

from collections.abc import Mapping

from daemon.cli.checks.finding import Finding, fail, ok, warn
from daemon.cli.checks.service import service
from daemon.cli.database_access import with_database
from daemon.core.config import Settings
from daemon.core.errors import ConfigError, StoreError
from daemon.memory.admin.tool_admin import RecordedTool, recorded_tools
from daemon.tools.mcp.server_config import Server, read_servers


def tools(settings: Settings) -> list[Finding]:
    """All findings about MCP servers and what the service lets them and the library reach."""
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
    """Servers with tools that write, whose use anyone may allow to whom the soul is talking."""
    writing = {one.server for one in seen if one.writes}
    open_to_all = [name for name, server in servers.items() if name in writing and not server.approvers]
    if settings.approvers or not open_to_all:
        return []
    found = f"tools of {', '.join(open_to_all)} change things, and every user may allow that to the soul by a click"
    return [warn("approvers", found, 'set SOUL_APPROVERS, or "approvers": ["U…"] in the list of servers')]
