"""What a mirror of memory in files has still to follow, and which files it has written: rows that triggers keep.

An id is that of a turn or a record, `S:` and a conversation for its summary, `B:` and a digest for a picture, or a mark
of `MARKED` and the number of a row. The rows stay when the mirror is
switched off, so that what is forgotten still leaves its files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.memory.database import Database, Transaction
from daemon.memory.records import as_json, read_row


@dataclass(frozen=True, slots=True)
class MirrorState:
    """Where the mirror lies, below SOUL_HOME, and what it waits for (empty for nothing)."""

    folder: str
    trouble: str
    followed_ms: int


@dataclass(frozen=True, slots=True)
class MirrorStand:
    """The mirror for commands: its folder below SOUL_HOME, how many changes wait, and for what (empty for nothing)."""

    folder: str
    waiting: int
    trouble: str


@dataclass(frozen=True, slots=True)
class MirroredFile:
    """A file that was written for an id; without a path none could be."""

    id: str
    path: str
    digest: str


async def mirror_state(transaction: Transaction) -> MirrorState | None:
    """The mirror that is or was kept; None for none."""
    row = await transaction.one("SELECT folder, trouble, followed_ms FROM mirrors")
    return read_row(MirrorState, row) if row else None


async def mirror_stand(transaction: Transaction) -> MirrorStand | None:
    """How far the mirror is; None for none."""
    state = await mirror_state(transaction)
    return MirrorStand(state.folder, await changes_waiting(transaction), state.trouble) if state else None


async def open_mirror(transaction: Transaction, folder: str) -> None:
    """From now on changes are queued for a mirror in this folder."""
    await transaction.insert("mirrors", "ON CONFLICT DO UPDATE SET folder = excluded.folder", only=1, folder=folder)


async def close_mirror(transaction: Transaction) -> None:
    """There is no mirror any more, and its files are gone."""
    for table in ("mirrors", "mirrored_files", "mirror_queue"):
        await transaction.run(f"DELETE FROM {table}")  # noqa: S608 - literals


async def note_mirror(database: Database, trouble: str, now: int) -> None:
    """Note what the mirror waits for, or that it followed. Raises StoreError."""
    await database.write(
        lambda transaction: transaction.run(
            "UPDATE mirrors SET trouble = :trouble, followed_ms = CASE :trouble WHEN '' THEN :now ELSE followed_ms END",
            trouble=trouble,
            now=now,
        ),
        passing=True,
    )


async def next_changed(transaction: Transaction, most: int) -> Mapping[str, int]:
    """The ids that changed first, with their numbers in the queue."""
    rows = await transaction.rows("SELECT id, seq FROM mirror_queue ORDER BY seq LIMIT :most", most=most)
    return {row["id"]: row["seq"] for row in rows}


async def changes_waiting(transaction: Transaction) -> int:
    """How many ids wait."""
    row = await transaction.one("SELECT count(*) AS number FROM mirror_queue")
    assert row is not None
    number: int = row["number"]
    return number


async def enqueue_changed(transaction: Transaction, ids: Sequence[str]) -> None:
    """Queue ids whose files are not as they should be; one that waits already keeps its place."""
    await transaction.run_for_each("INSERT INTO mirror_queue (id) VALUES (:key) ON CONFLICT DO NOTHING", ids)


async def settle_changed(
    transaction: Transaction, done: Mapping[str, int], written: Sequence[MirroredFile], gone: Sequence[str]
) -> None:
    """Note which files were written and deleted, and take off the queue what has not changed again meanwhile."""
    for one in written:
        await transaction.insert(
            "mirrored_files",
            "ON CONFLICT DO UPDATE SET path = excluded.path, digest = excluded.digest",
            id=one.id,
            path=one.path,
            digest=one.digest,
        )
    await transaction.run_for_each("DELETE FROM mirrored_files WHERE id = :key", gone)
    await transaction.run_for_each("DELETE FROM mirror_queue WHERE seq = :key", done.values())


async def files_of_ids(transaction: Transaction, ids: Sequence[str]) -> Mapping[str, MirroredFile]:
    """The files that were written for these ids."""
    rows = await transaction.rows(
        "SELECT f.* FROM json_each(:ids) asked JOIN mirrored_files f ON f.id = asked.value", ids=as_json(list(ids))
    )
    return {row["id"]: read_row(MirroredFile, row) for row in rows}


async def files_after(transaction: Transaction, last: str, most: int) -> Sequence[MirroredFile]:
    """The files that were written, in the order of their ids."""
    rows = await transaction.rows(
        "SELECT * FROM mirrored_files WHERE id > :last ORDER BY id LIMIT :most", last=last, most=most
    )
    return [read_row(MirroredFile, row) for row in rows]


async def among_files(transaction: Transaction, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths under which a file was written."""
    rows = await transaction.rows(
        "SELECT value FROM json_each(:paths) WHERE value IN (SELECT path FROM mirrored_files)",
        paths=as_json(list(paths)),
    )
    return frozenset(row["value"] for row in rows)


