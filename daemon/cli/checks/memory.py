"""Checks of memory.db: SQLite, the file, backups, daemons, undelivered rows, and how models keep the form."""

import os
from pathlib import Path
from typing import Final

from daemon.cli.checks.finding import Finding, fail, nights, ok, skip, warn
from daemon.cli.listing import age, with_database
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.files import PathBlocked
from daemon.core.ports.services import Clock
from daemon.core.tempo import sentence_of
from daemon.memory.admin.nights import night_faults
from daemon.memory.admin.overview import (
    FailedAnswers,
    LiveDaemon,
    Overview,
    SqliteBuild,
    UnhostedSoul,
    check_file,
    failed_answers,
    sqlite_build,
    survey,
)
from daemon.memory.database.copies import CopyRoom, all_copies, folder_beside, newest_copy, room_for
from daemon.memory.knowledge.library import FaultyFile
from daemon.memory.mirror_folders import MANIFEST
from daemon.memory.passport.mirror import folder_for
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes

_OLD_MS = 24 * 3600 * 1000
_FAULT = "the WAL-reset bug, which can damage a database in WAL mode"
_IN_THE_LOG: Final = "the log tells more at event=cycle.failed"
_UNANSWERED: Final = {
    "malformed": ("keeps no form that can be read", "choose a stronger model in SOUL_PERSONA_MODEL"),
    "refused": (
        "refuses what it is asked",
        "choose another model in SOUL_PERSONA_MODEL, or give it a larger context where its server says so",
    ),
    "unavailable": ("can't be reached, or breaks off", "see whether the model's server works"),
}


def memory(settings: Settings, clock: Clock) -> list[Finding]:
    """Check memory.db, or report that there is none yet."""
    path = settings.database_path.absolute()
    if not path.exists():
        return [sqlite_library(sqlite_build(), ""), skip("database", f"there is no {path} yet; `soul run` creates it")]
    try:
        found = check_file(path, whole=False)
    except StoreError as error:
        return [sqlite_library(sqlite_build(), ""), fail("database", error.message, error.hint)]
    findings = [sqlite_library(sqlite_build(), found.journal)]
    if found.faults:
        return [*findings, *(fail("database", fault, found.cure) for fault in found.faults)]
    now = clock.now_ms()
    seen: Overview = with_database(settings, lambda database: survey(database, now, now))
    findings += [ok("database", f"{path}, schema {found.schema}"), backups(path, settings.backup_share, now)]
    return [
        *findings,
        *daemons(seen.daemons, now),
        *loops(seen.daemons),
        *stuck(seen),
        *unhosted(seen, now),
        *(failing := answers(with_database(settings, lambda database: failed_answers(database, now)))),
        *weak_models(seen, now, replies_go_on=not failing),
        *unfit(seen, now),
        *unread(seen),
        *alarms(seen, now),
        *mirror(settings.home, settings.mirror),
        *nights(*with_database(settings, night_faults)),
    ]


def sqlite_library(found: SqliteBuild, journal: str) -> Finding:
    """Check this SQLite against the file's journal mode. `journal` is empty while there is no file."""
    in_use = f"; the journal mode is {journal}" if journal else ""
    if found.wal_safe:
        return ok("sqlite", f"SQLite {found.version} is free of {_FAULT}{in_use}")
    if journal == "wal":
        fix = "stop every daemon, run sqlite3 memory.db 'PRAGMA journal_mode=DELETE', or use SQLite 3.51.3 or later"
        return fail("sqlite", f"SQLite {found.version} has {_FAULT}, and the journal mode is wal", fix)
    return ok("sqlite", f"SQLite {found.version} has {_FAULT}; the daemon uses a rollback journal instead{in_use}")


def backups(path: Path, share: float, now_ms: int) -> Finding:
    """Check the age of the newest backup, and the space of all."""
    folder = folder_beside(path)
    try:
        newest, sizes = newest_copy(folder, now_ms), [copy.stat().st_size for copy in all_copies(folder)]
        room = room_for(path, folder if folder.is_dir() else path.parent, share)
    except OSError as error:
        return warn("backups", f"{folder} can't be read: {error.strerror}", "check its owner and its mode")
    if newest is None:
        return skip("backups", "none yet; a running daemon makes one every 15 minutes, of a large file less often")
    found = f"the newest is {age(now_ms, newest)} old; {len(sizes)} take {_gib(sum(sizes))} GiB in {folder}"
    found += f", of {_gib(room.most)} that they may take"
    if now_ms - newest > _OLD_MS:
        return warn("backups", found, _why_none(room))
    return ok("backups", found)


def _why_none(room: CopyRoom) -> str:
    if room.free < 3 * room.file:
        return f"free space on the disk: {_gib(room.free)} GiB are free, a copy needs {_gib(3 * room.file)}"
    return "run soul db backup; if a daemon is running, see its log for why it makes none"


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f}"


def daemons(seen: tuple[LiveDaemon, ...], now_ms: int) -> list[Finding]:
    if not any(one.alive for one in seen):
        return [skip("daemons", "none is running")]
    return [_daemon(one, now_ms) for one in seen]


