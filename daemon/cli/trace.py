"""`soul mind trace`: the path of a conversation through the mental processes."""

import click

from daemon.cli.database_access import with_agenda, with_database
from daemon.cli.options import json_option, limit_option
from daemon.cli.output import say, say_json, table
from daemon.core.config import load_settings
from daemon.core.timetable import moment
from daemon.memory.knowledge.state_history import state_path


@click.command("trace")
@click.argument("name", metavar="CONVERSATION")
@limit_option("of the newest steps", 50)
@json_option
def command(name: str, limit: int, as_json: bool) -> None:
    """Show the path of a conversation through the mental processes: when, why, and who decided.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. Times are UTC.

    \b
    JSON keys: seq, trace_id, at_ms, hop, act, origin, target, decided_by, reason, params, model. Steps of one
    perception have the same trace_id; act is enter, stay, move, visit, return or refuse; decided_by is rule, model or
    schedule; model is the one that gave the reply.
    """

    conversation = with_agenda(lambda agenda: agenda.conversation(name))
    steps = with_database(load_settings(), lambda database: state_path(database, conversation, limit))
    if as_json:
        say_json(steps)
    elif not steps:
        say(f"{conversation} has no steps yet.")
    else:
        rows = [
            (moment(one.at_ms), one.act, f"{one.origin} → {one.target}", one.decided_by, one.model, one.reason)
            for one in steps
        ]
        table(("WHEN", "ACT", "STATES", "BY", "MODEL", "REASON"), rows)
