"""The table of commands. Each is imported only when it is called, which makes help fast."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

import daemon
from daemon.cli.groups import LazyGroup, Subcommand
from daemon.cli.options import plain_errors
from daemon.core.settings_place import SettingsPlace, settings_from

_QUEUE: Final = {
    "inbox": Subcommand("Messages that arrived.", "queues:inbox"),
    "outbox": Subcommand("Posts: the parts of replies on their way to the channel.", "queues:outbox"),
    "jobs": Subcommand("Background jobs.", "queues:jobs"),
    "notes": Subcommand("Notes that souls send each other, and what people ask sessions.", "queues:notes_command"),
    "feedback": Subcommand("Which replies people called good or bad, and what was wrong.", "queues:feedback"),
}
_MEMORY: Final = {
    "search": Subcommand("Show what could surface to a reply.", "memory.looking:search_command"),
    "stats": Subcommand(
        "Show what is remembered and how far the search by meaning is.", "memory.looking:stats_command"
    ),
    "show": Subcommand("Show one memory and what it is linked with.", "memory.looking:show_command"),
    "facts": Subcommand("Show which facts a reply could know.", "memory.looking:facts_command"),
    "why": Subcommand("Show what bears each sentence of a reply.", "memory.why"),
    "people": Subcommand("Show what the soul knows about users, per audience, and how it changed.", "memory.people"),
    "episodes": Subcommand(
        "Show the visits that are kept, and what was distilled of them.", "memory.why:episodes_command"
    ),
    "verify": Subcommand(
        "Check what is remembered: evidence, links, indexes, ledger.", "memory.looking:verify_command"
    ),
    "rebuild": Subcommand("Make all vectors again.", "memory.upkeep:rebuild_command"),
    "runs": Subcommand("Show what was done with memories by night.", "memory.upkeep:runs_command"),
    "consolidate": Subcommand("Look through what is remembered now.", "memory.upkeep:consolidate_command"),
    "undo": Subcommand("Undo what was done with memories in one run.", "memory.upkeep:undo_command"),
    "forget": Subcommand("Forget everything of one person.", "memory.upkeep:forget_command"),
    "passport": Subcommand("Write all memories into files, bring such files back, or check them."),
}
_MIND: Final = {
    "thoughts": Subcommand("Show the stream of thought of a soul that thinks whole thoughts."),
    "trace": Subcommand(
        "Show the path of a conversation through the mental processes, with reasons.", "thoughts:trace_command"
    ),
    "goals": Subcommand("Show what a soul means to do, give it a goal, or close one."),
    "predictions": Subcommand("Show what a soul expects, and what came of it."),
    "calibration": Subcommand("Show how well a soul foresees what comes.", "predictions:calibration_command"),
    "initiative": Subcommand("Show to whom a soul may write unasked, or decide it for a channel's threads."),
    "authority": Subcommand("Show how much each function of a mind may do by itself, or set it.", "mind_authority"),
    "values": Subcommand("Show the values of a soul and its own text about itself.", "mind_documents:values"),
    "show": Subcommand("Show what a soul holds of itself and of its world.", "mind_documents:show"),
    "history": Subcommand("Show how a soul's documents changed.", "mind_documents:history"),
    "schema": Subcommand("Print a JSON Schema of a thought.", "thoughts:schema"),
    "check": Subcommand("Check a thought by its form.", "thoughts:check"),
}
SECTIONS: Final[Mapping[str, Mapping[str, Subcommand]]] = MappingProxyType(
    {
        "Begin": {
            "setup": Subcommand("Create the Slack app, try its tokens and install the service."),
            "run": Subcommand("Run the daemon: in Slack, or in a local workspace when no Slack tokens are set."),
            "chat": Subcommand("Talk to the soul in the terminal.", "run:chat_command"),
            "upgrade": Subcommand(
                "Bring memory.db and the service to this version, with a way back.", "setup:upgrade_command"
            ),
        },
        "Look after it": {
            "status": Subcommand("Show running daemons, waiting work and today's costs."),
            "doctor": Subcommand("Check everything the daemon needs and say how to fix each fault."),
            "logs": Subcommand("Print the log of the installed service, of one reply or of one person."),
            "queue": Subcommand("List, retry or drop messages, posts and jobs; notes and feedback.", members=_QUEUE),
            "costs": Subcommand(
                "Show what model calls have cost, by day, model, step, room or person.", "status:costs_command"
            ),
            "db": Subcommand("Migrate, check, back up or restore memory.db."),
        },
        "The soul": {
            "memory": Subcommand("Show what is remembered, of whom, how it is found, and why.", members=_MEMORY),
            "mind": Subcommand("Show what a mind thinks, holds, intends, expects and may do.", members=_MIND),
            "schedule": Subcommand("List, add or cancel scheduled events."),
            "approvals": Subcommand("List or refuse requests to use a tool, and settle what thoughts propose."),
            "tools": Subcommand("List the tools of MCP servers, and accept those that have changed."),
            "context": Subcommand("Show and change the typed state that souls and people share."),
            "handoff": Subcommand("Hand a thread to another soul.", "context:handoff_command"),
        },
        "Sessions and programs": {
            "sessions": Subcommand("Show the sessions of Claude Code that people run, their keys and their hooks."),
            "mcp": Subcommand("Serve the soul's tools to an MCP client over standard input and output."),
            "events": Subcommand("Let programs report to the soul: builds, monitors, forges."),
        },
        "Settings and help": {
            "settings": Subcommand("Show every setting and its value."),
            "manifest": Subcommand("Print the manifest that creates the Slack app.", "setup:manifest_command"),
            "completion": Subcommand(
                "Print what lets a shell complete commands and options.", "settings:completion_command"
            ),
            "help": Subcommand("List the commands; with --all also those inside of groups.", "groups:help_command"),
        },
    }
)

_OF_THEIR_OWN: Final = frozenset({"run", "manifest", "setup", "upgrade"})


def _service() -> SettingsPlace | None:
    from daemon.cli.installing import place_of_service

    context = click.get_current_context(silent=True)
    return None if context is not None and context.info_name in _OF_THEIR_OWN else place_of_service()


class _Soul(LazyGroup):
    def invoke(self, ctx: click.Context) -> object:
        """Run a command and print a failure as two plain lines. Without settings here, use the installed service's."""
        with plain_errors(tracebacks=bool(ctx.params["debug"])), settings_from(_service):
            return super().invoke(ctx)


@click.group(
    cls=_Soul,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(daemon.__version__, prog_name="soul")
@click.option("--debug", is_flag=True, help="Show a traceback when a command fails; so does SOUL_DEBUG=true.")
def soul(debug: bool) -> None:
    """The Soul Daemon: a teammate with a soul for a Slack workspace.

    Commands that print data take --json. An error is two lines: what happened and what to do. Exit codes: 0 success, 1
    a finding, 2 wrong usage, 70 a failure or a missing row or file, 75 a temporary failure, 78 a configuration that an
    admin has to fix.
    """