def _daemon(one: LiveDaemon, now_ms: int) -> Finding:
    who = f"{one.soul} in {one.workspace} (process {one.pid} on {one.host})"
    if one.gone:
        return warn("daemons", f"{who} died without a shutdown", "nothing to do: the next daemon takes over its work")
    if one.silent:
        found = f"{who} was last seen {age(now_ms, one.seen_ms)} ago"
        return warn("daemons", found, "see its log; restart it if it hangs")
    if one.kind != "terminal" and one.state != "connected":
        return warn("daemons", f"{who} is {one.state}", "see its log and the Slack findings below")
    return ok("daemons", f"{who} is {one.state}, seen {age(now_ms, one.seen_ms)} ago")


def loops(seen: tuple[LiveDaemon, ...]) -> list[Finding]:
    """Report the parts of running daemons that failed within the last hour. Each continues after a pause."""
    failing = [one.detail.get("failing") for one in seen if one.alive]
    return [
        warn("loops", f"{name} failed {why}", "see the daemon's log; it tries again by itself")
        for troubles in failing
        if isinstance(troubles, dict)
        for name, why in troubles.items()
    ]


def stuck(seen: Overview) -> list[Finding]:
    """Report messages and posts that wait for the admin's decision."""
    kinds = [
        ("messages got no answer", seen.inbox.get("dead", 0), "soul queue inbox list --state dead"),
        (
            "posts may or may not have been sent",
            seen.outbox.get("unknown", 0),
            "soul queue outbox list --state unknown",
        ),
        ("posts failed for good", seen.outbox.get("dead", 0), "soul queue outbox list --state dead"),
        ("posts grew too old to be sent", seen.outbox.get("expired", 0), "soul queue outbox list --state expired"),
        ("background jobs failed for good", seen.jobs.get("dead", 0), "soul queue jobs list --state dead"),
        ("scheduled events could not begin", seen.dead_intentions, "soul schedule list --state dead"),
    ]
    found = [
        warn("stuck", f"{count} {what}", f"{command}, then retry or drop") for what, count, command in kinds if count
    ]
    return found or [ok("stuck", "nothing")]


def unhosted(seen: Overview, now_ms: int) -> list[Finding]:
    """Report work for souls that no running daemon hosts any more."""
    return [_unhosted(one, now_ms) for one in seen.unhosted]


def _unhosted(one: UnhostedSoul, now_ms: int) -> Finding:
    kinds = {"messages": one.messages, "notes": one.notes, "posts": one.posts, "jobs": one.jobs}
    waiting = ", ".join(f"{count} {what}" for what, count in kinds.items() if count)
    found = f"no running daemon hosts {one.soul} in {one.workspace}; {waiting} wait, for {age(now_ms, one.oldest_ms)}"
    fix = f"add {one.soul} to SOUL_SOULS of a daemon and restart it; or drop what waits with soul queue inbox drop, "
    return warn("unhosted", found, f"{fix}soul queue outbox drop and soul queue jobs drop")


def answers(found: FailedAnswers | None) -> list[Finding]:
    """Check that users get answers, not apologies."""
    if found is None:
        return []
    got = f"{found.failed} of the last {found.looked_at} messages got an apology in place of an answer"
    what, fix = _UNANSWERED.get(found.outcome, _UNANSWERED["unavailable"])
    return [warn("answers", f"{got}: {found.model} {what}", f"{fix}; {_IN_THE_LOG}")]


def unfit(seen: Overview, now_ms: int) -> list[Finding]:
    """Report souls that should think whole thoughts, and answer in words for now."""
    fix = 'nothing to do; a stronger SOUL_PERSONA_MODEL, or mind = "process" in its soul.toml, saves the calls'
    return [warn("thoughts", f"{one.soul}: {one.in_words(now_ms)}", fix) for one in seen.in_words]


def weak_models(seen: Overview, now_ms: int, *, replies_go_on: bool = True) -> list[Finding]:
    """Report models that can't keep the form of an answer for now, or think aloud."""
    fix = "a stronger model, or one whose server parts its reasoning, is quicker"
    fix = f"nothing to do: replies go on; {fix}" if replies_go_on else f"see `answers` above; {fix}"
    return [warn("model", one.weakness(now_ms), fix) for one in seen.weak_models]


def unread(seen: Overview) -> list[Finding]:
    """Report files of the library that can't be read, or not to their end."""
    return [_unread(one) for one in seen.faulty_files]


def alarms(seen: Overview, now_ms: int) -> list[Finding]:
    """Report the alarms of the running daemons. Each says in its sentence what to do."""
    fix = "do what it says; it is taken back ten minutes after it was seen last"
    return [warn("alarm", f"for {age(now_ms, one.since_ms)}: {sentence_of(one.name)}", fix) for one in seen.alarms]


def _unread(one: FaultyFile) -> Finding:
    if one.searched:
        return ok("library", f"{one.path}: {one.fault}")
    return warn(
        "library", f"{one.path} is not read: {one.fault}", "do that, or take it out; it is read again when it changes"
    )


def mirror(home: Path, name: str) -> list[Finding]:
    """Check that the mirror of memory in files can be written, and was."""
    if not name:
        return []
    try:
        folder = folder_for(home, name)
    except PathBlocked as error:
        return [warn("mirror", error.message, error.hint)]
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        return [warn("mirror", f"{folder} can't be written", f"check the owner and mode of {folder}")]
    if free_bytes(home) < LEAST_ROOM:
        return [warn("mirror", f"{folder} waits: the disk is nearly full", "free space on it; it goes on by itself")]
    written = "is kept" if (folder / MANIFEST).exists() else "is not written yet; a daemon that runs writes it"
    return [ok("mirror", f"{folder} {written}")]
