"""`soul memory stats`: what is remembered, and how far the search by meaning is."""

from typing import Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import json_of
from daemon.cli.output import facts, say_json
from daemon.core.config import load_settings
from daemon.llm.embedder import build_embedder
from daemon.memory.retrieval.statistics import Statistics, statistics

KEYS: Final = (
    *("counts {kind: n}", "embedder", "vectors {wanted, have, queued}", "index {kind, owner, generation, trouble}"),
)


@click.command("stats")
@json_of(KEYS)
def stats_command(as_json: bool) -> None:
    """Show what is remembered and how far the search by meaning is."""
    settings = load_settings()
    embedder = build_embedder(settings)
    name = embedder.id if embedder is not None else ""
    found = with_database(settings, lambda database: statistics(database, settings.index_folder, name))
    if as_json:
        say_json(as_plain(found))
        return
    facts(
        {
            **found.counts,
            **(_vectors(found) if found.embedder else {"embedder": "none: memories are found by full text alone"}),
        }
    )


def _vectors(found: Statistics) -> dict[str, object]:
    return {
        "embedder": found.embedder,
        "vectors": f"{found.have} of {found.wanted} memories; {found.queued} changes wait",
        "index": f"{found.kind}, generation {found.generation}",
        "owner": f"process {found.owner}" if found.owner is not None else "none is running",
        "waits": found.trouble,
    }


def as_plain(found: Statistics) -> dict[str, object]:
    """The statistics under the keys of `--json`."""
    return {
        "counts": dict(found.counts),
        "embedder": found.embedder,
        "vectors": {"wanted": found.wanted, "have": found.have, "queued": found.queued},
        "index": {
            "kind": found.kind,
            "owner": found.owner,
            "generation": found.generation,
            "trouble": found.trouble,
        },
    }
