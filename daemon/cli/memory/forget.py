"""`soul memory forget`: forgets everything of one person, as `forget me` does."""

from functools import partial

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.listing import json_of
from daemon.cli.output import facts, say, say_json
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.memory.audit import record_act
from daemon.memory.database import Database
from daemon.memory.people.forgetting import ForgettingPeople, workspaces_of
from daemon.memory.people.residues import residues, texts_of


@click.command("forget")
@click.argument("person", metavar="PERSON")
@click.option("--yes", is_flag=True, help="Do it; it can't be undone.")
@json_of(("stores {table: n}", "residues"))
def forget_command(person: str, yes: bool, as_json: bool) -> None:
    """Forget everything of one person. PERSON is a Slack id, U…

    It may run beside the daemon. Backups keep the person until they are replaced, and forget them when one is restored.

    `stores` are the numbers of rows deleted or emptied, `residues` rows and files that still hold something; exit
    status 1 if there are any.
    """
    if not yes:
        raise click.UsageError("this deletes all that is kept of the person, for good: add --yes")
    settings = load_settings()
    stores, left = with_database(settings, partial(_forget, settings, person))
    if as_json:
        say_json({"stores": stores, "residues": left})
    else:
        facts({**stores, "residues": str(left)})
        say("Forgotten. Slack's own copy stays until it is deleted there, backups until they are replaced.")
        if left:
            say("Something in SOUL_HOME still holds words of theirs. Files that are not the daemon's, such as an")
            say("exported passport or a copy of memory.db, are not touched: delete those yourself.")
    if left:
        raise SystemExit(1)


async def _forget(settings: Settings, person: str, database: Database) -> tuple[dict[str, int], int]:
    people = ForgettingPeople(database, SystemClock(), _silent, settings.home, settings.index_folder)
    found = await workspaces_of(database, person)
    if not found:
        raise StoreError(f"nothing is kept of {person}", hint="see `soul memory people list`; give the id")
    stores, left = dict[str, int](), 0
    for workspace in found:
        texts = await texts_of(database, workspace, person)
        order = await people.ask(workspace, person)
        await database.write(
            partial(record_act, actor=os_user(), act="memory.forget", subject=order, now=SystemClock().now_ms())
        )
        for name, number in (await people.finish(order)).items():
            stores[name] = stores.get(name, 0) + number
        left += await residues(database, settings.home, workspace, person, texts)
    return stores, left


def _silent(event: str, /, **fields: object) -> None:
    """No log: the command prints what came of it."""
