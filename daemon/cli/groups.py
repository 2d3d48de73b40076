"""Groups of commands that are imported only when they are called, which makes help fast."""

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A command in a table: its line of help, and its place in `daemon.cli`, by default `NAME:NAME_command`."""

    help: str
    place: str = ""
    members: "Mapping[str, Subcommand]" = field(default_factory=dict)

    def load(self, name: str) -> click.Command:
        if self.members:
            return LazyGroup(name, help=self.help, sections={"Commands": self.members})
        module, _, attribute = (self.place or name).partition(":")
        attribute = attribute or f"{module.rpartition('.')[2]}_command"
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
