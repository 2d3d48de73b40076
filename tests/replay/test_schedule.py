"""Open Souls' scheduled events, row by row, as they stand in memory.db."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.memory.database import Database, open_database
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import Intentions, cancel_intentions, store_intentions
from daemon.memory.records import Worker
from tests.fakes import FakeClock

CLOCK = FakeClock(auto=True)
DM = ConversationKey("minoan", "T1", "D1")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A fresh memory.db with one conversation, in which three things are scheduled."""
    async with open_database(tmp_path / "memory.db", CLOCK) as opened:
        await opened.write(
            lambda transaction: transaction.run(
                """
                INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
                VALUES (:id, 'minoan', 'T1', 'D1', '', 'dm', 'dm:D1', 0)
                """,
                id=str(DM),
            )
        )
        refused = await opened.write(
            lambda transaction: store_intentions(
                transaction,
                conversation=DM,
                place=Place.DM,
                audience=Audience(AudienceKind.DM, "D1"),
                intentions=[later("tea", 30), later("call", 10), later("rest", 20)],
                now=CLOCK.now_ms(),
                most=10,
            )
        )
        assert refused == ()
        yield opened


def later(slot: str, minutes: int) -> NewIntention:
    return NewIntention(slot=slot, due_ms=CLOCK.now_ms() + minutes * 60_000, behalf="U0ADA")


async def slots(database: Database) -> list[str]:
    waiting = await Intentions(database, CLOCK, Worker("worker-1", "minoan", "T1", 60_000)).waiting(DM)
    return [one.slot for one in waiting]


async def test_pending_events_are_listed_the_next_first(database: Database) -> None:
    assert await slots(database) == ["call", "rest", "tea"]


async def test_a_scheduled_event_can_be_cancelled(database: Database) -> None:
    cancelled = await database.write(
        lambda transaction: cancel_intentions(transaction, DM, ["rest", "unknown"], CLOCK.now_ms())
    )
    assert cancelled == 1
    assert await slots(database) == ["call", "tea"]
