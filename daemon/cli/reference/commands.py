"""Writes `docs/COMMANDS.md`: the help of every command, generated from the commands."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from daemon.cli.commands import soul

_HEADER = """\
# Commands

An admin needs five commands. `soul run` starts the daemon. `soul doctor` checks everything it needs: run it before the
first start, after every change of settings, and first of all when something is wrong. `soul status` shows whether the
daemon runs and what waits. `soul outbox` lists posts that were not delivered, and retries or drops them: look there
when a reply is missing. `soul db backup` copies memory.db: run it before an upgrade and before you move the data. All
other commands are for a closer look; [ADMIN.md](ADMIN.md) shows them at work.

Commands that print data take `--json`. An error is two lines: what happened and what to do. Exit codes: 0 success, 1 a
finding, 2 wrong usage, 70 a failure or a missing row or file, 75 a temporary failure, 78 a configuration that an admin
has to fix.

Generated from the program's help by `python -m daemon.cli.reference.commands docs/COMMANDS.md`.
"""


def command_reference() -> str:
    """The text of the document."""
    return "\n".join((_HEADER, *_sections(soul, click.Context(soul, info_name="soul", **soul.context_settings))))


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    context.max_content_width = context.terminal_width = 100
    yield f"## `{context.command_path}`\n\n```text\n{command.get_help(context).strip()}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None and not member.hidden:
                yield from _sections(member, click.Context(member, info_name=name, parent=context))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(command_reference(), encoding="utf-8")
