"""The check of a passport: whether its files load, lose nothing, and are those of its manifest."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.memory.database import open_database
from daemon.memory.mirror_folders import FOLDER
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.exporting import chain_of, read_manifest
from daemon.memory.passport.importing import Import
from daemon.memory.passport.kinds import SUFFIX
from daemon.memory.passport.pictures import LARGEST_PICTURE, PICTURE_SUFFIX
from daemon.memory.passport.reading import RefusedFile, named, plain_bytes
from daemon.memory.passport.storing import Bounds

_VERIFIER: Final = Owner("passport", "passport")
"""The owner of foreign memories during a check."""


class Verified(Value):
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
            work, lost = Import(database, folder, _VERIFIER, clock.now_ms(), Bounds(as_is=True)), list[str]()
            done, lines = await work.run()
            for line in lines:
                entry = work.entry(line) if line.id in work.done else None  # a mirror may change during the check
                if entry and (line.id in work.lossy or not await database.read(partial(work.is_kept, entry=entry))):
                    lost.append(named(line.file))
    chain, changed = _chain(folder)
    return Verified(done.stored, done.refused, not lost, tuple(sorted(lost)), chain, changed)


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
    for place, _, names in os.walk(folder / FOLDER):
        for path in (Path(place, name) for name in names if name.endswith((SUFFIX, PICTURE_SUFFIX))):
            try:
                digest = hashlib.sha256(plain_bytes(path, LARGEST_PICTURE)).hexdigest()
            except (OSError, ValueError):
                digest = ""
            yield path.relative_to(folder).as_posix(), digest
