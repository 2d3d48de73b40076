"""Old records of how work went are deleted; messages, notes and waiting rows stay."""

from pathlib import Path

import pytest

from daemon.core.concurrency import alongside
from daemon.memory.database import Database
from daemon.memory.database.pruning import prune, prune_periodically
from daemon.memory.knowledge.state_history import PathStep, store_path
from daemon.memory.queues.intentions import Intentions
from tests.fakes import Events, FakeClock
from tests.given import DM, effect, new_message
from tests.store.parts import WORKER, Stores, intend, later, look, room

DAY_S = 86_400.0


@pytest.fixture
async def lived(stores: Stores, database: Database, clock: FakeClock) -> Database:
    """A conversation with messages, a path, an intention that fell due and one that still waits."""
    await room(database)
    await stores.inbox.accept(new_message("1.0"))
    await stores.answer("hello")
    step = PathStep(0, "stay", "engaged", "engaged", "rule", "")
    await database.write(lambda transaction: store_path(transaction, DM, "t1", (step,), clock.now_ms()))
    await intend(database, clock, later(clock, "soon", 1), later(clock, "far", 60 * 24 * 300))
    await clock.advance(120)
    assert await Intentions(database, clock, WORKER).fall_due() == 1
    await stores.commits.commit(effect(await stores.claim(), "the build"))
    return database


async def test_recent_rows_stay(lived: Database, clock: FakeClock) -> None:
    assert await prune(lived, clock.now_ms() - 600_000) == 0


async def test_old_rows_go_while_messages_and_waiting_rows_stay(lived: Database, clock: FakeClock, path: Path) -> None:
    assert await prune(lived, clock.now_ms() + 1) == 3  # the path, the due intention, its row in the inbox
    assert look(path, "SELECT count(*) FROM transitions") == [(0,)]
    assert look(path, "SELECT slot FROM intentions") == [("far",)]
    assert look(path, "SELECT modality FROM inbox") == [("words",)]
    assert look(path, "SELECT count(*) FROM turns WHERE speaker = 'soul'") == [(2,)]


@pytest.mark.parametrize(("days", "left"), [(0, 1), (1, 0)])
async def test_pruning_runs_periodically_unless_days_is_zero(
    lived: Database, clock: FakeClock, path: Path, days: int, left: int
) -> None:
    events = Events()
    await clock.advance(2 * DAY_S)
    async with alongside(prune_periodically(lived, days, clock, events)):
        while days and not events.named("memory.pruned"):
            await clock.advance(0.01)
    assert look(path, "SELECT count(*) FROM transitions") == [(left,)]
