"""`soul approvals`: requests for permission to use a tool, and who decided."""

from dataclasses import replace

import click

from daemon.cli.database_access import for_each, with_agenda
from daemon.cli.options import json_option, limit_option, names_argument, state_option
from daemon.cli.output import Columns, age, say, show_rows
from daemon.memory.admin.schedule_admin import APPROVAL_STATES, Agenda
from daemon.memory.queues.approvals import Approval

_COLUMNS: Columns[Approval] = {
    "ID": lambda one, _: one.id,
    "STATE": lambda one, _: one.state,
    "AGE": lambda one, now: age(now, one.created_ms),
    "TOOL": lambda one, _: one.tool,
    "ASKED": lambda one, _: ", ".join(one.asked),
    "DECIDED BY": lambda one, _: one.decided_by,
    "CONVERSATION": lambda one, _: one.conversation,
}


@click.group("approvals")
def command() -> None:
    """List or refuse requests for permission to use a tool.

    \b
    JSON keys: id, conversation, turn, tool, arguments, asked, audience, state, expires_ms, decided_by, decided_ms,
    created_ms. The arguments are empty without --arguments.
    """


@command.command("list")
@state_option("requests", APPROVAL_STATES)
@limit_option("requests, newest first")
@click.option("--arguments", is_flag=True, help="Also print the tool's arguments, which may quote users.")
@json_option
def list_(state: str | None, limit: int, arguments: bool, as_json: bool) -> None:
    """List the newest requests, the users asked and who decided."""
    found = with_agenda(lambda agenda: agenda.approvals(state, limit))
    shown = found if arguments else tuple(replace(one, arguments={}) for one in found)
    show_rows(shown, _COLUMNS, as_json=as_json)
    if arguments and not as_json:
        for one in found:
            say(f"\n{one.id}  {one.tool}")
            for name, value in one.arguments.items():
                say(f"  {name}: {value}")


@command.command("refuse")
@names_argument("ID")
def refuse(names: tuple[str, ...]) -> None:
    """Refuse waiting requests in place of the users asked; only those users can approve."""

    async def change(agenda: Agenda, name: str) -> str:
        before = await agenda.refuse(name)
        return f"{before.id} is refused: {before.tool} won't be used."

    with_agenda(lambda agenda: for_each(agenda, names, change))
