"""Checks a passport by itself: what would be loaded, whether nothing would be lost, whether it was changed."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from daemon.core.ports.clock import Clock
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.mirror_folders import FOLDER
from daemon.memory.passport.beside_putting import Bounds
from daemon.memory.passport.entries import Owner, PassportEntry
from daemon.memory.passport.exporting import chain_of, read_manifest
from daemon.memory.passport.importing import bring
from daemon.memory.passport.listing import Listed, in_batches
from daemon.memory.passport.names import SUFFIX
from daemon.memory.passport.pictures import digests_of_pictures
from daemon.memory.passport.planning import Plan, written_as
from daemon.memory.passport.reading import RefusedFile, plain_bytes
from daemon.memory.passport.rows import names_of_turns
from daemon.memory.passport.unknown import covers
from daemon.memory.records import JSONObject

_AT_ONCE = 200

_VERIFIER = Owner("passport", "passport")
"""Whose foreign memories are while they are checked."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Files that load and files that don't, whether what is loaded can be written again without a loss, and the chain.

    `chain` is None where the passport has no manifest; `changed` are the paths that differ from it.
    """

    records: int
    refused: tuple[RefusedFile, ...]
    lossless: bool
    lost: tuple[str, ...]
    chain: bool | None
    changed: tuple[str, ...]


async def verify_passport(folder: Path, clock: Clock) -> Verified:
    """Check a passport by loading it into a memory.db of its own, which is thrown away. Raises StoreError."""
    with tempfile.TemporaryDirectory(prefix="soul-passport-") as spare:
        async with open_database(Path(spare) / "memory.db", clock) as database:
            done, decided = await bring(database, folder, _VERIFIER, clock, Bounds(as_is=True))
            refused = {one.path for one in done.refused}
            lost = await _lost(database, decided, [one for one in decided.entries if one.path not in refused])
    chain, changed = _chain(folder)
    return Verified(done.stored, done.refused, not lost, tuple(sorted(lost)), chain, changed)


async def _lost(database: Database, decided: Plan, listed: Sequence[Listed]) -> list[str]:
    """The paths of those files that would not be written again with all that they say."""
    names, lost = await database.read(names_of_turns), list[str]()
    for some in in_batches(listed, _AT_ONCE):
        again = [decided.listing.again(one) for one in some]  # a mirror may grow or change meanwhile
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
    """The paths of all files that a manifest names, with the digests of their bytes; none for what is no plain file."""
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
