"""The search for leftovers of a forgotten person in rows and in the bytes of files, and their removal."""

import json
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.errors import StoreError
from daemon.core.ports.services import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.mirror_folders import delete_mirrors
from daemon.memory.people.erasure import turns_of
from daemon.memory.people.known import NAMES_OF_PERSON, PRIVATE
from daemon.memory.retrieval.chroma_shelves import FOLDERS
from daemon.memory.retrieval.keeper import owned
from daemon.memory.retrieval.sources import Order
from daemon.memory.retrieval.vector_file import VectorFile
from daemon.memory.retrieval.vectors import FILE
from daemon.memory.tables import TABLES

_MOST: Final = 200  # texts that are looked for
_LEAST: Final = 12  # characters; a shorter text says nothing
_READ: Final = 4 * 2**20  # bytes at a time
_LONGEST: Final = 200  # characters of a text that are looked for
_APART: Final = ("backups",)  # folders whose contents stay until they are replaced, as the person reads

_THEIRS: Final = f"""
    SELECT text FROM (SELECT DISTINCT substr(body, 1, :longest) AS text FROM turns
    WHERE seq IN (SELECT value FROM json_each(:seqs)) AND length(body) >= :least AND instr(body, ' ') > 0
    UNION SELECT text FROM records WHERE person = :person AND workspace = :workspace AND length(text) >= :least
    UNION SELECT goal FROM goals g WHERE conversation IN ({PRIVATE}) AND thought = '' AND length(goal) >= :least
      AND NOT EXISTS (SELECT 1 FROM goals o WHERE instr(o.goal, g.goal) > 0 AND o.conversation NOT IN ({PRIVATE})))
    ORDER BY length(text) DESC LIMIT :most
"""  # noqa: S608 - a constant
_SAID: Final = "SELECT seq, body FROM turns WHERE seq > :after ORDER BY seq LIMIT 500"  # a short read each


async def texts_of(database: Database, workspace: str, person: str) -> tuple[str, ...]:
    """Return a person's texts to search for after the forgetting, longest first. Raises StoreError."""

    seqs = await database.read(partial(turns_of, workspace=workspace, person=person))
    sizes = {"least": _LEAST, "longest": _LONGEST, "most": _MOST}
    rows = await database.rows(_THEIRS, person=person, workspace=workspace, seqs=str(seqs), **sizes)
    return tuple(row["text"] for row in rows)


async def residues(database: Database, folder: Path, workspace: str, person: str, texts: Sequence[str]) -> int:
    """Count rows and files with leftovers. Texts that others said, too, don't count. Raises StoreError or OSError."""
    rows = await database.read(partial(_rows_of, workspace=workspace, person=person))
    alone = await _said_by_no_other(database, texts)
    return rows + await in_background(partial(_files_with, folder, [text.encode() for text in alone]))


async def _rows_of(transaction: Transaction, workspace: str, person: str) -> int:
    names = [row[0] for row in await transaction.rows(NAMES_OF_PERSON, person=person)]
    who = {"person": person, "workspace": workspace, "names": json.dumps(names), "spared": "", "said": 0}
    found = 0
    for table in TABLES:
        if table.owned:
            (row,) = await transaction.rows(f"SELECT count(*) FROM {table.name} WHERE {table.owned}", **who)  # noqa: S608 - literals
            found += row[0]
    return found


async def _said_by_no_other(database: Database, texts: Sequence[str]) -> list[str]:
    alone, after = list(texts), 0
    while alone and (rows := await database.rows(_SAID, after=after)):
        alone = [text for text in alone if not any(text in row["body"] for row in rows)]
        after = rows[-1]["seq"]
    return alone


def _files_with(folder: Path, needles: Sequence[bytes]) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not set(_APART) & set(path.parts))
    return sum(any(needle in piece for piece in _pieces(path) for needle in needles) for path in files)


def _pieces(path: Path) -> Iterator[bytes]:
    overlap = b""
    with path.open("rb") as file:
        while piece := file.read(_READ):
            yield overlap + piece
            overlap = piece[-4 * _LONGEST :]


_SENSES: Final = "senses"
_LOOKS: Final = 40  # checks that the index's owner has followed
_BETWEEN_S: Final = 0.25


async def clear_leftovers(database: Database, clock: Clock, folder: Path, index: Path, gone: Sequence[str]) -> None:
    """Delete the files and vectors of deleted memories, by id.

    Raises StoreError. The process that owns the vectors deletes its own, asked through the queue, with a limited wait.
    """
    for _ in range(_LOOKS):
        if await in_background(partial(_without_owner, index, gone)):
            break
        if not await _queued(database, gone):
            break
        await clock.sleep(_BETWEEN_S)
    rows = await database.rows(
        "SELECT raw_data_ref AS digest FROM senses WHERE raw_data_ref <> '' "
        "UNION SELECT digest FROM shared_files WHERE digest <> ''"
    )
    await in_background(partial(_delete_bytes, folder / _SENSES, {row["digest"] for row in rows}))
    await delete_mirrors(folder, clock)


async def _queued(database: Database, gone: Sequence[str]) -> bool:
    rows = await database.rows("SELECT id FROM vector_queue")
    waiting = {row["id"] for row in rows}
    return Order.RENEW in waiting or bool(waiting & set(gone))


def _without_owner(index: Path, gone: Sequence[str]) -> bool:
    """Delete the vectors if no other process owns them. Return False if one does."""
    if not (index / FILE).exists():
        return not any(index.glob(f"{FOLDERS}*"))
    try:
        with owned(index) as lock:
            if lock is None:
                return False
            with closing(VectorFile(index / FILE, read_only=False)) as file:
                file.replace(gone, ())
                file.pack()
            for place in index.glob(f"{FOLDERS}*"):
                shutil.rmtree(place, ignore_errors=True)
            return True
    except OSError as error:
        raise StoreError(
            f"{index} can't be changed: {error.strerror}", hint="check the owner and mode of the data folder"
        ) from error


def _delete_bytes(folder: Path, kept: Collection[str]) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.stem not in kept:
            with suppress(OSError):
                path.unlink()
