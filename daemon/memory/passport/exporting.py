"""Writing memory.db as a passport, with a manifest that reveals changed, missing or added files, and verifying one."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.errors import StoreError
from daemon.core.files import remove_file, write_file
from daemon.core.ports.services import Clock
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.knowledge.shared_files import SenseBytes
from daemon.memory.mirror_folders import FOLDER, MANIFEST
from daemon.memory.passport.beside_putting import Bounds
from daemon.memory.passport.entries import Listed, Owner, PassportEntry, in_batches
from daemon.memory.passport.importing import bring
from daemon.memory.passport.names import SUFFIX
from daemon.memory.passport.planning import Plan, written_as
from daemon.memory.passport.reading import RefusedFile, plain_bytes
from daemon.memory.passport.rendering import as_bytes, covers
from daemon.memory.passport.rows import AnyFile, Unwritable, all_files, digests_of_pictures, names_of_turns
from daemon.memory.records import JSONObject

_FORMAT: Final = 1
_LARGEST_MANIFEST: Final = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Exported:
    """The counts of an export, the last digest of its chain, and the ids of rows that could not become a file."""

    records: int
    written: int
    removed: int
    chain: str
    failed: tuple[str, ...] = ()


async def export_passport(database: Database, folder: Path, pictures: SenseBytes | None = None) -> Exported:
    """Write a passport into an empty or new folder, or update the one in it.

    Equal files stay untouched. Without `pictures` their bytes are left out. Raises StoreError for a folder with
    anything else in it, and OSError if the folder can't be written.
    """
    before = await in_background(partial(_prepared, folder))
    done = await write_passport(database, folder, before, pictures)
    assert done is not None
    return done


async def write_passport(
    database: Database,
    folder: Path,
    before: Collection[str],
    pictures: SenseBytes | None,
    *,
    still: Callable[[], bool] = lambda: True,
    durable: bool = True,
) -> Exported | None:
    """Write all files, and delete files of the paths `before` that are no longer exported.

    Equal files stay untouched. Stops with None once `still` returns False. Without `durable` a power failure may lose
    some of it. Raises OSError, and PathBlocked if a link is in the way.
    """
    digests: dict[str, str] = {}
    written, failed = 0, list[str]()
    async for files in all_files(database, pictures):
        if not still():
            return None
        failed += [one.id for one in files if isinstance(one, Unwritable)]
        whole = [one for one in files if not isinstance(one, Unwritable)]
        written += await in_background(partial(_write, folder, whole, digests))
    stale = sorted(set(before) - digests.keys())
    chain = await in_background(partial(_finish, folder, stale, digests, durable=durable))
    return Exported(len(digests), written, len(stale), chain, tuple(failed))


def _write(folder: Path, files: Sequence[AnyFile], digests: dict[str, str]) -> int:
    written = 0
    for file in files:
        content = None if file.path in digests else file.bytes  # several senses show one picture
        if content is not None:  # None: the picture was deleted
            written += write_file(folder, file.path, content, durable=False)
            digests[file.path] = hashlib.sha256(content).hexdigest()
    return written


def _finish(folder: Path, stale: Sequence[str], digests: Mapping[str, str], *, durable: bool) -> str:
    for path in stale:
        remove_file(folder, path)
    if durable:
        os.sync()
    chain = chain_of(digests)
    manifest = {"format": _FORMAT, "records": len(digests), "files": digests, "chain": chain}
    write_file(folder, MANIFEST, as_bytes(manifest), durable=durable)
    return chain


def chain_of(digests: Mapping[str, str]) -> str:
    """Return one digest over all files: each path and content is chained to those before it."""
    chain = ""
    for path in sorted(digests):
        chain = hashlib.sha256(f"{chain}\x1f{path}\x1f{digests[path]}".encode("utf-8", "surrogatepass")).hexdigest()
    return chain


def read_manifest(folder: Path) -> tuple[Mapping[str, str], str] | None:
    """Return the digests of a passport's files by path, and its chain, or None. Raises ValueError, and OSError."""
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


_AT_ONCE = 200

_VERIFIER = Owner("passport", "passport")
"""The owner of foreign memories during a check."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a check: files that load and files that don't, those that lose content, and the chain.

    `chain` is None if the passport has no manifest. `changed` are the paths that differ from the manifest.
    """

    records: int
    refused: tuple[RefusedFile, ...]
    lossless: bool
    lost: tuple[str, ...]
    chain: bool | None
    changed: tuple[str, ...]


async def verify_passport(folder: Path, clock: Clock) -> Verified:
    """Check a passport by loading it into a temporary memory.db. Raises StoreError."""
    with tempfile.TemporaryDirectory(prefix="soul-passport-") as spare:
        async with open_database(Path(spare) / "memory.db", clock) as database:
            done, decided = await bring(database, folder, _VERIFIER, clock, Bounds(as_is=True))
            refused = {one.path for one in done.refused}
            lost = await _lost(database, decided, [one for one in decided.entries if one.path not in refused])
    chain, changed = _chain(folder)
    return Verified(done.stored, done.refused, not lost, tuple(sorted(lost)), chain, changed)


async def _lost(database: Database, decided: Plan, listed: Sequence[Listed]) -> list[str]:
    names, lost = await database.read(names_of_turns), list[str]()
    for some in in_batches(listed, _AT_ONCE):
        again = [decided.listing.again(one) for one in some]  # a mirror may grow or change during the check
        entries = [one.within(decided.knows) for one in again if isinstance(one, PassportEntry)]
        written = await database.read(partial(_written, entries=entries, names=names))
        lost += [
            entry.loaded.path
            for entry, content in zip(entries, written, strict=True)
            if entry.left_out or not covers(content, entry.content)
        ]
    return lost


async def _written(
    transaction: Transaction, entries: Sequence[PassportEntry], names: Mapping[str, str]
) -> list[JSONObject | None]:
    return [await written_as(transaction, one, names) for one in entries]


def _chain(folder: Path) -> tuple[bool | None, tuple[str, ...]]:
    try:
        manifest = read_manifest(folder)
    except (ValueError, OSError, RecursionError):
        return False, ()
    if manifest is None:
        return None, ()
    digests, chain = dict(manifest[0]), manifest[1]
    whole = chain_of(digests) == chain
    changed = [path for path, digest in _digests(folder) if digests.pop(path, None) != digest]
    changed += digests
    return whole and not changed, tuple(sorted(changed))


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and digest of each file that a manifest names. The digest is '' for anything but a plain file."""
    root = folder / FOLDER
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            if name.endswith(SUFFIX):
                try:
                    digest = hashlib.sha256(plain_bytes(path)).hexdigest()
                except (OSError, ValueError):
                    digest = ""
                yield path.relative_to(folder).as_posix(), digest
    if root.is_dir() and not root.is_symlink():
        yield from digests_of_pictures(folder)
