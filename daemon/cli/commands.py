"""The table of subcommands; each is imported only when it is called, so that help is fast."""

import gc
from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

import daemon
from daemon.cli.error_output import plain_errors
from daemon.core.settings_place import SettingsPlace, settings_from

# Subcommands by name, which is also the module's, with one line of help.
SUBCOMMANDS: Final = MappingProxyType(
    {
        "setup": "Create the Slack app, try its tokens and install the service.",
        "upgrade": "Bring memory.db and the service to this version, with a way back.",
        "run": "Run the daemon: in Slack, or in a local workspace when no Slack tokens are set.",
        "chat": "Talk to the soul in the terminal.",
        "status": "Show running daemons, waiting work and today's costs.",
        "logs": "Print the log of the installed service, of one reply or of one person.",
        "costs": "Show what model calls have cost, by day, model, step, room or person.",
        "doctor": "Check everything the daemon needs and say how to fix each fault.",
        "inbox": "List, show, retry or drop messages that arrived.",
        "outbox": "List, show, retry or drop posts: the parts of replies on their way to the channel.",
        "jobs": "List, retry or drop background jobs.",
        "trace": "Show the path of a conversation through the mental processes, with reasons.",
        "feedback": "Show which replies people called good or bad, and what was wrong.",
        "people": "Show what the soul knows about users, per audience, and how it changed.",
        "memory": "Show what is remembered, how it is found, and why.",
        "thoughts": "Show the stream of thought of a soul that thinks whole thoughts.",
        "mind": "Show what a mind holds, the forms of a thought, and what it may do by itself.",
        "goals": "Show what a soul means to do, give it a goal, or close one.",
        "initiative": "Show to whom a soul may write unasked, or decide it for a channel's threads.",
        "predictions": "Show what a soul expects, and what came of it.",
        "calibration": "Show how well a soul foresees what comes.",
        "passport": "Write all memories into files, bring such files back, or check them.",
        "context": "Show and change the typed state that souls and people share.",
        "notes": "Show the notes that souls send each other, or send one.",
        "handoff": "Hand a thread to another soul.",
        "sessions": "Show the sessions of Claude Code that people run.",
        "hooks": "Join the sessions of Claude Code on this machine to the soul.",
        "mcp": "Serve the soul's tools to an MCP client over standard input and output.",
        "keys": "Give out and revoke the keys of people's sessions of Claude Code.",
        "events": "Let programs report to the soul: builds, monitors, forges.",
        "schedule": "List, add or cancel scheduled events.",
        "approvals": "List or refuse requests for permission to use a tool, and settle what thoughts propose.",
        "tools": "List the tools of MCP servers, and accept those that have changed.",
        "db": "Migrate, check, back up or restore memory.db.",
        "settings": "Show every setting and its value.",
        "manifest": "Print the manifest that creates the Slack app.",
        "completion": "Print what lets a shell complete commands and options.",
    }
)

_OF_THEIR_OWN: Final = frozenset({"run", "manifest", "setup", "upgrade"})


def _service() -> SettingsPlace | None:
    """The settings of the installed service, for every command but those that begin something of their own."""
    from daemon.cli.installed.search import place_of_service

    context = click.get_current_context(silent=True)
    return None if context is not None and context.info_name in _OF_THEIR_OWN else place_of_service()


class Subcommands(click.Group):
    """A group of commands, each the `command` of a module of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in SUBCOMMANDS:
            return None
        found = import_module(f"daemon.cli.{cmd_name}").command
        assert isinstance(found, click.Command)
        gc.enable()
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; a failure is printed as two plain lines.

        Where the folder has no settings of its own, a command reads those of the installed service.
        """
        with plain_errors(tracebacks=bool(ctx.params["debug"])), settings_from(_service):
            return super().invoke(ctx)


@click.group(cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(daemon.__version__, prog_name="soul")
@click.option("--debug", is_flag=True, help="Show a traceback when a command fails; so does SOUL_DEBUG=true.")
def soul(debug: bool) -> None:
    """The Soul Daemon: a teammate with a soul for a Slack workspace."""
