"""Rows of memory.db as files of a passport, read in batches, and the bytes of pictures."""

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.perception import ConversationKey
from daemon.core.text import visible_line
from daemon.memory.database import Database, Transaction, one_of
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.links import Link, Relation, links_from, links_to, turn_id, turn_seq
from daemon.memory.knowledge.records.store import get
from daemon.memory.knowledge.senses import is_shown
from daemon.memory.knowledge.shared_files import SenseBytes, digest_of
from daemon.memory.passport.beside_rows import BESIDE, BY_TABLE, beside_file
from daemon.memory.passport.names import PICTURE_SUFFIX, PICTURES, PassportKind, picture_path
from daemon.memory.passport.reading import RefusedFile, named, plain_bytes, root_of
from daemon.memory.passport.rendering import PassportFile, Ties, file_of_record, file_of_session, file_of_turn, in_order
from daemon.memory.records import Speaks

MARK: Final = "B:"
"""The prefix of a picture's digest in the key of its file."""

LARGEST_PICTURE: Final = 20 * 2**20
"""The size in bytes of the largest imported picture."""

PICTURES_AFTER: Final = f"""
    SELECT rowid AS seq, '{MARK}' || raw_data_ref AS id FROM senses
    WHERE rowid > :last AND raw_data_ref <> '' ORDER BY rowid LIMIT :most
    """  # noqa: S608 - a constant
_JPEG: Final = b"\xff\xd8\xff"
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture: its path within the passport, its prefix and digest, and the folder that holds it."""

    path: str
    id: str
    folder: SenseBytes

    @property
    def bytes(self) -> bytes | None:
        return self.folder.get(self.id.removeprefix(MARK))


async def picture_file(transaction: Transaction, key: str, folder: SenseBytes | None) -> PictureFile | None:
    """Return the file of a picture that a sense shows, or None."""
    digest = key.removeprefix(MARK)
    if folder is None or not await is_shown(transaction, digest):
        return None
    try:
        return PictureFile(picture_path(digest), key, folder)
    except ValueError:  # another program's passport may name pictures otherwise
        return None


@dataclass(frozen=True, slots=True)
class PictureRoom:
    """The folder of pictures, and the most bytes in it."""

    folder: SenseBytes
    most_bytes: int


async def bring_pictures(database: Database, folder: Path, room: PictureRoom | None) -> tuple[int, list[RefusedFile]]:
    """Store a passport's pictures that a sense shows, if there is `room`. Return the number and the refusals."""
    kept, refused = 0, list[RefusedFile]()
    free = room.most_bytes - await in_background(room.folder.size) if room else 0
    pages = _pictures(root_of(folder))
    while (found := await in_background(partial(next, pages, None))) is not None:
        path, entry = found
        data = await in_background(partial(_read, entry)) if isinstance(entry, Path) else entry
        if isinstance(data, str):
            refused.append(RefusedFile(named(path), data))
            continue
        digest = digest_of(data)
        if not await database.read(partial(is_shown, digest=digest)):
            refused.append(RefusedFile(named(path), "no sense here shows it"))
        elif room is None or await in_background(partial(room.folder.has, digest)):
            continue
        elif len(data) > free:
            refused.append(RefusedFile(named(path), "there is no room for more pictures: raise SOUL_SENSES_MB"))
        elif await in_background(partial(room.folder.put, data)):
            kept, free = kept + 1, free - len(data)
        else:
            refused.append(RefusedFile(named(path), "it can't be written: the disk is full, or the folder is closed"))
    return kept, refused


def digests_of_pictures(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths of a passport's pictures with their digests, '' for any other file."""
    for path, entry in _pictures(root_of(folder)):
        data = _read(entry) if isinstance(entry, Path) else entry
        yield path, "" if isinstance(data, str) else digest_of(data)


def _pictures(root: Path) -> Iterator[tuple[str, Path | str]]:
    """Yield every picture's path in the passport with its file, or the reason why no more are read."""
    top, number = root / PICTURES.rpartition("/")[2], 0
    for folder, folders, names in os.walk(top) if not top.is_symlink() else ():
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if name.endswith(PICTURE_SUFFIX) and not name.startswith(".") and not path.is_symlink():
                if (number := number + 1) > _MOST:
                    yield PICTURES, f"it holds more than {_MOST} files"
                    return
                yield f"{PICTURES}/{path.relative_to(top).as_posix()}", path


def _read(path: Path) -> bytes | str:
    try:
        if picture_path(path.stem).split("/")[-2:] != [path.parent.name, path.name]:
            return "it lies under another digest"
        data = plain_bytes(path, LARGEST_PICTURE)
    except OSError as error:
        return f"it can't be read: {error.strerror}"
    except ValueError as error:
        return visible_line(str(error))
    if digest_of(data) != path.stem:
        return "its bytes are not those of its digest"
    return data if data.startswith(_JPEG) else "it is no JPEG"


SUMMARY: Final = "S:"
"""The prefix of a conversation in the key of its summary's file."""

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
    """A row that can't become a file."""

    id: str


async def all_files(
    database: Database, pictures: SenseBytes | None = None
) -> AsyncIterator[Sequence[AnyFile | Unwritable]]:
    """Yield all files of memory.db's passport in batches: turns, records, summaries and the rest.

    Messages written while their author had paused remembering are left out, and without a folder `pictures` the
    pictures too.
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
    """Return the file as `file_of_key`, or Unwritable for a row that raises anything but a database error."""
    try:
        return await file_of_key(transaction, key, pictures)
    except sqlite3.Error:
        raise
    except Exception:  # noqa: BLE001 - one row that is no memory must not keep the others from being written
        return Unwritable(key)


async def names_of_turns(transaction: Transaction) -> Mapping[str, str]:
    """Return the ids here of turns with another id in passports."""
    rows = await transaction.rows("SELECT p.id, t.seq, t.speaker FROM passport_turns p JOIN turns t ON t.seq = p.seq")
    return {row["id"]: turn_id(Speaks(row["speaker"]), row["seq"]) for row in rows}


async def files_of(
    transaction: Transaction, kind: PassportKind, here: str, conversation: ConversationKey | None
) -> PassportFile | None:
    """Return the file of a turn, a record or a summary by its id here, or None."""
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
    """Return the file of a key, or None if an export would write none.

    A key is the id of a turn or record, `S:` and a conversation (its summary), or `B:` and a digest (a picture). Other
    rows have their table and number.
    """
    if key.partition(":")[0] in BY_TABLE:
        return await beside_file(transaction, key)
    if key.startswith(MARK):
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
    seqs = {seq: one for one in ids if (seq := turn_seq(one)) is not None}
    if not seqs:
        return {}
    among, keys = one_of(seqs)
    rows = await transaction.rows(f"SELECT seq, id FROM passport_turns WHERE seq IN {among}", **keys)  # noqa: S608 - numbered names
    return {seqs[row["seq"]]: row["id"] for row in rows}


async def workspace_of(transaction: Transaction, soul: str) -> str:
    """Return the workspace of the soul's newest message, or ''."""
    row = await transaction.one(
        "SELECT workspace FROM conversations WHERE soul = :soul ORDER BY last_ms DESC LIMIT 1", soul=soul
    )
    return row["workspace"] if row else ""
