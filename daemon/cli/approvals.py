"""`soul approvals`: what tools are to be allowed to do, and who decided."""

from dataclasses import replace

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.output import age, say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.memory.admin.schedule_admin import APPROVAL_STATES, Agenda


@click.group("approvals")
def command() -> None:
    """List or refuse questions for permission to use a tool.

    \b
    JSON keys: id, conversation, turn, tool, arguments, asked, audience, state, expires_ms, decided_by, decided_ms,
    created_ms. What exactly is to be done (arguments) is shown with --arguments alone.
    """


@command.command("list")
@click.option("--state", type=click.Choice(APPROVAL_STATES), help="Only questions in this state.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, newest first.")
@click.option("--arguments", is_flag=True, help="With what is to be done; people's words may stand in it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(state: str | None, limit: int, arguments: bool, as_json: bool) -> None:
    """List the newest questions, who is asked and who decided."""
    clock = SystemClock()
    found = with_database(load_settings(), lambda database: Agenda(database, clock, os_user()).approvals(state, limit))
    if not arguments:
        found = tuple(replace(one, arguments={}) for one in found)
    if as_json:
        say_json(found)
        return
    now = clock.now_ms()
    rows = [
        (one.id, one.state, age(now, one.created_ms), one.tool, ", ".join(one.asked), one.decided_by, one.conversation)
        for one in found
    ]
    table(("ID", "STATE", "AGE", "TOOL", "ASKED", "DECIDED BY", "CONVERSATION"), rows)
    if arguments:
        for one in found:
            say(f"\n{one.id}  {one.tool}")
            for name, value in one.arguments.items():
                say(f"  {name}: {value}")


@command.command("refuse")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def refuse(names: tuple[str, ...]) -> None:
    """Refuse questions that wait, in the place of those asked; allowing is theirs alone."""

    async def work(agenda: Agenda) -> None:
        for name in names:
            before = await agenda.refuse(name)
            say(f"{before.id} is refused: {before.tool} won't be used.")

    with_database(load_settings(), lambda database: work(Agenda(database, SystemClock(), os_user())))
