"""Reads what memory.db holds as files of a passport, a batch at a time."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.memory.database import Database, Transaction, one_of
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.records.ids import turn_id, turn_seq
from daemon.memory.knowledge.records.links import Link, Relation, links_from, links_to
from daemon.memory.knowledge.records.store import get
from daemon.memory.knowledge.sense_bytes import SenseBytes
from daemon.memory.passport.beside_rows import BESIDE, BY_TABLE, beside_file
from daemon.memory.passport.names import PassportKind
from daemon.memory.passport.pictures import MARK as PICTURE
from daemon.memory.passport.pictures import PICTURES_AFTER, PictureFile, picture_file
from daemon.memory.passport.rendering import PassportFile, Ties, file_of_record, file_of_session, file_of_turn, in_order
from daemon.memory.records import Speaks

SUMMARY: Final = "S:"
"""Stands before a conversation where the file of its summary is meant."""

_AT_ONCE: Final = 100
_TURNS_AFTER: Final = """
    SELECT seq, iif(speaker = 'soul', 'TL_', 'TU_') || seq AS id FROM turns
    WHERE seq > :last AND passing = 0 ORDER BY seq LIMIT :most
    """
_RECORDS_AFTER: Final = "SELECT seq, id FROM records WHERE seq > :last ORDER BY seq LIMIT :most"
_SESSIONS_AFTER: Final = """
    SELECT rowid AS seq, 'S:' || conversation AS id FROM working_memory WHERE rowid > :last ORDER BY rowid LIMIT :most
    """
_TURNS: Final = """
    SELECT t.*, c.place, p.id AS shown FROM turns t
    JOIN conversations c ON c.id = t.conversation LEFT JOIN passport_turns p ON p.seq = t.seq
    """
_SESSIONS: Final = """
    SELECT w.*, c.soul, c.workspace, c.channel, c.place FROM working_memory w
    JOIN conversations c ON c.id = w.conversation
    """


AnyFile = PassportFile | PictureFile
"""A memory in JSON, or the bytes of a picture."""


@dataclass(frozen=True, slots=True)
class Unwritable:
    """A row that can't be made a file, by its id; what it says is no memory."""

    id: str


async def all_files(
    database: Database, pictures: SenseBytes | None = None
) -> AsyncIterator[Sequence[AnyFile | Unwritable]]:
    """Every file of a passport of memory.db, some at a time: turns, records, summaries, and so on, as they came.

    What was said while its author had remembering paused is no part of it. Without `pictures` there are none.
    """
    tables = (_TURNS_AFTER, _RECORDS_AFTER, _SESSIONS_AFTER, *(one.after for one in BESIDE), PICTURES_AFTER)
    for following in tables:
        last = 0
        while True:
            files, last = await database.read(partial(_some_files, following=following, last=last, pictures=pictures))
            yield files
            if not last:
                break


async def file_or_fault(transaction: Transaction, key: str, pictures: SenseBytes | None) -> AnyFile | Unwritable | None:
    """The same as `file_of_key`, where no row, whatever it holds, raises anything but an error of the database."""
    try:
        return await file_of_key(transaction, key, pictures)
    except sqlite3.Error:
        raise
    except Exception:  # noqa: BLE001 - one row that is no memory must not keep the others from being written
        return Unwritable(key)


async def names_of_turns(transaction: Transaction) -> Mapping[str, str]:
    """The ids here of turns that have another one in passports."""
    rows = await transaction.rows("SELECT p.id, t.seq, t.speaker FROM passport_turns p JOIN turns t ON t.seq = p.seq")
    return {row["id"]: turn_id(Speaks(row["speaker"]), row["seq"]) for row in rows}


async def files_of(
    transaction: Transaction, kind: PassportKind, here: str, conversation: ConversationKey | None
) -> PassportFile | None:
    """The file of a turn, a record or a summary by its id here; None where there is none."""
    if kind is PassportKind.SESSION:
        row = await transaction.one(f"{_SESSIONS} WHERE w.conversation = :id", id=str(conversation))
        return file_of_session(row) if row else None
    seq = turn_seq(here)
    if seq is None:
        record = await get(transaction, here)
        return file_of_record(record, await _ties(transaction, here)) if record else None
    row = await transaction.one(f"{_TURNS} WHERE t.seq = :seq", seq=seq)
    if row is None or here != turn_id(Speaks(row["speaker"]), seq):
        return None
    return await _file_of_turn(transaction, row)


async def file_of_key(transaction: Transaction, key: str, pictures: SenseBytes | None) -> AnyFile | None:
    """The file of a turn or record by its id, or of the summary of a conversation by `S:` and the conversation.

    Of a picture by `B:` and its digest, of other rows by their table and number. None where there is none, or none that
    an export would write.
    """
    if key.partition(":")[0] in BY_TABLE:
        return await beside_file(transaction, key)
    if key.startswith(PICTURE):
        return await picture_file(transaction, key, pictures)
    if key.startswith(SUMMARY):
        row = await transaction.one(f"{_SESSIONS} WHERE w.conversation = :id", id=key.removeprefix(SUMMARY))
        return file_of_session(row) if row else None
    if (seq := turn_seq(key)) is not None:
        row = await transaction.one(f"{_TURNS} WHERE t.seq = :seq AND t.passing = 0", seq=seq)
        return await _file_of_turn(transaction, row) if row else None
    record = await get(transaction, key)
    return file_of_record(record, await _ties(transaction, key)) if record else None


async def _some_files(
    transaction: Transaction, following: str, last: int, pictures: SenseBytes | None
) -> tuple[Sequence[AnyFile | Unwritable], int]:
    """The files of the next rows of a table, and the number of the last of these; 0 when there are none."""
    rows = await transaction.rows(following, last=last, most=_AT_ONCE)
    files = [await file_or_fault(transaction, row["id"], pictures) for row in rows]
    return [one for one in files if one is not None], rows[-1]["seq"] if rows else 0


async def _file_of_turn(transaction: Transaction, row: sqlite3.Row) -> PassportFile:
    here = turn_id(Speaks(row["speaker"]), row["seq"])
    episodes = in_order(one.origin for one in await links_to(transaction, here, Relation.TURN_REFS))
    episode = next((one for one in episodes if one.startswith("EP_")), "")
    return file_of_turn(row, row["shown"] or here, episode)


async def _ties(transaction: Transaction, record_id: str) -> Ties:
    outward, inward = await links_from(transaction, record_id), await links_to(transaction, record_id)
    names = await _shown(transaction, [one.target for one in outward])
    return Ties(
        [Link(one.origin, one.relation, names.get(one.target, one.target), one.quote) for one in outward], inward
    )


async def _shown(transaction: Transaction, ids: Sequence[str]) -> Mapping[str, str]:
    """The ids in passports of those turns that have another one there."""
    seqs = {seq: one for one in ids if (seq := turn_seq(one)) is not None}
    if not seqs:
        return {}
    among, keys = one_of(seqs)
    rows = await transaction.rows(f"SELECT seq, id FROM passport_turns WHERE seq IN {among}", **keys)  # noqa: S608 - numbered names
    return {seqs[row["seq"]]: row["id"] for row in rows}


async def workspace_of(transaction: Transaction, soul: str) -> str:
    """The workspace that a soul was heard in last; empty for none."""
    row = await transaction.one(
        "SELECT workspace FROM conversations WHERE soul = :soul ORDER BY last_ms DESC LIMIT 1", soul=soul
    )
    return row["workspace"] if row else ""
