"""`soul help`: the commands, or the help of one."""

import click

from daemon.cli.groups import every_command


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
