"""`soul approvals`: requests for permission to use a tool, and who decided."""

from dataclasses import replace

import click

from daemon.cli.database_access import with_agenda
from daemon.cli.options import json_option, limit_option, state_option
from daemon.cli.output import age, say, show_rows
from daemon.memory.admin.schedule_admin import APPROVAL_STATES, Agenda


@click.group("approvals")
def command() -> None:
    """List or refuse requests for permission to use a tool.

    \b
    JSON keys: id, conversation, turn, tool, arguments, asked, audience, state, expires_ms, decided_by, decided_ms,
    created_ms, fingerprint. The arguments are empty without --arguments.
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
    show_rows(
        shown,
        ("ID", "STATE", "AGE", "TOOL", "ASKED", "DECIDED BY", "CONVERSATION"),
        lambda one, now: (
            *(one.id, one.state, age(now, one.created_ms), one.tool),
            *(", ".join(one.asked), one.decided_by, one.conversation),
        ),
        as_json=as_json,
    )
    if arguments and not as_json:
        for one in found:
            say(f"\n{one.id}  {one.tool}")
            for name, value in one.arguments.items():
                say(f"  {name}: {value}")


@command.command("refuse")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def refuse(names: tuple[str, ...]) -> None:
    """Refuse waiting requests in place of the users asked; only those users can approve."""

    async def work(agenda: Agenda) -> None:
        for name in names:
            before = await agenda.refuse(name)
            say(f"{before.id} is refused: {before.tool} won't be used.")

    with_agenda(work)
