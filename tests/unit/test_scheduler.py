"""The scheduler sleeps until a row falls due, wakes for new rows, and survives a failing store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from daemon.core.concurrency import Bell, alongside
from daemon.core.errors import StoreBusy
from daemon.core.last_line import LastLine, every
from daemon.core.perception import Audience, AudienceKind, Place
from daemon.core.ports.services import Clock, SystemClock
from daemon.memory.database import Database, open_database
from daemon.memory.expectations.settling import DuePredictions
from daemon.memory.queues.approvals import Approvals, NewApproval, store_approval
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import Intentions, store_intentions
from daemon.memory.records import Worker
from daemon.runtime.scheduler import POLL, DueRows, Scheduler
from tests.fakes import Events, FakeClock
from tests.given import DM, SOUL, TEAM
from tests.store.parts import look, room

WORKER = Worker("worker-1", SOUL, TEAM, 60_000)
HEARERS = Audience(AudienceKind.DM, "D1")


class Alarm(Bell):
    """A bell that also records how long the scheduler meant to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self.asleep = asyncio.Event()

    async def wait(self, clock: Clock, seconds: float) -> None:
        self.pauses.append(seconds)
        self.asleep.set()
        await super().wait(clock, seconds)


class Failing(Intentions):
    """Intentions in a file that another process holds until `held` is cleared."""

    held = True

    async def next_due_ms(self) -> int | None:
        if self.held:
            raise StoreBusy("memory.db is held", hint="wait")
        return await super().next_due_ms()


class HeldBack(DuePredictions):
    """One whose time is over, in a conversation in which something is still to be answered."""

    async def next_due_ms(self) -> int | None:
        return 1

    async def fall_due(self) -> int:
        return 0


@dataclass
class SchedulerBench:
    database: Database
    clock: FakeClock
    alarm: Alarm
    events: Events
    intentions: Intentions
    rings: list[int] = field(default_factory=list)

    async def until_asleep(self) -> float:
        await self.alarm.asleep.wait()
        self.alarm.asleep.clear()
        await self.clock.sleepers()
        return self.alarm.pauses[-1]

    async def intend(self, seconds: float, *slots: str) -> None:
        due = self.clock.now_ms() + int(seconds * 1000)
        new = [NewIntention(slot=slot, due_ms=due, behalf="U1") for slot in slots]
        refused = await self.database.write(
            lambda it: store_intentions(
                it,
                conversation=DM,
                place=Place.DM,
                audience=HEARERS,
                intentions=new,
                now=self.clock.now_ms(),
                most=len(new) + 10,
                shared_out=False,
            )
        )
        assert refused == ()

    async def ask(self, seconds: float) -> None:
        new = NewApproval("a1", "files/write", {}, ("U1",), self.clock.now_ms() + int(seconds * 1000))
        await self.database.write(
            lambda it: store_approval(it, new, conversation=DM, turn=1, audience=HEARERS, now=self.clock.now_ms())
        )


@asynccontextmanager
async def scheduling(
    path: Path, kind: type[Intentions] = Intentions, expected: type[DuePredictions] = DuePredictions
) -> AsyncIterator[SchedulerBench]:
    clock, events, alarm = FakeClock(), Events(), Alarm()
    async with open_database(path, SystemClock()) as database:
        await room(database)
        bench = SchedulerBench(database, clock, alarm, events, kind(database, clock, WORKER))
        approvals, predictions = Approvals(database, clock, WORKER), expected(database, clock, WORKER)
        scheduler = Scheduler(
            (
                DueRows("schedule.due", bench.intentions.next_due_ms, bench.intentions.fall_due),
                DueRows("approvals.expired", approvals.next_due_ms, approvals.expire),
                DueRows("predictions.scored", predictions.next_due_ms, predictions.fall_due, is_work=False),
            ),
            clock,
            events,
            lambda: bench.rings.append(clock.now_ms()),
        )
        async with alongside(LastLine(clock, events).keep("scheduler", every(clock, POLL, scheduler.look, alarm))):
            yield bench


async def test_it_sleeps_until_the_next_row_falls_due_and_then_rings(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with scheduling(path) as bench:
        assert await bench.until_asleep() == POLL  # nothing waits
        await bench.intend(1.5, "look")
        bench.alarm.ring()
        assert await bench.until_asleep() == 1.5
        assert bench.rings == []
        await bench.clock.advance(1.5)
        assert await bench.until_asleep() == POLL
        assert bench.rings == [bench.clock.now_ms()]
        assert bench.events.emitted == [("schedule.due", {"count": 1})]
        assert look(path, "SELECT modality FROM inbox") == [("time",)]
        await bench.ask(1)
        bench.alarm.ring()
        assert await bench.until_asleep() == 1
        await bench.clock.advance(1)
        assert await bench.until_asleep() == POLL
        assert bench.events.emitted[1:] == [("approvals.expired", {"count": 1})], "it expires by itself"
        assert look(path, "SELECT modality FROM inbox ORDER BY modality") == [("decision",), ("time",)]
        await bench.intend(0, "another process")
        await bench.clock.advance(POLL)
        await bench.until_asleep()
        assert len(bench.rings) == 3
        await bench.intend(0, *(f"slot-{number}" for number in range(120)))
        bench.alarm.ring()
        assert 0 < await bench.until_asleep() < 0.1
        await bench.clock.advance(0.1)
        assert await bench.until_asleep() == POLL
        assert [fields["count"] for _, fields in bench.events.emitted[-2:]] == [100, 20]


async def test_an_expectation_that_can_not_be_scored_yet_is_no_hurry(tmp_path: Path) -> None:
    async with scheduling(tmp_path / "memory.db", expected=HeldBack) as bench:
        assert await bench.until_asleep() == POLL
        await bench.intend(1.5, "look")
        bench.alarm.ring()
        assert await bench.until_asleep() == 1.5


async def test_a_failing_store_is_logged_and_read_again(tmp_path: Path) -> None:
    async with scheduling(tmp_path / "memory.db", Failing) as bench:
        await bench.clock.sleepers()
        assert bench.events.emitted == [("store.failed", {"reason": "memory.db is held", "hint": "wait"})]
        await bench.intend(0, "look")
        assert isinstance(bench.intentions, Failing)
        bench.intentions.held = False
        await bench.clock.advance(1)
        await bench.until_asleep()
        assert len(bench.rings) == 1
