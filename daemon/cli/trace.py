"""`soul mind trace`: the path of a conversation through the mental processes."""

from typing import Final

import click

from daemon.cli.database_access import with_agenda, with_database
from daemon.cli.listing import RowListing, at
from daemon.cli.options import limit_option
from daemon.cli.output import say
from daemon.core.config import load_settings
from daemon.memory.knowledge.state_history import TracedStep, state_path

_STEPS: Final = RowListing[TracedStep](
    TracedStep,
    at("at_ms", "WHEN"),
    "act",
    ("STATES", lambda one, _: f"{one.origin} → {one.target}"),
    ("BY", "decided_by"),
    "model",
    "reason",
)


@click.command("trace")
@click.argument("name", metavar="CONVERSATION")
@limit_option("of the newest steps", 50)
@_STEPS.option
def trace_command(name: str, limit: int, as_json: bool) -> None:
    """Show the path of a conversation through the mental processes: when, why, and who decided.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. Times are UTC.
    Steps of one perception have the same trace_id; act is enter, stay, move, visit, return or refuse; decided_by is
    rule, model or schedule; model is the one that gave the reply.
    """

    conversation = with_agenda(lambda agenda: agenda.conversation(name))
    steps = with_database(load_settings(), lambda database: state_path(database, conversation, limit))
    if not steps and not as_json:
        say(f"{conversation} has no steps yet.")
    else:
        _STEPS.show(steps, as_json=as_json)
