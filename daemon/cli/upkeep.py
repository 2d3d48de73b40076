"""`soul memory forget`, `runs`, `consolidate`, `rebuild` and `undo`."""

from functools import partial
from typing import Final

import click

from daemon.app import consolidate_here
from daemon.cli.listing import Here, TextTable, at, facts, lists, say, shows, silent
from daemon.cli.memory import INDEX, index_row, index_state
from daemon.cli.options import MOST_AT_ONCE, limit_option
from daemon.core.config import forget_secrets
from daemon.core.errors import ConfigError, ModelUnavailable, StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.ports.vectors import Embedder
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.nights import NightAdmin, is_begun, is_over, list_runs, minds, parked_memories
from daemon.memory.admin.overview import survey
from daemon.memory.audit import record_act
from daemon.memory.consolidation.slots import NightSlots
from daemon.memory.consolidation.undo import Undone
from daemon.memory.database import Database
from daemon.memory.people.forgetting import ForgettingPeople, workspaces_of
from daemon.memory.people.residues import residues, texts_of
from daemon.memory.records import Row, Worker
from daemon.memory.retrieval.keeper import IndexParts, VectorKeeper
from daemon.memory.retrieval.sources import Order, enqueue, is_ordered
from daemon.memory.retrieval.statistics import Statistics
from daemon.memory.retrieval.vectors import Vectors


def _print_forgotten(done: Row) -> None:
    facts({**done["stores"], "residues": str(done["residues"])})
    say("Forgotten. Slack's own copy stays until it is deleted there, backups until they are replaced.")
    if done["residues"]:
        say("Something in SOUL_HOME still holds words of theirs. Files that are not the daemon's, such as an")
        say("exported passport or a copy of memory.db, are not touched: delete those yourself.")


@click.command("forget")
@click.argument("person", metavar="PERSON")
@click.option("--yes", is_flag=True, help="Do it; it can't be undone.")
@shows("stores {table: n}, residues", _print_forgotten, fails=lambda done: done["residues"])
async def forget_command(here: Here, person: str, yes: bool) -> Row:
    """Forget everything of one person. PERSON is a Slack id, U…

    It may run at the same time as the daemon. Backups keep the person until they are replaced, and forget them when one
    is restored.

    `stores` are the numbers of rows deleted or emptied, `residues` rows and files that still hold something; exit
    status 1 if there are any.
    """
    if not yes:
        raise click.UsageError("this deletes all that is kept of the person, for good: add --yes")
    database, settings = here.database, here.settings
    people = ForgettingPeople(database, SystemClock(), silent, settings.home, settings.index_folder)
    found = await workspaces_of(database, person)
    if not found:
        raise StoreError(f"nothing is kept of {person}", hint="see `soul memory people list`; give the id")
    stores, left = dict[str, int](), 0
    for workspace in found:
        texts = await texts_of(database, workspace, person)
        order = await people.ask(workspace, person)
        act = partial(record_act, actor=here.actor, act="memory.forget", subject=order, now=SystemClock().now_ms())
        await database.write(act)
        for name, number in (await people.finish(order)).items():
            stores[name] = stores.get(name, 0) + number
        left += await residues(database, settings.home, workspace, person, texts)
    return {"stores": stores, "residues": left}


_MOST_PARKED: Final = 20
_KEYS: Final = "id, soul, workspace, slot_ms, audience, state, did, tokens, error, began_ms, ended_ms"
_RUN: Final = (
    *("RUN=id", at("slot_ms", "SLOT (UTC)"), "audience state tokens"),
    *(("DID", lambda row: ", ".join(f"{name} {number}" for name, number in row["did"].items())), "error"),
)
"""The columns of a run of consolidation. `did` has the number of changed memories of each part."""


@click.command("runs")
@limit_option("runs, the newest first")
@lists(_KEYS, *_RUN)
async def runs_command(here: Here, limit: int) -> list[Row]:
    """Show what consolidation did, one run for each night and audience in which there was something to do.

    A run is running, done, cut (the budget of tokens did not suffice; the next night goes on), failed (some of it could
    not be worked on; ERROR says why, and the next night tries again) or undone.
    """
    for one in await parked_memories(here.database, _MOST_PARKED) if not here.as_json else ():
        say(f"{one['id']} is left alone by {one['part']}, which failed at it three times: {one['reason']}")
    return await list_runs(here.database, limit)


