"""`soul handoff`: gives a thread to another soul."""

from dataclasses import asdict

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.options import json_option
from daemon.cli.output import say, say_json
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.memory.admin.handing import HandedOver, Handing
from daemon.memory.database import Database
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.messages import NoteStore
from daemon.shared.messages import require_hosted


@click.command("handoff")
@click.argument("name", metavar="CONVERSATION")
@click.argument("soul")
@json_option
def command(name: str, soul: str, as_json: bool) -> None:
    """Hand a thread to another soul, which knows what was said there and answers from now on. Both say so there.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. SOUL is the name of its
    folder; a living daemon has to host it. Hand its conversation over to give the thread back.

    JSON keys: conversation, soul, handed_to, at_ms.
    """

    async def handed(database: Database) -> HandedOver:
        workspace = await database.read(workspace_of_file)
        await require_hosted(NoteStore(database, SystemClock(), workspace), soul)
        return await Handing(database, SystemClock(), os_user()).hand_over(name, soul)

    done = with_database(load_settings(), handed)
    if as_json:
        say_json(asdict(done))
    else:
        say(f"{soul} answers in {done.conversation.removeprefix(done.soul + '/')} from now on.")
