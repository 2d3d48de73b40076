"""Restoring a backup in place of memory.db, without doing its unfinished work twice."""

import json
import secrets
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.memory.database import backup, copies, sqlite
from daemon.memory.database.process_locks import ProcessLocks
from daemon.memory.database.schema import migrate
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.people.forgetting import forget_again
from daemon.memory.queues.presence import GHOST_MS

_REASON: Final = "restored from a backup"
_STOP_FIRST: Final = "stop it first; --force restores anyway, and loses the work that it is doing"

# Work that waited when the copy was made may be done since: posts are looked up before they are sent, messages become
# stale instead of getting a second reply, and without the watermark Slack's history is read again.
_PREPARE: Final = (
    "UPDATE outbox SET state = 'sending', lease_until = 0, lease_owner = '', not_before = 0 WHERE state = 'pending'",
    "UPDATE outbox SET lease_until = 0, lease_owner = '' WHERE state = 'sending'",
    "UPDATE outbox SET state = 'dropped', reason = :reason, settled_ms = :now WHERE state = 'drafting'",
    "UPDATE conversations SET lease_until = 0, lease_owner = ''",
    "UPDATE jobs SET lease_until = 0, lease_owner = ''",
    "UPDATE consolidation_slots SET lease_until = 0, lease_owner = ''",
    "UPDATE approvals SET state = 'unknown' WHERE state IN ('approved', 'using')",
    """
    UPDATE intentions SET state = 'cancelled', reason = :reason, settled_ms = :now
    WHERE state = 'waiting' AND every = '' AND due_ms <= :now AND slot NOT GLOB 'mind:*'
    """,
    "DELETE FROM presence",
    "DELETE FROM watermarks",
    "DELETE FROM unread_places",
    "INSERT INTO audit (actor, act, object, detail, done_ms) VALUES (:actor, 'db.restore', :file, :detail, :now)",
)
_SET_ASIDE: Final = """
  UPDATE inbox SET state = 'stale', reason = :reason, settled_ms = :now WHERE state IN ('new', 'claimed') RETURNING id
"""


class Restored(Value):
    """The result of a restore.

    `replaced` is the new path of the former file, if there was one. `waiting` counts messages that became stale.
    `forgotten` counts people who had asked to be forgotten after the copy was made: they are forgotten in it, too.
    """

    replaced: Path | None
    schema: int
    waiting: int
    forgotten: int = 0


def restore(
    source: Path, path: Path, clock: Clock, *, actor: str, force: bool = False, migrates: bool = True
) -> Restored:
    """Replace memory.db at `path` by the copy `source`. The former file stays in the folder under another name.

    Without `migrates` the copy keeps its schema, for an older program. The change is one rename, after the new file is
    checked and on disk. Raises StoreError or SchemaMismatch and changes nothing if the copy is damaged or newer, or
    (without `force`) if a daemon may be alive.
    """
    if path.exists() and source.exists() and source.samefile(path):
        raise StoreError(f"{source} is the live file itself", hint="give the path of a backup")
    backup.verify(source)
    if not force:
        _require_no_daemon(path, clock)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.restoring")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = backup.back_up(source, fresh, clock)
        schema = migrate(fresh)[1] if migrates else made.schema
        waiting, forgotten = _prepare(fresh, source, path, clock, actor)
        replaced = _keep_aside(path, clock) if path.exists() else None
        fresh.rename(path)
        backup.sync(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path} can't be replaced: {error.strerror}", hint="check the owner and mode of the data folder"
        ) from error
    finally:
        backup.discard(fresh)
    return Restored(replaced, schema, waiting, forgotten)


def _require_no_daemon(path: Path, clock: Clock) -> None:
    if not path.exists():
        return
    try:
        with closing(sqlite.connect(path)) as connection:
            rows = connection.execute("SELECT id, pid, host, seen_ms FROM presence").fetchall()
    except (sqlite3.Error, StoreError) as error:
        raise StoreError(
            f"{path} can't be read to see whether a daemon is alive: {error}",
            hint="check that no daemon runs, then repeat with --force",
        ) from error
    processes = ProcessLocks(path)
    for row in rows:
        ended, silent = processes.has_ended(row["id"]), abs(clock.now_ms() - row["seen_ms"]) > GHOST_MS
        if ended is False or (ended is None and not silent):
            raise StoreError(f"a daemon is alive (process {row['pid']} on {row['host']})", hint=_STOP_FIRST)


def _prepare(fresh: Path, source: Path, path: Path, clock: Clock, actor: str) -> tuple[int, int]:
    """Prepare the copy for a daemon. Return the numbers of messages that waited and of people forgotten again."""
    now = clock.now_ms()
    values = {"now": now, "reason": _REASON, "actor": actor, "file": str(source)}
    try:
        with closing(sqlite.connect(fresh)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            waiting = len(connection.execute(_SET_ASIDE, values).fetchall())
            for statement in _PREPARE:
                connection.execute(statement, {**values, "detail": json.dumps({"waiting": waiting})})
            forgotten = forget_again(connection, path.parent, now)
            connection.execute("COMMIT")
            if sqlite.wal_is_safe():
                connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.Error as error:
        raise sqlite.translate(error) from error
    return waiting, forgotten


def _keep_aside(path: Path, clock: Clock) -> Path:
    """Give the former file a second name, and move along a journal that SQLite could not fold into it."""
    aside = path.with_name(f"{path.stem}-replaced-{copies.name_at(clock.now_ms()).removeprefix('memory-')}")
    with suppress(sqlite3.Error, StoreError), closing(sqlite.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    aside.hardlink_to(path)
    for suffix in backup.COMPANIONS:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside
