"""`soul memory`: what is remembered, how it is found, and why."""

from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

# Subcommands by name, each the `command` of the module of that name.
SUBCOMMANDS: Final = MappingProxyType(
    {
        "search": "Show what could surface to a reply.",
        "stats": "Show what is remembered and how far the search by meaning is.",
        "show": "Show one memory and what it is linked with.",
        "facts": "Show which facts a reply could know.",
        "why": "Show what bears each sentence of a reply.",
        "people": "Show how much is remembered of each user.",
        "episodes": "Show the visits that are kept, and what was distilled of them.",
        "verify": "Check what is remembered: evidence, links, indexes, ledger.",
        "rebuild": "Make all vectors anew.",
        "runs": "Show what was done with memories by night.",
        "consolidate": "Look through what is remembered now.",
        "undo": "Undo what was done with memories in one run.",
        "forget": "Forget everything of one person.",
    }
)


class _Subcommands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        found = import_module(f"daemon.cli.memory.{cmd_name}").command
        assert isinstance(found, click.Command)
        return found


@click.group("memory", cls=_Subcommands)
def command() -> None:
    """Show what is remembered, how it is found, and why."""
