"""`soul db`: migrate, check, copy and replace the file memory.db."""

import tempfile
from pathlib import Path

import click
from msgspec.structs import asdict

from daemon.cli.listing import existing_database, os_user, say, say_json
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.overview import check_file
from daemon.memory.admin.restore import restore
from daemon.memory.database.backup import back_up, prepare_folder
from daemon.memory.database.schema import migrate


@click.group("db")
def db_command() -> None:
    """Migrate, check, back up or restore memory.db."""


@db_command.command("migrate")
def migrate_() -> None:
    """Create memory.db, or migrate it to this version's schema. `soul run` does this by itself."""
    path = load_settings().database_path.absolute()
    before, after = migrate(path)
    say(f"{path} has schema {after}" + (" already." if before == after else f" now; it had {before}."))


@db_command.command("check")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: {database, schema, journal, faults, cure}.")
@click.pass_context
def check(context: click.Context, as_json: bool) -> None:
    """Check every row and index of memory.db; exit code 1 when anything is wrong."""
    path = existing_database(load_settings())
    found = check_file(path, whole=True)
    if as_json:
        say_json({"database": path} | asdict(found))
    elif found.faults:
        say(f"{path} has faults:")
        for fault in found.faults:
            say(f"  {fault}")
        say(f"→ {found.cure}")
    else:
        say(f"{path} has no faults (schema {found.schema}, journal {found.journal}).")
    if found.faults:
        context.exit(1)


@db_command.command("backup")
@click.argument("target", metavar="[PATH]", type=click.Path(path_type=Path), required=False)
@click.option("--new-folder", is_flag=True, help="Make the folder of PATH where it is missing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: {path, schema, bytes}.")
def backup(target: Path | None, new_folder: bool, as_json: bool) -> None:
    """Copy memory.db while it is in use, check the copy and print its path.

    PATH is a file or a folder. Without it the copy goes to `backups` in the data folder, where old copies are deleted
    automatically.
    """
    settings, clock = load_settings(), SystemClock()
    path = existing_database(settings)
    if target is None:
        target = prepare_folder(path, clock, share=settings.backup_share)
    elif new_folder:
        _make(target.parent)
    made = back_up(path, target, clock)
    if as_json:
        say_json(made)
    else:
        say(f"{made.path} ({made.bytes} bytes, checked)")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} can't be made: {error.strerror}", hint="choose another folder") from error


@db_command.command("restore")
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Even if a daemon runs or may run.")
@click.option("--as-it-was", is_flag=True, help="Keep the schema of the copy, for an older program.")
def restore_(source: Path, force: bool, as_it_was: bool) -> None:
    """Replace memory.db by a backup; the replaced file is kept beside it.

    Work that waited in the backup may have been done since. Posts are looked up in Slack before they are sent. Messages
    become stale instead of being answered; `soul queue inbox retry` has them answered.
    """
    path = load_settings().database_path.absolute()
    done = restore(source, path, SystemClock(), actor=os_user(), force=force, migrates=not as_it_was)
    say(f"{path} is now a copy of {source}.")
    if done.replaced is not None:
        say(f"The replaced file is now {done.replaced}.")
    if done.waiting:
        say(f"{done.waiting} messages waited in it and may have been answered: soul queue inbox list --state stale")


@db_command.command("example", hidden=True)
@click.argument("target", metavar="PATH", type=click.Path(path_type=Path))
def example(target: Path) -> None:
    """Write an empty memory.db with all tables, as an example of the schema; replaces the file at PATH."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "memory.db"
        migrate(empty)
        fresh = back_up(empty, Path(folder) / "example.db", SystemClock())
        try:
            target.write_bytes(fresh.path.read_bytes())
        except OSError as error:
            raise StoreError(f"{target} can't be written: {error.strerror}", hint="choose another path") from error
    say(f"{target} holds schema {fresh.schema} and no rows.")
