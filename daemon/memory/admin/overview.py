"""The state of the daemons and of memory.db at one moment: heartbeats, waiting work, spending, faults of the file."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from daemon.core.errors import SchemaMismatch, StoreError
from daemon.core.ports.services import ModelRole
from daemon.core.timetable import MINUTE_MS
from daemon.core.value import Value
from daemon.memory.admin.queue_admin import INBOX_STATES, OUTBOX_STATES
from daemon.memory.database import Database, Transaction, sqlite
from daemon.memory.database.backup import check_pragma, file_faults
from daemon.memory.database.schema import require_current
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.library import FaultyFile, faulty_files
from daemon.memory.knowledge.model_habits import ModelHabit, weak_habits
from daemon.memory.queues.alarms import Alarm, open_alarms
from daemon.memory.queues.claims import is_recent
from daemon.memory.queues.presence import SILENT_MS
from daemon.memory.records import Row
from daemon.memory.stream.authority import UnfitSoul, unfit_souls


async def unhosted_souls(
    transaction: Transaction, hosted: Iterable[tuple[str, str]], workspaces: Iterable[str]
) -> list[Row]:
    """Return the souls with waiting work that no daemon hosts, in workspaces with a live daemon.

    `hosted` are the hosted souls with their workspaces. Without a daemon, a workspace has none. `messages` includes due
    events, `notes` are those of souls.
    """
    rows = await transaction.rows(
        """
        SELECT soul, workspace, sum(messages) AS messages, sum(notes) AS notes, sum(posts) AS posts, sum(jobs) AS jobs,
               min(since) AS oldest_ms
        FROM (SELECT soul, workspace, sum(modality <> 'note') AS messages, sum(modality = 'note') AS notes, 0 AS posts,
                     0 AS jobs, min(received_ms) AS since
              FROM inbox WHERE state IN ('new', 'claimed') GROUP BY soul, workspace
              UNION ALL SELECT soul, workspace, 0, 0, count(*), 0, min(created_ms)
              FROM outbox WHERE state IN ('pending', 'sending') GROUP BY soul, workspace
              UNION ALL SELECT soul, workspace, 0, 0, 0, count(*), min(created_ms)
              FROM jobs WHERE state IN ('ready', 'running') GROUP BY soul, workspace)
        GROUP BY soul, workspace ORDER BY soul, workspace
        """
    )
    served, by = set(hosted), set(workspaces)
    lost = [row for row in rows if row["workspace"] in by and (row["soul"], row["workspace"]) not in served]
    return [dict(row) for row in lost]


_COUNTED_AT_ONCE = 20_000
_FOREVER = 2**62
_COUNTED: Mapping[str, tuple[str, Sequence[str]]] = {
    "inbox": ("received_ms", INBOX_STATES),
    "outbox": ("seq", OUTBOX_STATES),
    "jobs": ("seq", ("ready", "running", "done", "dead")),
}
"""The column behind the state in an index of each queue, and the states."""


class LiveDaemon(Value):
    """A row of `presence`. `gone`: its process has ended. `silent`: no heartbeat within SILENT_MS."""

    soul: str
    workspace: str
    kind: str
    host: str
    pid: int
    version: str
    sqlite: str
    started_ms: int
    seen_ms: int
    state: str
    detail: Mapping[str, object]
    gone: bool
    silent: bool

    @property
    def alive(self) -> bool:
        return not self.gone and not self.silent

    @property
    def hosts(self) -> frozenset[str]:
        souls = self.detail.get("souls")
        return frozenset((self.soul, *(souls if isinstance(souls, dict) else ())))


class Overview(Value):
    """The rows of the queues by state, the oldest waiting row of each queue, and all faults.

    `dead_intentions` counts scheduled events that could not begin. `weak_models` can't keep the form of an answer for
    now, or think aloud. `faulty_files` are the first library files that are not read to their end. `unhosted` are souls
    that no living daemon hosts. `in_words` are souls whose model keeps losing the form of a whole thought.
    """

    daemons: tuple[LiveDaemon, ...]
    inbox: Mapping[str, int]
    outbox: Mapping[str, int]
    jobs: Mapping[str, int]
    oldest_inbox_ms: int | None
    oldest_outbox_ms: int | None
    oldest_job_ms: int | None
    catch_up: list[Row]
    dead_intentions: int
    spent: Row
    weak_models: tuple[ModelHabit, ...]
    faulty_files: tuple[FaultyFile, ...]
    unhosted: list[Row]
    alarms: tuple[Alarm, ...]
    in_words: tuple[UnfitSoul, ...]
    schema: int
    journal: str


class SqliteBuild(Value):
    """The SQLite library of this program. `wal_safe`: it is free of the WAL-reset fault."""

    version: str
    wal_safe: bool


class FileCheck(Value):
    """The schema, the journal and the faults of memory.db. `cure` is the advice for the faults."""

    schema: int
    journal: str
    faults: tuple[str, ...]
    cure: str = ""


def sqlite_build() -> SqliteBuild:
    return SqliteBuild(sqlite3.sqlite_version, sqlite.wal_is_safe())


def check_file(path: Path, *, whole: bool) -> FileCheck:
    """Check a file: `whole`, or (much faster) its structure. Raises StoreError, and SchemaMismatch."""
    try:
        with closing(sqlite.connect(path)) as connection:
            schema, journal = sqlite.schema_version(connection), sqlite.journal_mode(connection)
            faults = file_faults(connection) if whole else check_pragma(connection, "quick_check")
    except sqlite3.Error as error:
        raise sqlite.translate(error) from error
    cure = "stop the daemon, then restore a backup: soul db restore PATH" if faults else ""
    try:
        require_current(schema)
    except SchemaMismatch as mismatch:
        faults.append(mismatch.message)
        cure = cure or mismatch.hint
    return FileCheck(schema, journal, tuple(faults), cure)


async def survey(database: Database, now_ms: int, since_ms: int) -> Overview:
    """Return the overview at `now_ms`, with the spending since `since_ms`."""

    counts = {table: await _counts(database, table, *columns) for table, columns in _COUNTED.items()}

    async def unit(transaction: Transaction) -> Overview:
        schema = await _number(transaction, "PRAGMA user_version")
        journal = await transaction.one("PRAGMA journal_mode")
        rows = await transaction.rows("SELECT * FROM presence ORDER BY started_ms")
        found = tuple(_daemon(row, now_ms, database) for row in rows)
        alive = [one for one in found if one.alive]
        hosted = [(soul, one.workspace) for one in alive for soul in one.hosts]
        return Overview(
            daemons=found,
            inbox=counts["inbox"],
            outbox=counts["outbox"],
            jobs=counts["jobs"],
            oldest_inbox_ms=await _number(
                transaction, "SELECT min(received_ms) FROM inbox WHERE state IN ('new', 'claimed')"
            ),
            oldest_outbox_ms=await _number(
                transaction, "SELECT min(created_ms) FROM outbox WHERE state IN ('drafting', 'pending', 'sending')"
            ),
            oldest_job_ms=await _number(
                transaction, "SELECT min(created_ms) FROM jobs WHERE state IN ('ready', 'running')"
            ),
            catch_up=await _catch_up(transaction),
            dead_intentions=await _number(transaction, "SELECT count(*) FROM intentions WHERE state = 'dead'") or 0,
            spent=await _spending(transaction, since_ms),
            weak_models=await weak_habits(transaction, now_ms),
            faulty_files=await faulty_files(transaction),
            unhosted=await unhosted_souls(transaction, hosted, [one.workspace for one in alive]),
            alarms=await open_alarms(transaction),
            in_words=await unfit_souls(transaction, now_ms),
            schema=schema or 0,
            journal=str(journal[0]) if journal else "",
        )

    return await database.read(unit)


async def _counts(database: Database, table: str, order: str, states: Sequence[str]) -> dict[str, int]:
    """Count by state, some thousands of rows at a time, because a long read delays commits."""
    counts = {state: await _count(database, table, order, state) for state in sorted(states)}
    return {state: count for state, count in counts.items() if count}


async def _count(database: Database, table: str, order: str, state: str) -> int:
    total, after = 0, -1
    ahead = f"FROM {table} WHERE state = :state AND {order} > :after"
    while True:
        last = await database.one(
            f"SELECT {order} AS at {ahead} ORDER BY {order} LIMIT 1 OFFSET :skipped",
            state=state,
            after=after,
            skipped=_COUNTED_AT_ONCE,
        )
        upto = last["at"] if last else _FOREVER
        row = await database.one(
            f"SELECT count(*) AS n {ahead} AND {order} <= :upto", state=state, after=after, upto=upto
        )
        total += row["n"] if row else 0
        if last is None:
            return total
        after = upto


async def _number(transaction: Transaction, sql: str) -> int | None:
    row = await transaction.one(sql)
    return None if row is None or row[0] is None else int(row[0])


async def _catch_up(transaction: Transaction) -> list[Row]:
    """Return each soul's progress in reading Slack's history up to a ts. Without a catch-up the counts are 0."""
    rows = await transaction.rows(
        """
        SELECT s.soul, s.workspace, coalesce(w.ts, '') AS up_to,
               coalesce(sum(CASE WHEN p.thread = '' THEN 1 ELSE 0 END), 0) AS rooms,
               coalesce(sum(CASE WHEN p.thread = '' AND p.state = 'read' THEN 1 ELSE 0 END), 0) AS rooms_read,
               coalesce(sum(CASE WHEN p.thread <> '' THEN 1 ELSE 0 END), 0) AS threads,
               coalesce(sum(CASE WHEN p.thread <> '' AND p.state = 'read' THEN 1 ELSE 0 END), 0) AS threads_read
        FROM (SELECT soul, workspace FROM watermarks UNION SELECT soul, workspace FROM unread_places) s
        LEFT JOIN watermarks w ON w.soul = s.soul AND w.workspace = s.workspace
        LEFT JOIN unread_places p ON p.soul = s.soul AND p.workspace = s.workspace
        GROUP BY s.soul, s.workspace, w.ts ORDER BY s.soul, s.workspace
        """
    )
    return [dict(row) for row in rows]


async def _spending(transaction: Transaction, since_ms: int) -> Row:
    """Return the calls since a time. `unpriced` counts those whose highest possible cost is in `cost_usd`."""
    row = await transaction.one(
        """
        SELECT count(*) AS calls, coalesce(sum(outcome <> 'ok'), 0) AS failed,
               coalesce(sum(tokens_in), 0) AS tokens_in, coalesce(sum(tokens_cached), 0) AS tokens_cached,
               coalesce(sum(tokens_out), 0) AS tokens_out, coalesce(sum(cost_usd), 0.0) AS cost_usd,
               coalesce(sum(cost_bound OR (cost_usd IS NULL AND outcome = 'ok')), 0) AS unpriced
        FROM llm_calls WHERE started_ms >= :since
        """,
        since=since_ms,
    )
    assert row is not None  # an aggregate always has a row
    return dict(row)


def _daemon(row: sqlite3.Row, now_ms: int, database: Database) -> LiveDaemon:
    shared = {name: row[name] for name in LiveDaemon.__struct_fields__ if name in row.keys()}  # noqa: SIM118  # a Row iterates over values
    try:
        gone = bool(database.processes.has_ended(row["id"]))
        detail = json.loads(row["detail"])
    except ValueError as error:
        raise StoreError(f"a row of presence can't be read: {error}", hint="run `soul db check`") from error
    silent = not is_recent(row["seen_ms"], now_ms, SILENT_MS)
    return LiveDaemon(**shared | {"detail": detail, "gone": gone, "silent": silent})


_LOOKED_AT: Final = 10  # messages
_MOST_FAILED: Final = 3  # failed messages that still count as few
_CALLS: Final = 400  # model calls read for these messages
_DAY_MS: Final = 24 * 60 * MINUTE_MS


class FailedAnswers(Value):
    """The number of `failed` messages among `looked_at`, with the `model` and `outcome` of most of them."""

    looked_at: int
    failed: int
    model: str
    outcome: str


async def failed_answers(database: Database, now_ms: int) -> FailedAnswers | None:
    """Return the failures among the newest messages of a day, or None if few failed.

    A message counts by the last call of its soul's voice: `malformed`, `refused` or `unavailable`. Unasked thoughts
    don't count.
    """
    rows = await database.rows(
        """
        SELECT trace_id, model, outcome FROM (
          SELECT seq, trace_id, role, model, outcome FROM llm_calls WHERE started_ms > :since AND tick = 0
          ORDER BY seq DESC LIMIT :calls)
        WHERE role = :voice AND outcome <> 'cancelled' ORDER BY seq DESC
        """,
        since=now_ms - _DAY_MS,
        calls=_CALLS,
        voice=ModelRole.PERSONA,
    )
    last = dict[str, tuple[str, str]]()
    for row in rows:
        last.setdefault(row["trace_id"], (row["model"], row["outcome"]))
    newest = list(last.values())[:_LOOKED_AT]
    failed = Counter(one for one in newest if one[1] != "ok")
    if failed.total() <= _MOST_FAILED:
        return None
    ((model, outcome), _), *_ = failed.most_common(1)
    return FailedAnswers(len(newest), failed.total(), model, outcome)
