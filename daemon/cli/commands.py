"""The table of commands. Each is imported only when it is called, which makes help fast."""

import gc
from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Final

import click
from msgspec import field

import daemon
from daemon.cli.options import plain_errors
from daemon.core.settings_place import SettingsPlace, settings_from
from daemon.core.value import Value


class Subcommand(Value):
    """A command in a table: its line of help, and its module in `daemon.cli`, by default of its name.

    A colon parts the module from the command's own name there, by default `NAME_command`.
    """

    help: str
    place: str = ""
    members: "Mapping[str, Subcommand]" = field(default_factory=dict)

    def load(self, name: str) -> click.Command:
        if self.members:
            return LazyGroup(name, help=self.help, sections={"Commands": self.members})
        module, _, attribute = (self.place or name).partition(":")
        attribute = attribute or f"{name}_command"
        found = resolve_name(f"daemon.cli.{module}:{attribute}")
        assert isinstance(found, click.Command)
        gc.enable()  # imports make many objects and no garbage: `daemon.cli.main` switches it off
        return found


class LazyGroup(click.Group):
    """A group of the commands in a table, which holds sections by heading."""

    def __init__(
        self,
        name: str | None = None,
        *,
        sections: Mapping[str, Mapping[str, Subcommand]],
        **attributes: Any,  # noqa: ANN401  # those of click.Group
    ) -> None:
        super().__init__(name, **attributes)
        self.sections = sections
        self.table = {name: entry for section in sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.table.get(cmd_name)
        return entry.load(cmd_name) if entry else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, section in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, entry.help) for name, entry in section.items()])


