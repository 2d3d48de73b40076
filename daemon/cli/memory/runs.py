"""`soul memory runs`: what was done with memories while nobody spoke."""

from typing import Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import RowListing, at
from daemon.cli.options import limit_option
from daemon.cli.output import say
from daemon.core.config import load_settings
from daemon.memory.admin.nights import KeptRun, ParkedMemory, list_runs, parked_memories
from daemon.memory.database import Database

_MOST_PARKED: Final = 20
RUNS: Final = RowListing[KeptRun](
    *(KeptRun, ("RUN", "id"), at("slot_ms", "SLOT (UTC)"), "audience", "state", "tokens"),
    *(("DID", lambda one, _: ", ".join(f"{name} {number}" for name, number in one.did.items())), "error"),
)
"""Runs of consolidation; `did` has the number of changed memories of each part."""


@click.command("runs")
@limit_option("runs, the newest first")
@RUNS.option
def runs_command(limit: int, as_json: bool) -> None:
    """Show what consolidation did, one run for each night and audience in which there was something to do.

    A run is running, done, cut (the budget of tokens did not suffice; the next night goes on), failed (some of it could
    not be worked on; ERROR says why, and the next night tries again) or undone.
    """

    async def read(database: Database) -> tuple[tuple[KeptRun, ...], tuple[ParkedMemory, ...]]:
        return await list_runs(database, limit), await parked_memories(database, _MOST_PARKED)

    found, parked = with_database(load_settings(), read)
    if RUNS.show(found, as_json=as_json):
        for one in parked:
            say(f"{one.id} is left alone by {one.part}, which failed at it three times: {one.reason}")
