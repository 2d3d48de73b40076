"""`soul handoff`: gives a thread to another soul."""

import asyncio
from dataclasses import asdict
from typing import Final

import click

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.history import read_items
from daemon.cli.database_access import os_user, with_database
from daemon.cli.listing import json_of
from daemon.cli.meaning import silent
from daemon.cli.output import say, say_json
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, load_settings
from daemon.core.errors import ChannelError
from daemon.memory.admin.handing import HandedOver, Handing
from daemon.memory.database import Database
from daemon.memory.queues.handoffs import HandoffRefused
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.messages import NoteStore
from daemon.shared.messages import require_hosted

_SLACK_S: Final = 10.0
_PAGES: Final = 50


@click.command("handoff")
@click.argument("name", metavar="CONVERSATION")
@click.argument("soul")
@json_of(HandedOver)
def handoff_command(name: str, soul: str, as_json: bool) -> None:
    """Hand a thread to another soul, which knows what was said there and answers from now on. Both say so there.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. SOUL is the name of its
    folder; a living daemon has to host it. Hand its conversation over to give the thread back.
    """

    async def handed(database: Database) -> HandedOver:
        workspace = await database.read(workspace_of_file)
        await require_hosted(NoteStore(database, SystemClock(), workspace), soul)
        handing = Handing(database, SystemClock(), os_user())
        where, apps = await handing.other_apps(name, soul)
        if apps and not where.channel.startswith("D") and not await _is_there(settings, where.channel, apps):
            raise HandoffRefused(
                f"{soul} answers through another app, which is not in {where.channel}",
                hint="invite that app there first",
            )
        return await handing.hand_over(name, soul)

    settings = load_settings()
    done = with_database(settings, handed)
    if as_json:
        say_json(asdict(done))
    else:
        say(f"{soul} answers in {done.conversation.removeprefix(done.soul + '/')} from now on.")


async def _is_there(settings: Settings, channel: str, apps: frozenset[str]) -> bool:
    """Whether one of the accounts is in a channel; true where Slack can't tell now, or lists only some members."""
    if settings.slack_bot_token is None:
        return True
    client = SlackClient(settings, SystemClock(), silent)
    try:
        async with asyncio.timeout(_SLACK_S):
            members, whole = await read_items(
                client, "conversations.members", "members", str, most=_PAGES, channel=channel
            )
    except (ChannelError, TimeoutError):
        return True
    finally:
        await client.close()
    return not whole or not apps.isdisjoint(members)
