"""What only told how things went is taken away once it is old; words, notes and whatever waits stay."""

from pathlib import Path

import pytest

from daemon.core.concurrency import alongside
from daemon.memory.database import Database
from daemon.memory.database.pruning import prune, prune_periodically
from daemon.memory.knowledge.state_history import PathStep, store_path
from daemon.memory.queues.intentions import Intentions
from daemon.memory.records import Worker
from tests.fakes import Events, FakeClock
from tests.given import DM, LEASE, SOUL, TEAM, effect, new_message
from tests.store.parts import Stores, intend, later, look, room

DAY_S = 86_400.0


@pytest.fixture
async def lived(stores: Stores, database: Database, clock: FakeClock) -> Database:
    """A conversation with words, a path, something that fell due and something that still waits."""
    await room(database)
    await stores.inbox.accept(new_message("1.0"))
    await stores.answer("hello")
    step = PathStep(0, "stay", "engaged", "engaged", "rule", "")
    await database.write(lambda transaction: store_path(transaction, DM, "t1", (step,), clock.now_ms()))
    await intend(database, clock, later(clock, "soon", 1), later(clock, "far", 60 * 24 * 300))
    await clock.advance(120)
    assert await Intentions(database, clock, Worker("worker-1", SOUL, TEAM, int(LEASE * 1000))).fall_due() == 1
    await stores.commits.commit(effect(await stores.claim(), "the build"))
    return database


async def test_young_traces_stay(lived: Database, clock: FakeClock) -> None:
    assert await prune(lived, clock.now_ms() - 600_000) == 0


async def test_old_traces_go_and_words_and_what_waits_stay(lived: Database, clock: FakeClock, path: Path) -> None:
    assert await prune(lived, clock.now_ms() + 1) == 3  # the path, what fell due, its row in the inbox
    assert look(path, "SELECT count(*) FROM transitions") == [(0,)]
    assert look(path, "SELECT slot FROM intentions") == [("far",)]
    assert look(path, "SELECT modality FROM inbox") == [("words",)]
    assert look(path, "SELECT count(*) FROM turns WHERE speaker = 'soul'") == [(2,)]


@pytest.mark.parametrize(("days", "left"), [(0, 1), (1, 0)])
async def test_it_is_done_now_and_then_unless_everything_is_to_be_kept(
    lived: Database, clock: FakeClock, path: Path, days: int, left: int
) -> None:
    events = Events()
    await clock.advance(2 * DAY_S)
    async with alongside(prune_periodically(lived, days, clock, events)):
        while days and not events.named("memory.pruned"):
            await clock.advance(0.01)
    assert look(path, "SELECT count(*) FROM transitions") == [(left,)]
