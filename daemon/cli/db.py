"""`soul db`: what is done to memory.db as a file, through SQLite alone."""

import dataclasses
import tempfile
from pathlib import Path

import click

from daemon.cli.database_access import existing_database, os_user
from daemon.cli.output import say, say_json
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.memory.admin.overview import check_file
from daemon.memory.admin.restore import restore
from daemon.memory.database.backup import back_up, folder_beside
from daemon.memory.database.migrate import migrate


@click.group("db")
def command() -> None:
    """Migrate, check, back up or restore memory.db."""


@command.command("migrate")
def migrate_() -> None:
    """Create memory.db, or bring it to this program's schema; a running daemon does so by itself at its start."""
    path = load_settings().database_path.absolute()
    before, after = migrate(path)
    say(f"{path} has schema {after}" + (" already." if before == after else f" now, it had {before}."))


@command.command("check")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: {database, schema, journal, faults, cure}.")
@click.pass_context
def check(context: click.Context, as_json: bool) -> None:
    """Check the whole of memory.db, every row and index; exit code 1 when anything is wrong."""
    path = existing_database(load_settings())
    found = check_file(path, whole=True)
    if as_json:
        say_json({"database": path} | dataclasses.asdict(found))
    elif found.faults:
        say(f"{path} is not in order:")
        for fault in found.faults:
            say(f"  {fault}")
        say(f"→ {found.cure}")
    else:
        say(f"{path} is in order (schema {found.schema}, journal {found.journal}).")
    if found.faults:
        context.exit(1)


@command.command("backup")
@click.argument("target", metavar="[PATH]", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: {path, schema, bytes}.")
def backup(target: Path | None, as_json: bool) -> None:
    """Copy memory.db while it is in use, check the copy and print where it is.

    PATH is a file or a folder; without it the copy joins the automatic ones and is deleted with them after a while.
    """
    path = existing_database(load_settings())
    if target is None:
        target = folder_beside(path)
        target.mkdir(mode=0o700, exist_ok=True)
    made = back_up(path, target, SystemClock())
    if as_json:
        say_json(made)
    else:
        say(f"{made.path} ({made.bytes} bytes, checked)")


@command.command("restore")
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Even if a daemon is or may be alive.")
def restore_(source: Path, force: bool) -> None:
    """Put a backup in the place of memory.db; the former file is kept beside it.

    What waited in the backup may have been done since: replies are looked up in Slack before they are sent, messages
    are set aside as stale. `soul inbox retry` has them answered.
    """
    path = load_settings().database_path.absolute()
    done = restore(source, path, SystemClock(), actor=os_user(), force=force)
    say(f"{path} is now what {source} holds.")
    if done.replaced is not None:
        say(f"The former file is {done.replaced}.")
    if done.waiting:
        say(f"{done.waiting} messages waited in it and may have been answered since: soul inbox list --state stale")


@command.command("example", hidden=True)
@click.argument("target", metavar="PATH", type=click.Path(path_type=Path))
def example(target: Path) -> None:
    """Write an empty memory.db with all tables, for people to look at; replaces the file at PATH."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "memory.db"
        migrate(made)
        fresh = back_up(made, Path(folder) / "example.db", SystemClock())
        try:
            target.write_bytes(fresh.path.read_bytes())
        except OSError as error:
            raise StoreError(f"{target} can't be written: {error.strerror}", hint="choose another place") from error
    say(f"{target} holds schema {fresh.schema} and no rows.")
