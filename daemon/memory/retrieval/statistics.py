"""Figures about the vector index and its owner, for commands, which never open Chroma."""

from collections.abc import Mapping
from pathlib import Path

from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.retrieval.keeper import owner_of
from daemon.memory.retrieval.sources import count_embeddable, queued
from daemon.memory.retrieval.vector_file import VectorFile, VectorsDamaged
from daemon.memory.retrieval.vectors import FILE


class Statistics(Value):
    """The counts of memories by kind, of memories with and without vectors, and of queued changes.

    `kind` is `exact`, `chroma` (if large shelves are in Chroma) or `none`. `owner` is the pid of the daemon that keeps
    the index, or None. `trouble` says what its work waits for, `hint` what helps. `generation` grows with each new
    folder of Chroma. `length` is the number of dimensions of stored vectors, 0 without any.
    """

    counts: Mapping[str, int]
    embedder: str
    wanted: int
    have: int
    queued: int
    kind: str
    owner: int | None
    generation: int
    trouble: str
    hint: str = ""
    length: int = 0


async def statistics(database: Database, folder: Path, embedder: str) -> Statistics:
    """Return the state of the index in a folder. `embedder` is the configured id, or ''. Raises StoreError."""
    wanted = await database.read(count_embeddable)
    waiting, counts = await database.read(queued), await database.read(_counts)
    owner = owner_of(folder)
    try:
        file = VectorFile(folder / FILE, read_only=True)
    except VectorsDamaged:
        return Statistics(counts, embedder, wanted, 0, waiting, "none", owner, 0, "")
    try:
        ours = bool(embedder) and file.fact("embedder") == embedder
        in_chroma = owner is not None and bool(file.fact("chroma"))
        return Statistics(
            counts=counts,
            embedder=embedder,
            wanted=wanted,
            have=file.count() if ours else 0,
            queued=waiting,
            kind="none" if not ours else "chroma" if in_chroma else "exact",
            owner=owner,
            generation=int(file.fact("generation") or "0"),
            trouble=file.fact("trouble") if owner is not None else "",
            hint=file.fact("trouble_hint") if owner is not None else "",
            length=file.length() if ours else 0,
        )
    finally:
        file.close()


async def _counts(transaction: Transaction) -> Mapping[str, int]:
    rows = await transaction.rows(
        """
        SELECT 'turn' AS kind, count(*) AS number FROM turns
        UNION ALL SELECT kind, count(*) FROM records GROUP BY kind
        UNION ALL SELECT 'passage', count(*) FROM library_passages
        """
    )
    return dict.fromkeys(map(str, RecordKind), 0) | {row["kind"]: row["number"] for row in rows}
