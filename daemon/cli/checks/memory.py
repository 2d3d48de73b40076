"""Checks of memory.db and the search by meaning: the file, backups, daemons, undelivered rows, how models answer."""

import asyncio
import os
from collections.abc import Iterator
from typing import Final

from daemon.cli.checks import Finding, Premises, StoreRows, check, check_rows, fail, named, ok, skip, warn
from daemon.cli.listing import age, with_database
from daemon.core.errors import DaemonError, ModelError, StoreError
from daemon.core.files import PathBlocked
from daemon.core.ports.vectors import Embedder
from daemon.core.tempo import sentence_of
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.overview import FileCheck, LiveDaemon, SqliteBuild, sqlite_build
from daemon.memory.database.copies import CopyRoom, all_copies, folder_beside, newest_copy, room_for
from daemon.memory.mirror_folders import MANIFEST
from daemon.memory.passport.mirror import folder_for
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes
from daemon.memory.retrieval.statistics import Statistics, statistics
from daemon.memory.retrieval.vectors import HINT, other_length

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


@check("sqlite")
def sqlite(at: Premises) -> Finding:
    return sqlite_library(sqlite_build(), at.file.journal if isinstance(at.file, FileCheck) else "")


def sqlite_library(found: SqliteBuild, journal: str) -> Finding:
    """Check this SQLite against the file's journal mode. `journal` is empty while there is no file."""
    in_use = f"; the journal mode is {journal}" if journal else ""
    if found.wal_safe:
        return ok(f"SQLite {found.version} is free of {_FAULT}{in_use}")
    if journal == "wal":
        fix = "stop every daemon, run sqlite3 memory.db 'PRAGMA journal_mode=DELETE', or use SQLite 3.51.3 or later"
        return fail(f"SQLite {found.version} has {_FAULT}, and the journal mode is wal", fix)
    return ok(f"SQLite {found.version} has {_FAULT}; the daemon uses a rollback journal instead{in_use}")


@check("database")
def database(at: Premises) -> list[Finding]:
    """Check the file memory.db, or report that there is none yet."""
    if at.file is None:
        return [skip(f"there is no {at.path} yet; `soul run` creates it")]
    if isinstance(at.file, StoreError):
        return [fail(at.file.message, at.file.hint)]
    faults = [fail(fault, at.file.cure) for fault in at.file.faults]
    return faults or [ok(f"{at.path}, schema {at.file.schema}")]


@check_rows("backups")
def backups(at: Premises, _: StoreRows) -> Iterator[Finding]:
    """Check the age of the newest backup, and the space of all."""
    folder = folder_beside(at.path)
    try:
        newest, sizes = newest_copy(folder, at.now_ms), [copy.stat().st_size for copy in all_copies(folder)]
        room = room_for(at.path, folder if folder.is_dir() else at.path.parent, at.settings.backup_share)
    except OSError as error:
        yield warn(f"{folder} can't be read: {error.strerror}", "check its owner and its mode")
        return
    if newest is None:
        yield skip("none yet; a running daemon makes one every 15 minutes, of a large file less often")
        return
    found = f"the newest is {age(at.now_ms, newest)} old; {len(sizes)} take {_gib(sum(sizes))} GiB in {folder}"
    found += f", of {_gib(room.most)} that they may take"
    yield warn(found, _why_none(room)) if at.now_ms - newest > _OLD_MS else ok(found)


def _why_none(room: CopyRoom) -> str:
    if room.free < 3 * room.file:
        return f"free space on the disk: {_gib(room.free)} GiB are free, a copy needs {_gib(3 * room.file)}"
    return "run soul db backup; if a daemon is running, see its log for why it makes none"


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f}"


@check_rows("daemons")
def daemons(at: Premises, store: StoreRows) -> list[Finding]:
    if not any(one.alive for one in store.seen.daemons):
        return [skip("none is running")]
    return [_daemon(one, at.now_ms) for one in store.seen.daemons]


