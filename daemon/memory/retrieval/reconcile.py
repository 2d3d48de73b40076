"""Compares vectors.db with memory.db: what is missing there or has changed, and what is there and should not be."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from daemon.memory.database import Database
from daemon.memory.retrieval.sources import Embeddable, ids_after, read_some
from daemon.memory.retrieval.vector_file import VectorFile, digest_of

_SLICE: Final = 200  # memories that are read at once


@dataclass(frozen=True, slots=True)
class Difference:
    """How many memories are to be embedded; the ids of those of which a vector is missing or of other words than now;
    and the ids of which there are vectors, and no memory."""

    wanted: int
    missing: tuple[str, ...]
    orphaned: tuple[str, ...]


async def difference(database: Database, file: VectorFile) -> Difference:
    """Compare both, a slice at a time; what is queued counts as missing, too. Raises StoreError.

    The file is read in a thread: while this runs, nothing else may use that connection.
    """
    orphaned = await asyncio.to_thread(file.ids)
    missing: list[str] = []
    wanted = 0
    async for sources in _embeddables(database):
        wanted += len(sources)
        orphaned -= sources.keys()
        missing += await asyncio.to_thread(partial(stale, file, sources))
    return Difference(wanted, tuple(missing), tuple(sorted(orphaned)))


def stale(file: VectorFile, sources: dict[str, Embeddable]) -> list[str]:
    """The ids of those memories of which not every vector is stored as it should be."""
    known = file.digests(list(sources))
    return [
        one.id
        for one in sources.values()
        if any(known.get((one.id, view)) != digest_of(one, view) for view in one.texts)
    ]


async def _embeddables(database: Database) -> AsyncIterator[dict[str, Embeddable]]:
    places: dict[str, int] = {}
    while True:
        ids, places = await database.read(partial(ids_after, after=places, most=_SLICE))
        if not ids:
            return
        yield await database.read(partial(read_some, ids=ids))
