"""`soul trace`: the path of states that a conversation took, with reasons."""

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.output import say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.perception import ConversationKey
from daemon.core.timetable import moment
from daemon.memory.admin.schedule_admin import Agenda
from daemon.memory.database import Database
from daemon.memory.knowledge.state_history import TracedStep, Transitions


@click.command("trace")
@click.argument("name", metavar="CONVERSATION")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many newest steps.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, limit: int, as_json: bool) -> None:
    """Show the path of mental states that a conversation took: when, why, and who decided.

    CONVERSATION is its id, soul/workspace/channel/thread, or a part of it that no other has. Times are UTC.

    \b
    JSON keys: seq, trace_id, at_ms, hop, act, origin, target, decided_by, reason, params. Steps of one perception have
    the same trace_id; act is enter, stay, move, visit, return or refuse; decided_by is rule, model or schedule.
    """

    async def work(database: Database) -> tuple[ConversationKey, tuple[TracedStep, ...]]:
        found = await Agenda(database, SystemClock(), os_user()).conversation(name)
        return found, await Transitions(database).path(found, limit)

    conversation, steps = with_database(load_settings(), work)
    if as_json:
        say_json(steps)
    elif not steps:
        say(f"{conversation} has not taken a step yet.")
    else:
        rows = [
            (moment(one.at_ms), one.act, f"{one.origin} → {one.target}", one.decided_by, one.reason) for one in steps
        ]
        table(("WHEN", "ACT", "STATES", "BY", "REASON"), rows)
