"""Consolidation as an admin sees it: its runs, the memories it skips, undo, and a check of memory.db."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.value import Value
from daemon.memory.audit import AuditedChanges, one_write
from daemon.memory.consolidation.undo import Undone, undo
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.learning import stands_in
from daemon.memory.knowledge.records.kinds import Record
from daemon.memory.knowledge.records.ledger import broken_at, digest_of
from daemon.memory.knowledge.records.links import turn_seq
from daemon.memory.knowledge.records.store import content_of, get_any
from daemon.memory.knowledge.turn_index import content_of_turn
from daemon.memory.records import Row
from daemon.memory.retrieval.reconcile import difference
from daemon.memory.retrieval.sources import queued
from daemon.memory.retrieval.vector_file import VectorFile, VectorsDamaged
from daemon.memory.retrieval.vectors import FILE

_MOST_FAULTS = 20


async def list_runs(database: Database, limit: int, *, slot: tuple[str, str, int] | None = None) -> list[Row]:
    """Return the newest runs, of all slots or of one (soul, workspace, time in ms).

    `did` counts changed memories by part, `tokens` are input and output.
    """
    soul, workspace, slot_ms = slot or ("", "", 0)
    rows = await database.rows(
        """
        SELECT * FROM consolidations
        WHERE :soul = '' OR (soul = :soul AND workspace = :workspace AND slot_ms = :slot_ms)
        ORDER BY began_ms DESC, id DESC LIMIT :limit
        """,
        soul=soul,
        workspace=workspace,
        slot_ms=slot_ms,
        limit=limit,
    )
    return [_run(row) for row in rows]


def _run(row: sqlite3.Row) -> Row:
    return {**dict(row), "did": json.loads(row["did"])}


async def parked_memories(database: Database, limit: int) -> list[Row]:
    """Return the memories that a part of consolidation skips after too many failures."""
    rows = await database.rows(
        "SELECT object AS id, part, reason FROM consolidation_items WHERE parked = 1 ORDER BY id, part LIMIT :limit",
        limit=limit,
    )
    return [dict(row) for row in rows]


async def minds(database: Database, souls: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return each soul and workspace with memories, of these souls."""
    rows = await database.rows("SELECT DISTINCT soul, workspace FROM conversations ORDER BY soul, workspace")
    return tuple((row["soul"], row["workspace"]) for row in rows if row["soul"] in souls)


async def is_over(database: Database, soul: str, workspace: str, slot_ms: int) -> bool:
    """Return True if an ordered slot is done, or failed and waits for a retry."""
    row = await database.one(
        """
        SELECT 1 FROM consolidation_slots WHERE soul = :soul AND workspace = :workspace AND slot_ms >= :slot_ms
          AND (slot_ms > :slot_ms OR state = 'done' OR tries > 0) AND (ordered_ms IS NULL OR ordered_ms > :slot_ms)
        """,
        soul=soul,
        workspace=workspace,
        slot_ms=slot_ms,
    )
    return row is not None


async def is_begun(database: Database, soul: str, workspace: str, slot_ms: int) -> bool:
    """Return True if a daemon has claimed an ordered slot."""
    row = await database.one(
        "SELECT 1 FROM consolidation_slots WHERE soul = :soul AND workspace = :workspace AND slot_ms >= :slot_ms",
        soul=soul,
        workspace=workspace,
        slot_ms=slot_ms,
    )
    return row is not None


async def night_faults(database: Database) -> tuple[list[Row], int]:
    """Return the newest runs of their audiences that failed, and the number of skipped memories."""
    rows = await database.rows(
        f"""
        SELECT * FROM consolidations c WHERE c.state = 'failed' AND NOT EXISTS (
          SELECT 1 FROM consolidations n WHERE n.soul = c.soul AND n.workspace = c.workspace
            AND n.audience = c.audience AND n.began_ms > c.began_ms)
        ORDER BY c.began_ms DESC LIMIT {_MOST_FAULTS}
        """  # noqa: S608 - a constant
    )
    parked = await database.one("SELECT count(*) AS n FROM consolidation_items WHERE parked = 1")
    return [_run(row) for row in rows], int(parked["n"]) if parked else 0


class NightAdmin(AuditedChanges):
    @one_write
    async def undo(self, transaction: Transaction, run: str) -> Undone:
        """Undo a run. Raises StoreError if the run doesn't exist or can't be undone."""
        now = self._clock.now_ms()
        done = await undo(transaction, run, now)
        await self._record(transaction, "memory.undo", run)
        return done


