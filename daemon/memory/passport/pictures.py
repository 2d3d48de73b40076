"""The pictures of a passport: the bytes that a sense here shows, under the SHA-256 of their bytes."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.senses import is_shown
from daemon.memory.knowledge.shared_files import SenseBytes, digest_of
from daemon.memory.mirror_folders import FOLDER
from daemon.memory.passport.reading import RefusedFile, named, plain_bytes, reason_of, root_of, walk

LARGEST_PICTURE: Final = 20 * 2**20
"""The size in bytes of the largest imported picture."""

PICTURE_SUFFIX: Final = ".jpg"

_AT_ONCE: Final = 100
_FOLDER: Final = f"{FOLDER}/senses"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_JPEG: Final = b"\xff\xd8\xff"


class PictureFile(Value):
    """A picture by the digest of its bytes, and the folder that holds it."""

    digest: str
    folder: SenseBytes

    @property
    def path(self) -> str:
        return path_of_picture(self.digest)

    @property
    def bytes(self) -> bytes | None:
        return self.folder.get(self.digest)


def path_of_picture(digest: str) -> str:
    return f"{_FOLDER}/{digest[:2]}/{digest}{PICTURE_SUFFIX}"


async def pictures_after(transaction: Transaction, last: int, folder: SenseBytes) -> tuple[Sequence[PictureFile], int]:
    """Return the next pictures that senses show, and the number of the last sense, 0 at the end."""
    rows = await transaction.rows(
        """
        SELECT rowid AS number, raw_data_ref FROM senses WHERE rowid > :last AND raw_data_ref <> ''
        ORDER BY rowid LIMIT :most
        """,
        last=last,
        most=_AT_ONCE,
    )  # another program's passport may name pictures otherwise
    found = [PictureFile(row["raw_data_ref"], folder) for row in rows if _DIGEST.fullmatch(row["raw_data_ref"])]
    return found, rows[-1]["number"] if rows else 0


class PictureRoom(Value):
    """The folder of pictures, and the most bytes in it."""

    folder: SenseBytes
    most_bytes: int


async def bring_pictures(database: Database, folder: Path, room: PictureRoom | None) -> tuple[int, list[RefusedFile]]:
    """Store a passport's pictures that a sense shows, if there is `room`. Return the number and the refusals."""
    kept, refused = 0, list[RefusedFile]()
    free = room.most_bytes - await in_background(room.folder.size) if room else 0
    pages = _pictures(folder)
    while (found := await in_background(partial(next, pages, None))) is not None:
        path, data = found
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


def _pictures(folder: Path) -> Iterator[tuple[str, bytes | str]]:
    """Yield every picture's path in the passport with its bytes, or the reason for its refusal."""
    top = root_of(folder) / "senses"
    for path, refused in walk(top, f"{_FOLDER}/", PICTURE_SUFFIX) if top.is_dir() and not top.is_symlink() else ():
        if not refused:  # anything else is refused where the other files are read
            yield path, _read(top.parent, path)


def _read(root: Path, path: str) -> bytes | str:
    *_, digest = path.removesuffix(PICTURE_SUFFIX).split("/")
    if not _DIGEST.fullmatch(digest):
        return "it is no digest"
    if path != path_of_picture(digest):
        return "it lies under another digest"
    try:
        data = plain_bytes(root.joinpath(*path.split("/")[1:]), LARGEST_PICTURE)
    except (OSError, ValueError) as error:
        return reason_of(error)
    if digest_of(data) != digest:
        return "its bytes are not those of its digest"
    return data if data.startswith(_JPEG) else "it is no JPEG"
