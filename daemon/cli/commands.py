"""Which subcommands there are; each is imported only when it is called, so that help comes at once."""

from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

import daemon
from daemon.cli.error_output import told_plainly

# The name of each subcommand, which is also its module, and what it is for.
SUBCOMMANDS: Final = MappingProxyType(
    {
        "run": "Run the daemon: in Slack, or in a workspace of its own when no Slack tokens are set.",
        "chat": "Talk to the soul here in the terminal.",
        "status": "Show which daemons are alive, what waits and what was spent today.",
        "doctor": "Check everything the daemon needs, and say how to mend what is wrong.",
        "inbox": "List, show, retry or drop messages that arrived.",
        "outbox": "List, show, retry or drop replies on their way out.",
        "trace": "Show the path of mental states that a conversation took, with reasons.",
        "people": "Show what the soul knows of people, per audience, and how it changed.",
        "schedule": "List, add or cancel what the soul is to notice later.",
        "approvals": "List or refuse questions for permission to use a tool.",
        "db": "Migrate, check, back up or restore memory.db.",
        "settings": "Show every setting and its value.",
        "manifest": "Print the manifest to create the Slack app with.",
    }
)


class Subcommands(click.Group):
    """A group whose members are modules of this package that hold a `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of the table."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one."""
        if cmd_name not in SUBCOMMANDS:
            return None
        found = import_module(f"daemon.cli.{cmd_name}").command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run one; its failures are told in two plain lines."""
        with told_plainly(tracebacks=bool(ctx.params["debug"])):
            return super().invoke(ctx)


@click.group(cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(daemon.__version__, prog_name="soul")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails (or set SOUL_DEBUG).")
def soul(debug: bool) -> None:
    """The Soul Daemon: a teammate with a soul for a Slack workspace."""
