"""The bytes of senses as files of a passport: the pictures that users sent, under their digests."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.text import visible_line
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.sense_bytes import SenseBytes, digest_of
from daemon.memory.knowledge.senses import is_shown
from daemon.memory.passport.names import PICTURE_SUFFIX, PICTURES, picture_path
from daemon.memory.passport.reading import RefusedFile, named, plain_bytes, root_of

MARK: Final = "B:"
"""Stands before a digest where the file of these bytes is meant."""

LARGEST_PICTURE: Final = 20 * 2**20
"""Bytes of the largest picture that is brought in."""

PICTURES_AFTER: Final = f"""
    SELECT rowid AS seq, '{MARK}' || raw_data_ref AS id FROM senses
    WHERE rowid > :last AND raw_data_ref <> '' ORDER BY rowid LIMIT :most
    """  # noqa: S608 - a constant
_JPEG: Final = b"\xff\xd8\xff"
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PictureFile:
    """The bytes of a picture: its path within the passport, its mark and digest, and the folder that holds it."""

    path: str
    id: str
    folder: SenseBytes

    @property
    def bytes(self) -> bytes | None:
        """The bytes; None where they are gone. It blocks."""
        return self.folder.get(self.id.removeprefix(MARK))


async def picture_file(transaction: Transaction, key: str, folder: SenseBytes | None) -> PictureFile | None:
    """The file of the picture that a sense shows; None where none does."""
    digest = key.removeprefix(MARK)
    if folder is None or not await is_shown(transaction, digest):
        return None
    try:
        return PictureFile(picture_path(digest), key, folder)
    except ValueError:  # what a passport of another house refers to by another name has no bytes here
        return None


@dataclass(frozen=True, slots=True)
class PictureRoom:
    """Where pictures are kept, and how many bytes of them at most."""

    folder: SenseBytes
    most_bytes: int


async def bring_pictures(database: Database, folder: Path, room: PictureRoom | None) -> tuple[int, list[RefusedFile]]:
    """Keep those pictures of a passport that a sense here shows; gives how many are new here, and what is refused.

    Without `room` they are looked at, and not kept.
    """
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
    """The paths of the pictures of a passport, and whose bytes they hold; no digest for what is no such file."""
    for path, entry in _pictures(root_of(folder)):
        data = _read(entry) if isinstance(entry, Path) else entry
        yield path, "" if isinstance(data, str) else digest_of(data)


def _pictures(root: Path) -> Iterator[tuple[str, Path | str]]:
    """Every file below the folder of pictures by its path within the passport, or why no more are read.

    Links are left out: `read_passport` refuses them, wherever they are.
    """
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
    """The bytes of a picture under its own digest, or why it is refused."""
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