_AT_ONCE: Final = 200
_AUDIT: Final = "audit "
_KINDS: Final = (_AUDIT, "TU_", "TL_", "EP_", "core_", "sphere_", "sem_", "SMEM_", "JN_")
"""The prefixes of names in the ledger whose content can be looked up."""


class MemoryFindings(Value):
    """The faults of the memories, by ids.

    `facts` counts all facts. `unquoted` are facts that claim a proof whose quotation isn't found. `index_missing` and
    `index_orphaned` concern both indexes, of words and of vectors. Rows that wait to be embedded aren't missing.
    `broken_at` is the first row of the ledger that doesn't follow from the one before. `altered` are objects that
    differ from their newest digest there.
    """

    facts: int
    unquoted: tuple[str, ...]
    links_broken: tuple[str, ...]
    index_missing: tuple[str, ...]
    index_orphaned: tuple[str, ...]
    broken_at: int | None
    altered: tuple[str, ...]

    @property
    def chain(self) -> bool:
        return self.broken_at is None and not self.altered

    @property
    def sound(self) -> bool:
        return self.chain and not (self.unquoted or self.links_broken or self.index_missing or self.index_orphaned)


async def check_memory(database: Database, index: Path, embedder: str) -> MemoryFindings:
    """Check memory.db and the vectors in `index` of the current `embedder` ('' for none). Raises StoreError."""
    facts, unquoted = await _unquoted(database)
    missing, orphaned = await _word_indexes(database)
    more_missing, more_orphaned = await _vectors(database, index, embedder) if embedder else ((), ())
    return MemoryFindings(
        facts=facts,
        unquoted=unquoted,
        links_broken=await _broken_links(database),
        index_missing=(*missing, *more_missing),
        index_orphaned=(*orphaned, *more_orphaned),
        broken_at=await broken_at(database),
        altered=await _altered(database),
    )


async def _unquoted(database: Database) -> tuple[int, tuple[str, ...]]:
    facts, found = 0, list[str]()
    async for rows in _pages(database, _facts_after):
        facts += len({row["id"] for row in rows})
        proved = {row["id"] for row in rows if row["body"] and row["quote"] and stands_in(row["quote"], row["body"])}
        found += sorted({row["id"] for row in rows if row["trust"] in {"own", "claim"}} - proved)
    return facts, tuple(found)


async def _facts_after(transaction: Transaction, last: int) -> Sequence[sqlite3.Row]:
    return await transaction.rows(
        f"""
        SELECT r.seq, r.id, r.trust, l.quote, t.body
        FROM (SELECT seq, id, trust FROM records WHERE kind = 'fact' AND seq > :last ORDER BY seq LIMIT {_AT_ONCE}) r
        LEFT JOIN links l ON l.origin = r.id AND l.relation = 'evidence'
        LEFT JOIN turns t ON l.target = 'TU_' || t.seq AND t.seq = CAST(substr(l.target, 4) AS INTEGER)
          AND t.speaker = 'person'
        ORDER BY r.seq
        """,  # noqa: S608 - a constant
        last=last,
    )


async def _broken_links(database: Database) -> tuple[str, ...]:
    found = set[str]()
    for end in ("origin", "target"):
        last = ""
        while ends := await database.read(partial(_ends_after, end=end, last=last)):
            found.update(row["id"] for row in ends if row["broken"])
            last = ends[-1]["id"]
    return tuple(sorted(found))


async def _ends_after(transaction: Transaction, end: str, last: str) -> Sequence[sqlite3.Row]:
    return await transaction.rows(
        f"""
        SELECT e.id, CASE WHEN substr(e.id, 1, 3) IN ('TU_', 'TL_')
            THEN NOT EXISTS (SELECT 1 FROM turns t WHERE t.seq = CAST(substr(e.id, 4) AS INTEGER)
                               AND e.id = iif(t.speaker = 'soul', 'TL_', 'TU_') || t.seq)
            ELSE NOT EXISTS (SELECT 1 FROM records r WHERE r.id = e.id) END AS broken
        FROM (SELECT DISTINCT {end} AS id FROM links WHERE {end} > :last ORDER BY {end} LIMIT {_LOOKED_AT}) e
        ORDER BY e.id
        """,  # noqa: S608 - literals
        last=last,
    )


