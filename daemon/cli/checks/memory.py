"""memory.db: the library, the file, who is alive on it, and what got stuck in it."""

from pathlib import Path

from daemon.cli.checks.finding import Finding, fail, ok, skip, warn
from daemon.cli.database_access import with_database
from daemon.cli.output import age
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.ports import Clock
from daemon.memory.admin.overview import LiveDaemon, Overview, SqliteBuild, check_file, sqlite_build, survey
from daemon.memory.database.backup import folder_beside, newest_copy

_OLD_MS = 24 * 3600 * 1000
_FAULT = "the WAL-reset fault, which can damage a file in WAL mode"


def memory(settings: Settings, clock: Clock) -> list[Finding]:
    """All there is to say of memory.db, or that there is none yet."""
    path = settings.database_path.absolute()
    if not path.exists():
        return [sqlite_library(sqlite_build(), ""), skip("database", f"there is no {path} yet; `soul run` makes it")]
    try:
        found = check_file(path, whole=False)
    except StoreError as error:
        return [sqlite_library(sqlite_build(), ""), fail("database", error.message, error.hint)]
    findings = [sqlite_library(sqlite_build(), found.journal)]
    if found.faults:
        return [*findings, *(fail("database", fault, found.cure) for fault in found.faults)]
    now = clock.now_ms()
    seen: Overview = with_database(settings, lambda database: survey(database, now, now))
    findings += [ok("database", f"{path}, schema {found.schema}"), backups(folder_beside(path), now)]
    return [*findings, *daemons(seen.daemons, now), *stuck(seen)]


def sqlite_library(found: SqliteBuild, journal: str) -> Finding:
    """Whether the SQLite at hand and the journal in force go together; `journal` is empty before there is a file."""
    in_force = f"; the journal in force is {journal}" if journal else ""
    if found.wal_safe:
        return ok("sqlite", f"SQLite {found.version}, free of {_FAULT}{in_force}")
    if journal == "wal":
        fix = "stop every daemon, run sqlite3 memory.db 'PRAGMA journal_mode=DELETE', or use SQLite 3.51.3 or later"
        return fail("sqlite", f"SQLite {found.version} has {_FAULT}, and the journal in force is wal", fix)
    return ok("sqlite", f"SQLite {found.version} has {_FAULT}; a rollback journal is used instead{in_force}")


def backups(folder: Path, now_ms: int) -> Finding:
    """How old the newest copy is."""
    newest = newest_copy(folder, now_ms)
    if newest is None:
        return skip("backups", "none yet; a running daemon makes one every quarter of an hour")
    found = f"the newest is {age(now_ms, newest)} old, in {folder}"
    if now_ms - newest > _OLD_MS:
        return warn("backups", found, "soul db backup; a running daemon makes them by itself, else see its log")
    return ok("backups", found)


def daemons(seen: tuple[LiveDaemon, ...], now_ms: int) -> list[Finding]:
    """Who is alive, and whether their channel is connected."""
    if not any(one.alive for one in seen):
        return [skip("daemons", "none is running")]
    return [_daemon(one, now_ms) for one in seen]


def _daemon(one: LiveDaemon, now_ms: int) -> Finding:
    who = f"{one.soul} in {one.workspace} (process {one.pid} on {one.host})"
    if one.gone:
        return warn("daemons", f"{who} ended without a word", "nothing to do: the next daemon takes its work over")
    if one.silent:
        found = f"{who} was last seen {age(now_ms, one.seen_ms)} ago"
        return warn("daemons", found, "see its log; restart it if it hangs")
    if one.kind != "terminal" and one.state != "connected":
        return warn("daemons", f"{who} is {one.state}", "see its log and the findings about Slack here")
    return ok("daemons", f"{who} is {one.state}, seen {age(now_ms, one.seen_ms)} ago")


def stuck(seen: Overview) -> list[Finding]:
    """Messages and replies that ended badly and wait for somebody to decide."""
    told = [
        ("messages were given up", seen.inbox.get("dead", 0), "soul inbox list --state dead"),
        ("replies may or may not have been sent", seen.outbox.get("unknown", 0), "soul outbox list --state unknown"),
        ("replies were refused by Slack", seen.outbox.get("dead", 0), "soul outbox list --state dead"),
    ]
    found = [
        warn("stuck", f"{count} {what}", f"{command}, then retry or drop") for what, count, command in told if count
    ]
    return found or [ok("stuck", "nothing")]
