"""`soul memory consolidate`: looks through what is remembered at once, by the daemon or, where none runs, by itself."""

import asyncio

import click

from daemon.app import consolidate_here
from daemon.cli.database_access import existing_database
from daemon.cli.memory.runs import RUNS
from daemon.cli.output import say
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, forget_secrets, load_settings
from daemon.core.errors import StoreError
from daemon.memory.admin.nights import KeptRun, is_begun, is_over, list_runs, minds
from daemon.memory.admin.overview import survey
from daemon.memory.consolidation.slots import NightSlots
from daemon.memory.database import Database, open_database
from daemon.memory.records import Worker

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
    """Order a slot of each soul in each workspace; gives what was done in them. Raises StoreError, ConfigError."""
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
    """Wait until the daemon has done it. Raises StoreError where it ends before."""
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
    """Whether a daemon lives in the workspace."""
    now = SystemClock().now_ms()
    return any(one.alive and one.workspace == workspace for one in (await survey(database, now, now)).daemons)
