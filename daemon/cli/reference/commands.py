"""Writes `docs/COMMANDS.md`: the help of every command, made from the commands themselves."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from daemon.cli.commands import soul

_HEADER = """\
# Commands

Made from the program's own help by `python -m daemon.cli.reference.commands FILE`; a test keeps it true. Readers take
`--json`.
Errors say what happened and what to do; the exit code is 0, 1 for a finding or a refusal, 2 for wrong usage, 70 for a
fault or for what isn't there, 75 for something that may heal by itself and 78 for a configuration that a person has to
mend.
"""


def command_reference() -> str:
    """The whole text of the document."""
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