def every_command(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the path and the line of help of each visible command in a group, however deep."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path, command.get_short_help_str(limit=200)
        if isinstance(command, click.Group):
            yield from every_command(command, inner)


@click.command("help")
@click.argument("path", metavar="[COMMAND]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="List every command, also those inside of groups.")
@click.pass_context
def help_command(context: click.Context, path: tuple[str, ...], everything: bool) -> None:
    """List the commands; with names show the help of that one, such as `soul help queue inbox`."""
    where = context.find_root()
    for name in path:
        found = where.command.get_command(where, name) if isinstance(where.command, click.Group) else None
        if found is None:
            raise click.UsageError(f"there is no command `{where.command_path} {name}`")
        where = click.Context(found, info_name=name, parent=where)
    if not everything or not isinstance(where.command, click.Group):
        click.echo(where.get_help())
        return
    lines = list(every_command(where.command, where))
    width = max(len(command) for command, _ in lines)
    for one, does in lines:
        click.echo(f"{one.ljust(width)}  {does}")


_QUEUE: Final = {
    "inbox": Subcommand("Messages that arrived.", "queues:inbox"),
    "outbox": Subcommand("Posts: the parts of replies on their way to the channel.", "queues:outbox"),
    "jobs": Subcommand("Background jobs.", "queues:jobs"),
    "notes": Subcommand("Notes that souls send each other, and what people ask sessions.", "queues"),
    "feedback": Subcommand("Which replies people called good or bad, and what was wrong.", "queues:feedback"),
}
_MEMORY: Final = {
    "search": Subcommand("Show what could surface to a reply.", "memory"),
    "stats": Subcommand("Show what is remembered and how far the search by meaning is.", "memory"),
    "show": Subcommand("Show one memory and what it is linked with.", "memory"),
    "facts": Subcommand("Show which facts a reply could know.", "memory"),
    "why": Subcommand("Show what bears each sentence of a reply."),
    "people": Subcommand("Show what the soul knows about users, per audience, and how it changed.", "memory"),
    "episodes": Subcommand("Show the visits that are kept, and what was distilled of them.", "why"),
    "verify": Subcommand("Check what is remembered: evidence, links, indexes, ledger.", "memory"),
    "rebuild": Subcommand("Make all vectors again.", "upkeep"),
    "runs": Subcommand("Show what was done with memories by night.", "upkeep"),
    "consolidate": Subcommand("Look through what is remembered now.", "upkeep"),
    "undo": Subcommand("Undo what was done with memories in one run.", "upkeep"),
    "forget": Subcommand("Forget everything of one person.", "upkeep"),
    "passport": Subcommand("Write all memories into files, bring such files back, or check them."),
}
_MIND: Final = {
    "thoughts": Subcommand("Show the stream of thought of a soul that thinks whole thoughts."),
    "trace": Subcommand("Show the path of a conversation through the mental processes, with reasons.", "thoughts"),
    "goals": Subcommand("Show what a soul means to do, give it a goal, or close one."),
    "predictions": Subcommand("Show what a soul expects, and what came of it.", "goals"),
    "calibration": Subcommand("Show how well a soul foresees what comes.", "goals"),
    "initiative": Subcommand("Show to whom a soul may write unasked, or decide it for a channel's threads.", "mind"),
    "authority": Subcommand("Show how much each function of a mind may do by itself, or set it.", "mind"),
    "values": Subcommand("Show the values of a soul and its own text about itself.", "mind:values"),
    "show": Subcommand("Show what a soul holds of itself and of its world.", "mind:show"),
    "history": Subcommand("Show how a soul's documents changed.", "mind:history"),
    "schema": Subcommand("Print a JSON Schema of a thought.", "thoughts:schema"),
    "check": Subcommand("Check a thought by its form.", "thoughts:check"),
}
SECTIONS: Final[Mapping[str, Mapping[str, Subcommand]]] = MappingProxyType(
    {
        "Begin": {
            "setup": Subcommand("Create the Slack app, try its tokens and install the service."),
            "run": Subcommand("Run the daemon: in Slack, or in a local workspace when no Slack tokens are set."),
            "chat": Subcommand("Talk to the soul in the terminal.", "run"),
            "upgrade": Subcommand("Bring memory.db and the service to this version, with a way back.", "setup"),
        },
        "Look after it": {
            "status": Subcommand("Show running daemons, waiting work and today's costs."),
            "doctor": Subcommand("Check everything the daemon needs and say how to fix each fault.", "checks"),
            "logs": Subcommand("Print the log of the installed service, of one reply or of one person."),
            "queue": Subcommand("List, retry or drop messages, posts and jobs; notes and feedback.", members=_QUEUE),
            "costs": Subcommand("Show what model calls have cost, by day, model, step, room or person.", "status"),
            "db": Subcommand("Migrate, check, back up or restore memory.db."),
        },
        "The soul": {
            "memory": Subcommand("Show what is remembered, of whom, how it is found, and why.", members=_MEMORY),
            "mind": Subcommand("Show what a mind thinks, holds, intends, expects and may do.", members=_MIND),
            "schedule": Subcommand("List, add or cancel scheduled events.", "agenda"),
            "approvals": Subcommand(
                "List or refuse requests to use a tool, and settle what thoughts propose.", "agenda"
            ),
            "tools": Subcommand("List the tools of MCP servers, and accept those that have changed.", "programs"),
            "context": Subcommand("Show and change the typed state that souls and people share."),
            "handoff": Subcommand("Hand a thread to another soul.", "context"),
        },
        "Sessions and programs": {
            "sessions": Subcommand("Show the sessions of Claude Code that people run, their keys and their hooks."),
            "mcp": Subcommand("Serve the soul's tools to an MCP client over standard input and output."),
            "events": Subcommand("Let programs report to the soul: builds, monitors, forges.", "programs"),
        },
        "Settings and help": {
            "settings": Subcommand("Show every setting and its value."),
            "manifest": Subcommand("Print the manifest that creates the Slack app.", "setup"),
            "completion": Subcommand("Print what lets a shell complete commands and options.", "settings"),
            "help": Subcommand("List the commands; with --all also those inside of groups.", "commands"),
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