def _daemon(one: LiveDaemon, now_ms: int) -> Finding:
    who = f"{one.soul} in {one.workspace} (process {one.pid} on {one.host})"
    if one.gone:
        return warn(f"{who} died without a shutdown", "nothing to do: the next daemon takes over its work")
    if one.silent:
        found = f"{who} was last seen {age(now_ms, one.seen_ms)} ago"
        return warn(found, "see its log; restart it if it hangs")
    if one.kind != "terminal" and one.state != "connected":
        return warn(f"{who} is {one.state}", "see its log and the Slack findings below")
    return ok(f"{who} is {one.state}, seen {age(now_ms, one.seen_ms)} ago")


@check_rows("loops")
def loops(_: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report the parts of running daemons that failed within the last hour. Each continues after a pause."""
    for one in store.seen.daemons:
        troubles = one.detail.get("failing") if one.alive else None
        for name, why in troubles.items() if isinstance(troubles, dict) else ():
            yield warn(f"{name} failed {why}", "see the daemon's log; it tries again by itself")


@check_rows("stuck")
def stuck(_: Premises, store: StoreRows) -> list[Finding]:
    """Report messages and posts that wait for the admin's decision."""
    seen = store.seen
    kinds = [
        (seen.inbox.get("dead", 0), "messages got no answer", "queue inbox list --state dead"),
        (seen.outbox.get("unknown", 0), "posts may or may not have been sent", "queue outbox list --state unknown"),
        (seen.outbox.get("dead", 0), "posts failed for good", "queue outbox list --state dead"),
        (seen.outbox.get("expired", 0), "posts grew too old to be sent", "queue outbox list --state expired"),
        (seen.jobs.get("dead", 0), "background jobs failed for good", "queue jobs list --state dead"),
        (seen.dead_intentions, "scheduled events could not begin", "schedule list --state dead"),
    ]
    found = [warn(f"{count} {what}", f"soul {command}, then retry or drop") for count, what, command in kinds if count]
    return found or [ok("nothing")]


@check_rows("unhosted")
def unhosted(at: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report work for souls that no running daemon hosts any more."""
    for one in store.seen.unhosted:
        kinds = {"messages": one["messages"], "notes": one["notes"], "posts": one["posts"], "jobs": one["jobs"]}
        waiting = ", ".join(f"{count} {what}" for what, count in kinds.items() if count)
        where = f"no running daemon hosts {one['soul']} in {one['workspace']}"
        fix = f"add {one['soul']} to SOUL_SOULS of a daemon and restart it; or drop what waits with "
        fix += "soul queue inbox drop, soul queue outbox drop and soul queue jobs drop"
        yield warn(f"{where}; {waiting} wait, for {age(at.now_ms, one['oldest_ms'])}", fix)


@check_rows("answers")
def answers(_: Premises, store: StoreRows) -> Iterator[Finding]:
    """Check that users get answers, not apologies."""
    if found := store.failed:
        got = f"{found.failed} of the last {found.looked_at} messages got an apology in place of an answer"
        what, fix = _UNANSWERED.get(found.outcome, _UNANSWERED["unavailable"])
        yield warn(f"{got}: {found.model} {what}", f"{fix}; {_IN_THE_LOG}")


@check_rows("model")
def weak_models(at: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report models that can't keep the form of an answer for now, or think aloud."""
    fix = "see `answers` above" if store.failed else "nothing to do: replies go on"
    for one in store.seen.weak_models:
        yield warn(
            one.weakness(at.now_ms), f"{fix}; a stronger model, or one whose server parts its reasoning, is quicker"
        )


@check_rows("thoughts")
def unfit(at: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report souls that should think whole thoughts, and answer in words for now."""
    fix = 'nothing to do; a stronger SOUL_PERSONA_MODEL, or mind = "process" in its soul.toml, saves the calls'
    for one in store.seen.in_words:
        yield warn(f"{one.soul}: {one.in_words(at.now_ms)}", fix)


@check_rows("library")
def unread(_: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report files of the library that can't be read, or not to their end."""
    fix = "do that, or take it out; it is read again when it changes"
    for one in store.seen.faulty_files:
        found = f"{one.path}: {one.fault}"
        yield ok(found) if one.searched else warn(f"{one.path} is not read: {one.fault}", fix)


@check_rows("alarm")
def alarms(at: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report the alarms of the running daemons. Each says in its sentence what to do."""
    fix = "do what it says; it is taken back ten minutes after it was seen last"
    for one in store.seen.alarms:
        yield warn(f"for {age(at.now_ms, one.since_ms)}: {sentence_of(one.name)}", fix)


@check_rows("mirror")
def mirror(at: Premises, _: StoreRows) -> list[Finding]:
    """Check that the mirror of memory in files can be written, and was."""
    if not at.settings.mirror:
        return []
    try:
        folder = folder_for(at.settings.home, at.settings.mirror)
    except PathBlocked as error:
        return [warn(error.message, error.hint)]
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        return [warn(f"{folder} can't be written", f"check the owner and mode of {folder}")]
    if free_bytes(at.settings.home) < LEAST_ROOM:
        return [warn(f"{folder} waits: the disk is nearly full", "free space on it; it goes on by itself")]
    written = "is kept" if (folder / MANIFEST).exists() else "is not written yet; a daemon that runs writes it"
    return [ok(f"{folder} {written}")]


@check_rows("nights")
def nights(_: Premises, store: StoreRows) -> Iterator[Finding]:
    """Report the newest failed nights, and memories that are left alone."""
    for one in store.nights:
        yield warn(
            f"{one['id']} failed for {one['audience']}: {one['error']}", "see the log; the next night tries again"
        )
    if store.parked:
        fix = "see `soul memory runs` and `soul memory verify`"
        yield warn(f"{store.parked} memories are left alone, since a part failed at them three times", fix)


@check("vectors")
def vectors(at: Premises) -> Iterator[Finding]:
    """Check that memories can be found by meaning."""
    try:
        embedder = build_embedder(at.settings)
    except DaemonError as error:
        yield named("embedder", fail(error.message, error.hint))
        return
    if embedder is None:
        yield named("embedder", ok("none is set: memories are found by full text alone"))
        return
    finding, length = _embedder(embedder, asked=not at.offline or at.settings.embedder != "endpoint")
    yield named("embedder", finding)
    if at.path.exists():
        try:
            name, folder = embedder.id, at.settings.index_folder
            found = with_database(at.settings, lambda database: statistics(database, folder, name))
        except (DaemonError, OSError) as error:
            yield skip(f"not looked at: {error}")
        else:
            yield _state(found, length)


def _embedder(embedder: Embedder, *, asked: bool) -> tuple[Finding, int]:
    if not asked:
        return skip(f"{embedder.id} is not asked"), 0
    try:
        length = asyncio.run(_length(embedder))
    except ModelError as error:
        return warn(f"{error.message}; full text serves alone", error.hint), 0
    return ok(f"{embedder.id} gives vectors of {length} numbers"), length


async def _length(embedder: Embedder) -> int:
    try:
        (vector,) = await embedder.embed(["doctor"])
        return len(vector)
    finally:
        await embedder.aclose()


def _state(found: Statistics, length: int) -> Finding:
    line = f"{found.have} of {found.wanted} memories have vectors, {found.queued} changes wait; {found.kind}"
    if 0 not in {length, found.length} and length != found.length:
        return warn(f"{line}: {other_length(length, found.length)}; full text serves alone", HINT)
    if found.owner is None:
        return ok(f"{line}; no daemon keeps them now")
    line += f", generation {found.generation}, kept by process {found.owner}"
    if found.trouble:
        return warn(f"{line}: {found.trouble}; full text serves until then", found.hint)
    return ok(line)
