"""`soul memory forget`, `runs`, `consolidate`, `rebuild` and `undo`."""

import asyncio
from functools import partial
from typing import Final

import click

from daemon.app import consolidate_here
from daemon.cli.listing import RowListing, at, existing_database, facts, json_of, os_user, say, say_json, with_database
from daemon.cli.memory.looking import KEYS, as_plain
from daemon.cli.options import limit_option
from daemon.core.config import Settings, forget_secrets, load_settings
from daemon.core.errors import ConfigError, ModelUnavailable, StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.ports.vectors import Embedder
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.nights import (
    KeptRun,
    NightAdmin,
    ParkedMemory,
    is_begun,
    is_over,
    list_runs,
    minds,
    parked_memories,
)
from daemon.memory.admin.overview import survey
from daemon.memory.audit import record_act
from daemon.memory.consolidation.slots import NightSlots
from daemon.memory.database import Database, open_database
from daemon.memory.people.forgetting import ForgettingPeople, workspaces_of
from daemon.memory.people.residues import residues, texts_of
from daemon.memory.records import Worker
from daemon.memory.retrieval.keeper import IndexParts, VectorKeeper
from daemon.memory.retrieval.sources import Order, enqueue, is_ordered
from daemon.memory.retrieval.statistics import Statistics, statistics
from daemon.memory.retrieval.vectors import Vectors


@click.command("forget")
@click.argument("person", metavar="PERSON")
@click.option("--yes", is_flag=True, help="Do it; it can't be undone.")
@json_of(("stores {table: n}", "residues"))
def forget_command(person: str, yes: bool, as_json: bool) -> None:
    """Forget everything of one person. PERSON is a Slack id, U…

    It may run beside the daemon. Backups keep the person until they are replaced, and forget them when one is restored.

    `stores` are the numbers of rows deleted or emptied, `residues` rows and files that still hold something; exit
    status 1 if there are any.
    """
    if not yes:
        raise click.UsageError("this deletes all that is kept of the person, for good: add --yes")
    settings = load_settings()
    stores, left = with_database(settings, partial(_forget, settings, person))
    if as_json:
        say_json({"stores": stores, "residues": left})
    else:
        facts({**stores, "residues": str(left)})
        say("Forgotten. Slack's own copy stays until it is deleted there, backups until they are replaced.")
        if left:
            say("Something in SOUL_HOME still holds words of theirs. Files that are not the daemon's, such as an")
            say("exported passport or a copy of memory.db, are not touched: delete those yourself.")
    if left:
        raise SystemExit(1)


async def _forget(settings: Settings, person: str, database: Database) -> tuple[dict[str, int], int]:
    people = ForgettingPeople(database, SystemClock(), _silent, settings.home, settings.index_folder)
    found = await workspaces_of(database, person)
    if not found:
        raise StoreError(f"nothing is kept of {person}", hint="see `soul memory people list`; give the id")
    stores, left = dict[str, int](), 0
    for workspace in found:
        texts = await texts_of(database, workspace, person)
        order = await people.ask(workspace, person)
        await database.write(
            partial(record_act, actor=os_user(), act="memory.forget", subject=order, now=SystemClock().now_ms())
        )
        for name, number in (await people.finish(order)).items():
            stores[name] = stores.get(name, 0) + number
        left += await residues(database, settings.home, workspace, person, texts)
    return stores, left


def _silent(event: str, /, **fields: object) -> None: ...


_MOST_PARKED: Final = 20
RUNS: Final = RowListing[KeptRun](
    *(KeptRun, ("RUN", "id"), at("slot_ms", "SLOT (UTC)"), "audience", "state", "tokens"),
    *(("DID", lambda one, _: ", ".join(f"{name} {number}" for name, number in one.did.items())), "error"),
)
"""The runs of consolidation. `did` has the number of changed memories of each part."""


@click.command("runs")
@limit_option("runs, the newest first")
@RUNS.option
def runs_command(limit: int, as_json: bool) -> None:
    """Show what consolidation did, one run for each night and audience in which there was something to do.

    A run is running, done, cut (the budget of tokens did not suffice; the next night goes on), failed (some of it could
    not be worked on; ERROR says why, and the next night tries again) or undone.
    """

    async def read(database: Database) -> tuple[tuple[KeptRun, ...], tuple[ParkedMemory, ...]]:
        return await list_runs(database, limit), await parked_memories(database, _MOST_PARKED)

    found, parked = with_database(load_settings(), read)
    if RUNS.show(found, as_json=as_json):
        for one in parked:
            say(f"{one.id} is left alone by {one.part}, which failed at it three times: {one.reason}")


_LOOK_S = 0.5
_PATIENCE_S = 60.0
_MOST_RUNS = 10_000
_NO_LEASE = 0  # an order takes none


