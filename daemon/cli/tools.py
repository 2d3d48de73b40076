"""`soul tools`: the tools of the MCP servers as a daemon has seen them, and those that have changed."""

from typing import Final

import click

from daemon.cli.listing import RowListing, age, os_user, say, with_database
from daemon.core.config import load_settings
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.tool_admin import RecordedTool, ToolAdmin, recorded_tools
from daemon.memory.database import Database

_TOOLS: Final = RowListing[RecordedTool](
    RecordedTool,
    ("TOOL", "name"),
    "soul",
    ("USE", lambda one, _: "asks" if one.writes or one.changed_ms is not None else "reads"),
    ("CHANGED", lambda one, now: "no" if one.changed_ms is None else f"{age(now, one.changed_ms)} ago"),
)


@click.group("tools")
def tools_command() -> None:
    """List the tools of MCP servers, and accept those that have changed.

    A tool that says something else of itself than at its first sight asks for a click at every use, until it is
    accepted.
    """


@tools_command.command("list")
@_TOOLS.option
def list_(as_json: bool) -> None:
    """List every tool that a daemon has seen, the changed ones first. `changed_ms` is null for an unchanged tool."""
    _TOOLS.show(with_database(load_settings(), recorded_tools), as_json=as_json)


@tools_command.command("accept")
@click.argument("names", metavar="TOOL...", nargs=-1, required=True)
def accept(names: tuple[str, ...]) -> None:
    """Accept what tools say of themselves now; a running daemon follows within five minutes."""

    async def work(database: Database) -> None:
        admin = ToolAdmin(database, SystemClock(), os_user())
        for name in names:
            await admin.accept(name)
            say(f"{name} is accepted as it is now.")

    with_database(load_settings(), work)
