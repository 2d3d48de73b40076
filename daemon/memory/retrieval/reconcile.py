"""Compares vectors.db with memory.db, and finds missing, outdated and superfluous vectors."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from daemon.core.value import Value
from daemon.memory.database import Database
from daemon.memory.retrieval.sources import Embeddable, ids_after, read_some
from daemon.memory.retrieval.vector_file import VectorFile, digest_of

_SLICE: Final = 200  # memories that are read at once


class Difference(Value):
    """The number of memories to embed, the ids with missing or outdated vectors, and the ids of deleted memories."""

    wanted: int
    missing: tuple[str, ...]
    orphaned: tuple[str, ...]


async def difference(database: Database, file: VectorFile) -> Difference:
    """Compare both, a slice at a time. Queued memories count as missing, too. Raises StoreError.

    The file is read in a thread. Its connection must not be used elsewhere in that time.
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
    """Return the ids of memories with a missing or outdated vector."""
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
