"""`soul memory passport`: every memory as a file, to read, to move to another machine and to import again."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click
from msgspec.structs import asdict

from daemon.cli.listing import json_of, os_user, say, say_json, with_database
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.perception import Audience, AudienceKind, Origin
from daemon.core.ports.services import SystemClock
from daemon.core.text import one_line
from daemon.memory.audit import record_act
from daemon.memory.database import Database
from daemon.memory.knowledge.shared_files import SenseBytes
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.exporting import Exported, export_passport
from daemon.memory.passport.importing import Imported, import_passport, workspace_of
from daemon.memory.passport.pictures import PictureRoom
from daemon.memory.passport.reading import RefusedFile
from daemon.memory.passport.storing import Bounds
from daemon.memory.passport.verifying import verify_passport

_SHOWN: Final = 20


@click.group("passport")
def passport_command() -> None:
    """Write every memory into a file of its own, bring such files back, or check them.

    A passport holds everybody's words: keep it as you keep a backup. docs/MEMORY.md describes its files.
    """


@passport_command.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_of(Exported)
def export(folder: Path, as_json: bool) -> None:
    """Write all memories into DIR: a new or empty folder, or an earlier passport, which is brought up to date.

    The audit keeps who did it. Exit code 1 when a row of memory.db is no memory and was left out. Whole thoughts stay
    behind, and with them goals, expectations and what the soul holds of itself, its world and its values.
    """
    settings = load_settings()
    done = with_database(settings, lambda database: _export(settings, database, folder.absolute()))
    if as_json:
        say_json(done)
    else:
        say(f"{done.records} memories in {folder}: {done.written} files written, {done.removed} deleted.")
        for name in done.failed[:_SHOWN]:
            say(f"- {one_line(name)} is no memory and was left out; see soul memory verify")
    if done.failed:
        raise click.exceptions.Exit(1)


@passport_command.command("import")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--workspace", metavar="T…", help="The workspace of memories that name none; by default the last one used."
)
@click.option("--for-everybody", is_flag=True, help="The whole workspace may hear memories that don't say who may.")
@json_of(("stored", "unchanged", "pictures", "left_out", "fields [name]", "failed", "refused [{path, reason}]"))
def import_(folder: Path, workspace: str | None, for_everybody: bool, as_json: bool) -> None:
    """Store what DIR holds and memory.db lacks. Nothing that is there is changed; what was forgotten stays forgotten.

    Files that can't be loaded are refused by name, and the rest is stored. Memories that don't say who may hear them
    reach no user without --for-everybody. Exit code 1 when a file was refused.
    """
    settings = load_settings()
    done = with_database(settings, partial(_import, settings, folder.absolute(), workspace, for_everybody))
    if as_json:
        say_json({**asdict(done), "failed": len(done.refused)})
    else:
        say(
            f"{done.stored} memories stored, {done.pictures} pictures; {done.unchanged} were here already; "
            f"{len(done.refused)} files refused."
        )
        if done.left_out:
            say(f"Fields left out since they are unknown here: {done.left_out}, such as {', '.join(done.fields)}.")
        _say_refused(done.refused)
    if done.refused:
        raise click.exceptions.Exit(1)


@passport_command.command("verify")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_of(("records", "failed", "lossless", "chain", "refused [{path, reason}]", "lost [path]", "changed [path]"))
def verify(folder: Path, as_json: bool) -> None:
    """Check the files in DIR, without a memory.db. Exit code 1 when something is wrong with them.

    `records` load and `failed` don't; `lossless`: each is written again with all that it says; `chain`: the files are
    those of the manifest, null without one.
    """
    import asyncio

    found = asyncio.run(verify_passport(folder.absolute(), SystemClock()))
    if as_json:
        say_json({**asdict(found), "failed": len(found.refused)})
    else:
        say(f"{found.records} memories load; {len(found.refused)} files don't.")
        _say_refused(found.refused)
        _say_paths("would lose something", found.lost)
        _say_paths("is not as the manifest says", found.changed)
        chain = {None: "There is no manifest.", True: "The manifest fits.", False: "The manifest does not fit."}
        say(chain[found.chain])
    if found.refused or not found.lossless or found.chain is False:
        raise click.exceptions.Exit(1)


async def _export(settings: Settings, database: Database, folder: Path) -> Exported:
    try:
        done = await export_passport(database, folder, SenseBytes(settings.home))
    except OSError as error:
        raise StoreError(
            f"{folder} can't be written: {error.strerror}", hint="make room or choose another folder; then try again"
        ) from error
    await _record(database, "export passport", folder, f"{done.records} memories, chain {done.chain}")
    return done


async def _import(
    settings: Settings, folder: Path, workspace: str | None, for_everybody: bool, database: Database
) -> Imported:
    known = workspace or ""
    if not known:
        known = await database.read(lambda transaction: workspace_of(transaction, settings.name))
    owner = Owner(settings.name, known)
    if for_everybody:
        if not known:
            raise StoreError("memory.db knows no workspace yet", hint="name it with --workspace T…")
        owner = Owner(settings.name, known, Origin(Audience(AudienceKind.WORKSPACE, known), ""))
    room = PictureRoom(SenseBytes(settings.home), settings.senses_mb * 2**20)
    bounds = Bounds(most_intentions=settings.schedule_max, room=room)
    done = await import_passport(database, folder, owner, SystemClock(), bounds)
    await _record(database, "import passport", folder, f"{done.stored} stored, {len(done.refused)} refused")
    return done


async def _record(database: Database, act: str, folder: Path, detail: str) -> None:
    now = SystemClock().now_ms()
    await database.write(
        lambda transaction: record_act(
            transaction, actor=os_user(), act=act, subject=str(folder), detail=detail, now=now
        )
    )


def _say_refused(refused: Sequence[RefusedFile]) -> None:
    for one in refused[:_SHOWN]:
        say(f"- {one.path}: {one.reason}")
    if len(refused) > _SHOWN:
        say(f"- and {len(refused) - _SHOWN} more; --json names all")


def _say_paths(what: str, paths: Sequence[str]) -> None:
    for path in paths[:_SHOWN]:
        say(f"- {path} {what}")
    if len(paths) > _SHOWN:
        say(f"- and {len(paths) - _SHOWN} more; --json names all")
