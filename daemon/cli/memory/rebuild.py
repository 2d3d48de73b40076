"""`soul memory rebuild`: makes all vectors anew, by the daemon that keeps them or, where none does, by itself."""

from functools import partial
from typing import Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import json_of
from daemon.cli.memory.stats import KEYS, as_plain
from daemon.cli.output import say, say_json
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, load_settings
from daemon.core.errors import ConfigError, ModelUnavailable
from daemon.core.ports.vectors import Embedder
from daemon.llm.embedder import build_embedder
from daemon.memory.database import Database
from daemon.memory.retrieval.keeper import VectorKeeper
from daemon.memory.retrieval.owner_work import IndexParts
from daemon.memory.retrieval.statistics import Statistics, statistics
from daemon.memory.retrieval.vector_queue import Order, enqueue, is_ordered
from daemon.memory.retrieval.vectors import Vectors

_LOOK_S: Final = 0.5
_OBEYED_WITHIN_S: Final = 60.0  # a keeper that waits looks again after half of it


@click.command("rebuild")
@click.option("--wait", is_flag=True, help="Return only when every memory has its vectors.")
@json_of(KEYS)
def rebuild_command(wait: bool, as_json: bool) -> None:
    """Make all vectors again. Searches go on meanwhile, by full text alone where a vector is missing.

    The daemon that keeps the index does it. Where none is running, `--wait` does it itself; without it, the next daemon
    does.
    """
    settings = load_settings()
    embedder = build_embedder(settings)
    if embedder is None:
        raise ConfigError("SOUL_EMBEDDER is none: there are no vectors", hint="set SOUL_EMBEDDER=local and try again")
    found = with_database(settings, partial(_rebuild, settings, embedder, wait))
    if as_json:
        say_json(as_plain(found))
    elif wait:
        say(f"{found.have} of {found.wanted} memories have their vectors.")
    else:
        by = f"process {found.owner}" if found.owner is not None else "the next daemon"
        say(f"Ordered: {by} makes the vectors of {found.wanted} memories anew; see `soul memory stats`.")


async def _rebuild(settings: Settings, embedder: Embedder, wait: bool, database: Database) -> Statistics:
    folder, clock = settings.index_folder, SystemClock()
    await database.write(partial(enqueue, ids=[Order.REBUILD]))
    index = Vectors(folder, embedder.id, _silent)
    parts = IndexParts(database, index, folder, embedder, clock, _silent, settings.chroma_from)
    began = clock.monotonic()
    try:
        while True:
            mine = wait and await VectorKeeper(parts).catch_up()
            obeyed = not await database.read(partial(is_ordered, order=Order.REBUILD))  # troubles before that are none
            found = await statistics(database, folder, embedder.id)
            if not wait or mine or not found.queued:
                return found
            if found.trouble and (obeyed or clock.monotonic() - began > _OBEYED_WITHIN_S):
                raise ModelUnavailable(f"the vectors wait: {found.trouble}", hint=found.hint)
            await clock.sleep(_LOOK_S)
    finally:
        await index.aclose()
        await embedder.aclose()


def _silent(_event: str, /, **_fields: object) -> None:
    """A command's own work is not logged."""