@click.command("consolidate")
@RUNS.option
def consolidate_command(as_json: bool) -> None:
    """Look through what is remembered at once, and learn from what was said last without waiting for a lull.

    The daemon that is running does it, and messages come first; where none is running, this command does it. It ends
    when all is done. The exit status is 1 if a run failed.
    """
    settings = load_settings()
    existing_database(settings)
    forget_secrets()
    found = asyncio.run(_consolidate(settings))
    if RUNS.show(found, as_json=as_json) and not found:
        say("There was nothing to do.")
    if any(one.state == "failed" for one in found):
        raise SystemExit(1)


async def _consolidate(settings: Settings) -> tuple[KeptRun, ...]:
    """Order a consolidation of each soul in each workspace. Return the runs. Raises StoreError, ConfigError."""
    clock, found = SystemClock(), list[KeptRun]()
    async with open_database(settings.database_path.absolute(), clock, create=False) as database:
        for soul, workspace in await minds(database, (settings.name, *settings.souls)):
            slots = NightSlots(database, clock, Worker("", soul, workspace, _NO_LEASE))
            slot = await slots.order()
            if await _is_served(database, workspace):
                await _wait(database, soul, workspace, slot)
            else:
                await consolidate_here(settings, soul, workspace)
            found += await list_runs(database, _MOST_RUNS, slot=(soul, workspace, slot))
    return tuple(found)


async def _wait(database: Database, soul: str, workspace: str, slot: int) -> None:
    """Wait until the daemon has done the run. Raises StoreError if the daemon ends before."""
    clock = SystemClock()
    began = clock.monotonic()
    while not await is_over(database, soul, workspace, slot):
        if not await _is_served(database, workspace):
            raise StoreError("the daemon ended before it was done", hint="run the command again")
        if clock.monotonic() - began > _PATIENCE_S and not await is_begun(database, soul, workspace, slot):
            hint = "see its log: it may have other work, a full disk, or not have that soul; it is done when it can be"
            raise StoreError(f"the daemon has not begun with {soul} in {workspace} for a minute", hint=hint)
        await clock.sleep(_LOOK_S)


async def _is_served(database: Database, workspace: str) -> bool:
    now = SystemClock().now_ms()
    return any(one.alive and one.workspace == workspace for one in (await survey(database, now, now)).daemons)


_REBUILD_LOOK_S: Final = 0.5
_OBEYED_WITHIN_S: Final = 60.0  # a keeper that waits looks again after half of it


@click.command("rebuild")
@click.option("--wait", is_flag=True, help="Return only when every memory has its vectors.")
@json_of(KEYS)
def rebuild_command(wait: bool, as_json: bool) -> None:
    """Make all vectors again. Searches go on meanwhile, by full text alone where a vector is missing.

    The daemon that keeps the index does it. Where none is running, `--wait` does it itself; without it, the next daemon
    does.
    """
    settings = load_settings()
    embedder = build_embedder(settings)
    if embedder is None:
        raise ConfigError("SOUL_EMBEDDER is none: there are no vectors", hint="set SOUL_EMBEDDER=local and try again")
    found = with_database(settings, partial(_rebuild, settings, embedder, wait))
    if as_json:
        say_json(as_plain(found))
    elif wait:
        say(f"{found.have} of {found.wanted} memories have their vectors.")
    else:
        by = f"process {found.owner}" if found.owner is not None else "the next daemon"
        say(f"Ordered: {by} makes the vectors of {found.wanted} memories anew; see `soul memory stats`.")


async def _rebuild(settings: Settings, embedder: Embedder, wait: bool, database: Database) -> Statistics:
    folder, clock = settings.index_folder, SystemClock()
    await database.write(partial(enqueue, ids=[Order.REBUILD]))
    index = Vectors(folder, embedder.id, _rebuild_silent)
    parts = IndexParts(database, index, folder, embedder, clock, _rebuild_silent, settings.chroma_from)
    began = clock.monotonic()
    try:
        while True:
            mine = wait and await VectorKeeper(parts).catch_up()
            obeyed = not await database.read(partial(is_ordered, order=Order.REBUILD))  # troubles before that are none
            found = await statistics(database, folder, embedder.id)
            if not wait or mine or not found.queued:
                return found
            if found.trouble and (obeyed or clock.monotonic() - began > _OBEYED_WITHIN_S):
                raise ModelUnavailable(f"the vectors wait: {found.trouble}", hint=found.hint)
            await clock.sleep(_REBUILD_LOOK_S)
    finally:
        await index.aclose()
        await embedder.aclose()


def _rebuild_silent(_event: str, /, **_fields: object) -> None: ...


@click.command("undo")
@click.argument("run", metavar="RUN")
@json_of(("run", "restored [id]", "kept [{id, why}]"))
def undo_command(run: str, as_json: bool) -> None:
    """Undo a run of consolidation: RUN is an id of `soul memory runs`.

    What somebody changed or forgot since stays as it is, and so does what hangs together with it. It may run beside the
    daemon. The next night leaves alone what was undone.
    """
    done = with_database(load_settings(), lambda database: NightAdmin(database, SystemClock(), os_user()).undo(run))
    if as_json:
        say_json(done)
        return
    say(f"Run {run} is undone: {len(done.restored)} memories are as before.")
    for one in done.kept:
        say(f"{one.id} stays as it is: {one.why}.")
