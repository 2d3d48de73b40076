"""`soul memory runs`: what was done with memories while nobody spoke."""

import click

from daemon.cli.database_access import with_database
from daemon.cli.options import json_option, limit_option
from daemon.cli.output import say, show_rows
from daemon.core.config import load_settings
from daemon.core.timetable import moment
from daemon.memory.admin.nights import KeptRun, ParkedMemory, list_runs, parked_memories
from daemon.memory.database import Database

_MOST_PARKED = 20


@click.command("runs")
@limit_option("runs, the newest first")
@json_option
def command(limit: int, as_json: bool) -> None:
    """Show what consolidation did, one run for each night and audience in which there was something to do.

    A run is running, done, cut (the budget of tokens did not suffice; the next night goes on), failed (some of it could
    not be worked on; ERROR says why, and the next night tries again) or undone.

    \b
    JSON keys: id, soul, workspace, slot_ms, audience, state, did {part: number of memories changed}, tokens, error,
    began_ms, ended_ms.
    """

    async def read(database: Database) -> tuple[tuple[KeptRun, ...], tuple[ParkedMemory, ...]]:
        return await list_runs(database, limit), await parked_memories(database, _MOST_PARKED)

    found, parked = with_database(load_settings(), read)
    show_runs(found, as_json=as_json)
    if not as_json:
        for one in parked:
            say(f"{one.id} is left alone by {one.part}, which failed at it three times: {one.reason}")


def show_runs(found: tuple[KeptRun, ...], *, as_json: bool) -> None:
    """Print runs as a table or as JSON."""
    show_rows(
        found,
        ("RUN", "SLOT (UTC)", "AUDIENCE", "STATE", "TOKENS", "DID", "ERROR"),
        lambda one, _: (
            *(one.id, moment(one.slot_ms), one.audience, one.state, one.tokens),
            ", ".join(f"{name} {number}" for name, number in one.did.items()),
            one.error,
        ),
        as_json=as_json,
    )