async def outdated_files(transaction: Transaction) -> Sequence[MirroredFile]:
    """The files whose memories have changed or are gone, and which the mirror has not followed yet."""
    rows = await transaction.rows(
        "SELECT f.* FROM mirror_queue q JOIN mirrored_files f ON f.id = q.id WHERE f.path <> ''"
    )
    return [read_row(MirroredFile, row) for row in rows]


async def unwritten(transaction: Transaction, table: str, last: int, most: int) -> tuple[Sequence[str], int]:
    """Of the next rows of a table those without a file, and the number of the last row; 0 when there are no more."""
    rows = await transaction.rows(NEXT[table], last=last, most=most)
    return [row["id"] for row in rows if row["path"] is None], rows[-1]["seq"] if rows else 0


MARKED: Mapping[str, str] = {
    "intentions": "I:",
    "user_models": "U:",
    "user_model_history": "V:",
    "soul_state": "M:",
    "conversation_topics": "T:",
    "standing_questions": "Q:",
}
"""Tables whose rows are known by a mark and their number, which says nothing of anybody."""

NEXT: Mapping[str, str] = {
    "turns": """
        SELECT t.seq, t.id, f.path FROM (
          SELECT seq, iif(speaker = 'soul', 'TL_', 'TU_') || seq AS id FROM turns
          WHERE seq > :last ORDER BY seq LIMIT :most) t
        LEFT JOIN mirrored_files f ON f.id = t.id ORDER BY t.seq
        """,
    "records": """
        SELECT r.seq, r.id, f.path FROM (SELECT seq, id FROM records WHERE seq > :last ORDER BY seq LIMIT :most) r
        LEFT JOIN mirrored_files f ON f.id = r.id ORDER BY r.seq
        """,
    "working_memory": """
        SELECT w.seq, w.id, f.path FROM (
          SELECT rowid AS seq, 'S:' || conversation AS id FROM working_memory WHERE rowid > :last
          ORDER BY rowid LIMIT :most) w
        LEFT JOIN mirrored_files f ON f.id = w.id ORDER BY w.seq
        """,
    "senses": """
        SELECT s.seq, s.id, f.path FROM (
          SELECT rowid AS seq, 'B:' || raw_data_ref AS id FROM senses WHERE rowid > :last AND raw_data_ref <> ''
          ORDER BY rowid LIMIT :most) s
        LEFT JOIN mirrored_files f ON f.id = s.id ORDER BY s.seq
        """,
    **{
        table: f"""
        SELECT b.seq, b.id, f.path FROM (
          SELECT rowid AS seq, '{mark}' || rowid AS id FROM {table} WHERE rowid > :last ORDER BY rowid LIMIT :most) b
        LEFT JOIN mirrored_files f ON f.id = b.id ORDER BY b.seq
        """  # noqa: S608 - literals of this module
        for table, mark in MARKED.items()
    },
}
"""How each table of what is mirrored is looked through."""
