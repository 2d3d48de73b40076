"""`soul memory undo`: undoes what consolidation did in one run."""

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.listing import json_of
from daemon.cli.output import say, say_json
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.memory.admin.nights import NightAdmin


@click.command("undo")
@click.argument("run", metavar="RUN")
@json_of(("run", "restored [id]", "kept [{id, why}]"))
def undo_command(run: str, as_json: bool) -> None:
    """Undo a run of consolidation: RUN is an id of `soul memory runs`.

    What somebody changed or forgot since stays as it is, and so does what hangs together with it. It may run beside the
    daemon. The next night leaves alone what was undone.
    """
    done = with_database(load_settings(), lambda database: NightAdmin(database, SystemClock(), os_user()).undo(run))
    if as_json:
        say_json(done)
        return
    say(f"Run {run} is undone: {len(done.restored)} memories are as before.")
    for one in done.kept:
        say(f"{one.id} stays as it is: {one.why}.")