async def _word_indexes(database: Database) -> tuple[tuple[str, ...], tuple[str, ...]]:
    missing = [one for sql in _MISSING for one in await _found(database, sql)]
    orphaned = [one for sql in _ORPHANED for one in await _found(database, sql)]
    return tuple(missing), tuple(orphaned)


async def _found(database: Database, sql: str) -> list[str]:
    async def after(transaction: Transaction, last: int) -> Sequence[sqlite3.Row]:
        return await transaction.rows(f"{sql} WHERE seq > :last ORDER BY seq LIMIT {_LOOKED_AT}", last=last)

    return [row["id"] async for rows in _pages(database, after) for row in rows if row["found"]]


_LOOKED_AT: Final = 20_000  # rows of a table in one read, which has to be short
_MISSING: Final = (
    """
    SELECT seq, iif(speaker = 'soul', 'TL_', 'TU_') || seq AS id,
      kind <> 'apology' AND passing = 0 AND NOT EXISTS (SELECT 1 FROM turn_words w WHERE w.seq = t.seq) AS found
    FROM turns t""",
    """
    SELECT seq, id,
      kind <> 'journal' AND text <> '' AND NOT EXISTS (SELECT 1 FROM record_words w WHERE w.seq = r.seq) AS found
    FROM records r""",
)
_ORPHANED: Final = (
    """
    SELECT seq, 'turn ' || seq AS id, NOT EXISTS (SELECT 1 FROM turns t WHERE t.seq = w.seq) AS found
    FROM turn_words w""",
    """
    SELECT seq, 'record ' || seq AS id, NOT EXISTS (SELECT 1 FROM records r WHERE r.seq = w.seq) AS found
    FROM record_words w""",
)
_UNWRITTEN: Final = """
    SELECT seq, id, NOT EXISTS (SELECT 1 FROM ledger l WHERE l.object = r.id) AS found FROM records r"""


async def _vectors(database: Database, index: Path, embedder: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return missing and orphaned vectors, both empty while rows wait or with another embedder's vectors."""
    if await database.read(queued):
        return (), ()
    try:
        file = VectorFile(index / FILE, read_only=True)
    except VectorsDamaged:
        return (), ()
    try:
        if file.fact("embedder") != embedder:
            return (), ()
        found = await difference(database, file)
        return found.missing, found.orphaned
    finally:
        file.close()


async def _altered(database: Database) -> tuple[str, ...]:
    found: list[str] = []
    async for rows in _pages(database, _newest_lines_after):
        found += await database.read(partial(_differing, rows=rows))
    return (*found, *await _found(database, _UNWRITTEN))


async def _newest_lines_after(transaction: Transaction, last: int) -> Sequence[sqlite3.Row]:
    return await transaction.rows(
        f"""
        SELECT * FROM ledger l WHERE seq > :last AND digest <> '' AND salt <> ''
          AND NOT EXISTS (SELECT 1 FROM ledger n WHERE n.object = l.object AND n.seq > l.seq)
        ORDER BY seq LIMIT {_AT_ONCE}
        """,  # noqa: S608 - a constant
        last=last,
    )


async def _differing(transaction: Transaction, rows: Sequence[sqlite3.Row]) -> list[str]:
    return [
        row["object"]
        for row in rows
        if row["object"].startswith(_KINDS)
        and digest_of(row["salt"], await _content(transaction, row["object"])) != row["digest"]
    ]


async def _content(transaction: Transaction, name: str) -> object:
    if name.startswith(_AUDIT):
        row = await transaction.one(
            "SELECT actor, act, object, detail, done_ms FROM audit WHERE seq = :seq", seq=int(name.removeprefix(_AUDIT))
        )
        return dict(row) if row else None
    if (seq := turn_seq(name)) is not None:
        row = await transaction.one("SELECT * FROM turns WHERE seq = :seq", seq=seq)
        return content_of_turn(row) if row else None
    record = await get_any(transaction, name)
    return content_of(record) if isinstance(record, Record) else None


async def _pages(
    database: Database, after: Callable[[Transaction, int], Awaitable[Sequence[sqlite3.Row]]]
) -> AsyncIterator[Sequence[sqlite3.Row]]:
    last = 0
    while rows := await database.read(lambda transaction, last=last: after(transaction, last)):  # type: ignore[misc]
        yield rows
        last = rows[-1]["seq"]