_LOOK_S: Final = 0.5
_PATIENCE_S: Final = 60.0
_NO_LEASE: Final = 0  # an order takes none


@click.command("consolidate")
@shows(
    _KEYS,
    TextTable(*_RUN, nothing="There was nothing to do."),
    fails=lambda runs: any(one["state"] == "failed" for one in runs),
)
async def consolidate_command(here: Here) -> list[Row]:
    """Look through what is remembered at once, and learn from what was said last without waiting for a lull.

    The daemon that is running does it, and messages come first; where none is running, this command does it. It ends
    when all is done. The exit status is 1 if a run failed.
    """
    forget_secrets()
    settings, database, clock, found = here.settings, here.database, SystemClock(), list[Row]()
    for soul, workspace in await minds(database, (settings.name, *settings.souls)):
        slot = await NightSlots(database, clock, Worker("", soul, workspace, _NO_LEASE)).order()
        if await _is_served(database, workspace):
            await _wait(database, soul, workspace, slot)
        else:
            await consolidate_here(settings, soul, workspace)
        found += await list_runs(database, MOST_AT_ONCE, slot=(soul, workspace, slot))
    return found


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


_OBEYED_WITHIN_S: Final = 60.0  # a keeper that waits looks again after half of it


def _print_rebuilt(row: Row) -> None:
    have, wanted, owner = row["vectors"]["have"], row["vectors"]["wanted"], row["index"]["owner"]
    by = f"process {owner}" if owner is not None else "the next daemon"
    ordered = f"Ordered: {by} makes the vectors of {wanted} memories anew; see `soul memory stats`."
    say(f"{have} of {wanted} memories have their vectors." if row["waited"] else ordered)


@click.command("rebuild")
@click.option("--wait", is_flag=True, help="Return only when every memory has its vectors.")
@shows(INDEX, _print_rebuilt)
async def rebuild_command(here: Here, wait: bool) -> Row:
    """Make all vectors again. Searches go on, by full text alone where a vector is missing.

    The daemon that keeps the index does it. Where none is running, `--wait` does it itself; without it, the next daemon
    does.
    """
    embedder = build_embedder(here.settings)
    if embedder is None:
        raise ConfigError("SOUL_EMBEDDER is none: there are no vectors", hint="set SOUL_EMBEDDER=local and try again")
    return {**index_row(await _rebuilt(here, embedder, wait)), "waited": wait}


async def _rebuilt(here: Here, embedder: Embedder, wait: bool) -> Statistics:
    folder, clock, database = here.settings.index_folder, SystemClock(), here.database
    await database.write(partial(enqueue, ids=[Order.REBUILD]))
    index = Vectors(folder, embedder.id, silent)
    parts = IndexParts(database, index, folder, embedder, clock, silent, here.settings.chroma_from)
    began = clock.monotonic()
    try:
        while True:
            mine = wait and await VectorKeeper(parts).catch_up()
            obeyed = not await database.read(partial(is_ordered, order=Order.REBUILD))  # troubles before that are none
            found = await index_state(here)
            if not wait or mine or not found.queued:
                return found
            if found.trouble and (obeyed or clock.monotonic() - began > _OBEYED_WITHIN_S):
                raise ModelUnavailable(f"the vectors wait: {found.trouble}", hint=found.hint)
            await clock.sleep(_LOOK_S)
    finally:
        await index.aclose()
        await embedder.aclose()


def _print_undone(done: Row) -> None:
    say(f"Run {done['run']} is undone: {len(done['restored'])} memories are as before.")
    for one in done["kept"]:
        say(f"{one['id']} stays as it is: {one['why']}.")


@click.command("undo")
@click.argument("run", metavar="RUN")
@shows("run, restored [id], kept [{id, why}]", _print_undone)
async def undo_command(here: Here, run: str) -> Undone:
    """Undo a run of consolidation: RUN is an id of `soul memory runs`.

    Memories that were changed or forgotten since stay as they are, and so do those that depend on them. It may run at
    the same time as the daemon. The next night leaves alone what was undone.
    """
    return await here.admin(NightAdmin).undo(run)
