"""Writes memory.db as a passport, and a manifest by which a changed, missing or added file shows."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.whole_files import remove_file, write_file
from daemon.memory.database import Database
from daemon.memory.knowledge.sense_bytes import SenseBytes
from daemon.memory.passport.names import MANIFEST
from daemon.memory.passport.reading import plain_bytes
from daemon.memory.passport.rendering import as_bytes
from daemon.memory.passport.rows import Unwritable, all_files

_FORMAT: Final = 1
_LARGEST_MANIFEST: Final = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: files of the passport, those written, those deleted, and the last digest of its chain.

    `failed` are the ids of rows that are no memory, and which are in no file.
    """

    records: int
    written: int
    removed: int
    chain: str
    failed: tuple[str, ...] = ()


async def export_passport(database: Database, folder: Path, pictures: SenseBytes | None = None) -> Exported:
    """Write a passport into an empty or new folder, or bring the one in it up to date; an equal file stays as it is.

    Without `pictures` their bytes are left out. Raises StoreError for a folder with anything else in it, and OSError
    where it can't be written.
    """
    before = _prepared(folder)
    digests: dict[str, str] = {}
    written, failed = 0, list[str]()
    async for file in all_files(database, pictures):
        if isinstance(file, Unwritable):
            failed.append(file.id)
            continue
        content = file.bytes
        if content is None or file.path in digests:  # a picture that is gone by now, or that several senses show
            continue
        written += write_file(folder, file.path, content, durable=False)
        digests[file.path] = hashlib.sha256(content).hexdigest()
    stale = sorted(before.keys() - digests.keys())
    for path in stale:
        remove_file(folder, path)
    os.sync()
    chain = chain_of(digests)
    manifest = {"format": _FORMAT, "records": len(digests), "files": digests, "chain": chain}
    write_file(folder, MANIFEST, as_bytes(manifest))
    return Exported(len(digests), written, len(stale), chain, tuple(failed))


def chain_of(digests: Mapping[str, str]) -> str:
    """One digest over all files: each path and content is chained to those before it."""
    chain = ""
    for path in sorted(digests):
        chain = hashlib.sha256(f"{chain}\x1f{path}\x1f{digests[path]}".encode("utf-8", "surrogatepass")).hexdigest()
    return chain


def read_manifest(folder: Path) -> tuple[Mapping[str, str], str] | None:
    """The digests of the files of a passport by their paths, and its chain; None where it has no manifest.

    Raises ValueError for one that can't be read, OSError.
    """
    try:
        content = plain_bytes(folder / MANIFEST, _LARGEST_MANIFEST)
    except FileNotFoundError:
        return None
    manifest = json.loads(content)
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ValueError("it has a form that this version does not know")
    files, chain = manifest.get("files"), manifest.get("chain")
    if not isinstance(files, dict) or not isinstance(chain, str) or not all(map(_is_text, files.values())):
        raise ValueError("it is no manifest")
    return files, chain


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _prepared(folder: Path) -> Mapping[str, str]:
    """Make the folder; gives the files of the passport that it holds already. Raises StoreError."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is no folder", hint="name an empty folder, or one that does not exist yet")
    try:
        known = read_manifest(folder) if folder.exists() else None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder / MANIFEST} can't be read: {error}", hint="name an empty folder") from error
    if known is None and folder.exists() and any(folder.iterdir()):
        raise StoreError(
            f"{folder} holds other files", hint="name an empty folder, one that does not exist yet, or an old passport"
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return known[0] if known else {}
