"""The dispatcher: a hanging, failing or flooding conversation delays no other, and a drain finishes started work."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.concurrency import Bell, alongside
from daemon.core.errors import LostLease, NotDelivered, SchemaMismatch, StoreError
from daemon.core.initiative import NEVER_QUIET
from daemon.core.perception import ConversationKey, Place
from daemon.core.ports.services import Clock, SystemClock
from daemon.core.sentences import HOUSE_WORDS
from daemon.memory.queues.jobs import Job
from daemon.memory.records import Claim, Delivery
from daemon.memory.store import Store, open_store
from daemon.runtime.conversation import ConversationHandler
from daemon.runtime.courier import Courier
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.dispatcher import POLL, Dispatcher, Lane, lanes_of_soul
from daemon.runtime.jobs import Titler
from daemon.runtime.slots import Slots
from tests.fakes import TIMEOUT, Events, FakeChannel, FakeClock, StillClock
from tests.given import LEASE, SOUL, TEAM, effect, new_message
from tests.store.parts import look

LANES = 6
"""How many loops look for work. A test that turns the clock waits until all sleep, or one may sleep on for ever."""


class Parrot(ConversationHandler):
    """Answers every claim with its messages' words; a test can make conversations hang or fail."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.handled: list[Claim] = []
        self.hang: dict[str, asyncio.Event] = {}
        self.fail: dict[str, Exception] = {}
        self.parked: list[tuple[Claim, Exception]] = []
        self.jobs: tuple[str, ...] = ()
        self.running = self.most = 0
        self._grew = asyncio.Event()

    async def handle(self, claim: Claim) -> Delivery | None:
        self.handled.append(claim)
        self._grew.set()
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            channel = claim.conversation.channel
            if channel in self.hang:
                await self.hang[channel].wait()
            if channel in self.fail:
                raise self.fail[channel]
            words = [one.perception.content for one in claim.messages]
            return await self.store.commits.commit(effect(claim, *words, jobs=self.jobs))
        finally:
            self.running -= 1

    async def park(self, claim: Claim, error: Exception) -> None:
        self.parked.append((claim, error))

    async def until_handled(self, number: int) -> None:
        while len(self.handled) < number:
            self._grew.clear()
            await self._grew.wait()


@dataclass
class DispatcherBench:
    path: Path
    clock: Clock
    store: Store
    parrot: Parrot
    office: FakeChannel
    bell: Bell
    events: Events
    dispatcher: Dispatcher
    done: asyncio.Queue[Job] = field(default_factory=asyncio.Queue)

    async def hear(self, *channels: str, ts: str = "1.0", place: Place = Place.DM) -> None:
        for channel in channels:
            heard = new_message(ts, f"{channel} {ts}", conversation=ConversationKey(SOUL, TEAM, channel))
            await self.store.inbox.accept(replace(heard, perception=replace(heard.perception, place=place)))

    @property
    def bodies(self) -> list[str]:
        return [post.body for post in self.office.posted]


@asynccontextmanager
async def dispatching(
    path: Path, clock: Clock, *, cycles: int = 4, office: FakeChannel | None = None, deadline: float = 180.0
) -> AsyncIterator[DispatcherBench]:
    bell, events, office = Bell(), Events(), office or FakeChannel()
    async with open_store(
        path,
        clock,
        events,
        soul=SOUL,
        workspace=TEAM,
        kind="test",
        version="0",
        lease=LEASE,
        on_accepted=lambda _: bell.ring(),
    ) as store:
        parrot = Parrot(store)
        courier = Courier(store.outbox, Channels(office, {}), clock, events, in_doubt=1, stale_after=3600, lease=LEASE)
        done: asyncio.Queue[Job] = asyncio.Queue()

        async def do(job: Job) -> None:
            await store.jobs.finish(job, ())
            await done.put(job)

        parrot.slots, parrot.deadline = Slots(cycles, clock), deadline
        lanes = lanes_of_soul(
            cast("CycleServices", SimpleNamespace(store=store, thinks_by_itself=False, quiet_hours=NEVER_QUIET)),
            parrot,
            courier,
            do,
            Titler(store.titles, Channels(office, {}), events, lambda _: HOUSE_WORDS),
            bell=bell,
            alarm=Bell(),
        )
        assert len(lanes) == LANES
        yield DispatcherBench(path, clock, store, parrot, office, bell, events, Dispatcher(lanes, clock, events), done)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


async def test_the_parts_of_a_reply_go_out_in_order_without_waiting_for_the_clock(path: Path) -> None:
    async with dispatching(path, StillClock()) as bench:
        for number in range(1, 6):
            await bench.store.inbox.accept(new_message(f"{number}.0", f"part {number}"))
        async with alongside(bench.dispatcher.run()):
            await bench.office.until_posted(5)
        assert bench.bodies == [f"part {number}" for number in range(1, 6)]


async def test_a_hanging_conversation_delays_no_other(path: Path) -> None:
    async with dispatching(path, StillClock(), cycles=2) as bench:
        bench.parrot.hang["D1"] = asyncio.Event()
        await bench.hear("D1")
        async with alongside(bench.dispatcher.run()):
            await bench.parrot.until_handled(1)
            for number in range(2, 12):
                await bench.hear(f"D{number}")
                await bench.office.until_posted(number - 1)
            assert bench.dispatcher.active >= 1
        assert "D1 1.0" not in bench.bodies


async def test_no_more_conversations_run_at_once_than_allowed(path: Path) -> None:
    async with dispatching(path, StillClock(), cycles=3) as bench:
        channels = [f"D{number}" for number in range(12)]
        bench.parrot.hang = {channel: asyncio.Event() for channel in channels}
        await bench.hear(*channels)
        async with alongside(bench.dispatcher.run()):
            await bench.parrot.until_handled(3)
            await bench.store.inbox.catch_up_log.watermark(SOUL, TEAM)  # a round trip in which it could claim more
            assert len(bench.parrot.handled) == 3
            for event in bench.parrot.hang.values():
                event.set()
            await bench.office.until_posted(12)
        assert bench.parrot.most == 3


async def test_a_flood_in_channels_leaves_a_slot_for_a_dm(path: Path) -> None:
    async with dispatching(path, StillClock(), cycles=4) as bench:
        channels = [f"C{number}" for number in range(6)]
        bench.parrot.hang = {channel: asyncio.Event() for channel in channels}
        await bench.hear(*channels, place=Place.PUBLIC_CHANNEL)
        async with alongside(bench.dispatcher.run()):
            await bench.parrot.until_handled(3)
            await bench.hear("D1")
            await bench.parrot.until_handled(4)
            for event in bench.parrot.hang.values():
                event.set()
            await bench.office.until_posted(7)
        assert bench.parrot.handled[3].conversation.channel == "D1"


async def test_a_flooding_conversation_starves_no_other(path: Path) -> None:
    clock = StillClock()
    async with dispatching(path, clock, cycles=1) as bench:
        flood = bench.parrot.hang["D1"] = asyncio.Event()
        await bench.hear("D1")
        async with alongside(bench.dispatcher.run()):
            await bench.parrot.until_handled(1)
            await bench.hear("D2")
            await clock.advance(0.001)
            for number in range(2, 12):
                await bench.hear("D1", ts=f"{number}.0")
            flood.set()
            await bench.parrot.until_handled(3)
        assert [claim.conversation.channel for claim in bench.parrot.handled[:3]] == ["D1", "D2", "D1"]
        assert len(bench.parrot.handled[2].messages) == 10  # a burst is one cycle


async def test_a_failing_store_is_logged_and_ends_nothing(path: Path) -> None:
    clock = StillClock()
    async with dispatching(path, clock) as bench:
        bench.parrot.fail["D1"] = StoreError("disk trouble", hint="look")
        await bench.hear("D1", "D2")
        async with alongside(bench.dispatcher.run()):
            await bench.office.until_posted(1)
            assert bench.bodies == ["D2 1.0"]
            await bench.parrot.until_handled(2)
            del bench.parrot.fail["D1"]
            await clock.sleepers(LANES + 1)  # those that look for work, and the work that failed
            await clock.advance(LEASE + 1)  # its lease runs out and it is claimed again
            await bench.office.until_posted(2)
        assert ("store.failed", {"reason": "disk trouble", "hint": "look"}) in bench.events.emitted


async def test_an_unreadable_store_is_read_again(path: Path) -> None:
    clock = StillClock()
    async with dispatching(path, clock) as bench:
        await bench.hear("D1")
        rename = "ALTER TABLE {} RENAME TO {}"
        await bench.store.database.write(lambda t: t.run(rename.format("conversations", "away")))
        async with alongside(bench.dispatcher.run()):
            await clock.sleepers(LANES)
            assert "store.failed" in bench.events.names
            await bench.store.database.write(lambda t: t.run(rename.format("away", "conversations")))
            await clock.advance(POLL)
            await bench.office.until_posted(1)


async def test_a_bug_in_the_work_is_told_and_its_row_parked_while_others_are_answered(path: Path) -> None:
    async with dispatching(path, StillClock()) as bench:
        bench.parrot.fail = {"D1": ZeroDivisionError("a bug"), "D3": LostLease("taken over, which is no fault")}
        await bench.hear("D1", "D3", "D2")
        async with alongside(bench.dispatcher.run()):
            await bench.office.until_posted(1)
            await bench.events.until("loop.failed", loop="conversations", reason="ZeroDivisionError")
        assert bench.bodies == ["D2 1.0"]
        assert [str(claim.conversation.channel) for claim, _ in bench.parrot.parked] == ["D1"]


async def test_what_only_an_admin_can_mend_ends_the_dispatcher(path: Path) -> None:
    async with dispatching(path, StillClock()) as bench:
        bench.parrot.fail["D1"] = SchemaMismatch("a newer file")
        await bench.hear("D1")
        with pytest.raises(ExceptionGroup) as raised:
            await bench.dispatcher.run()
        assert raised.group_contains(SchemaMismatch)


async def test_a_postponed_post_is_sent_when_it_is_due(path: Path) -> None:
    clock = StillClock()
    async with dispatching(path, clock) as bench:
        bench.office.answers = [NotDelivered("ratelimited", retry_after=30.0)]
        await bench.hear("D1")
        async with alongside(bench.dispatcher.run()):
            await bench.events.until("outbox.postponed")
            await clock.advance(29)
            await clock.sleepers(LANES)
            assert not bench.office.posted
            await clock.advance(1)
            await bench.office.until_posted(1)


async def test_rows_of_another_process_are_found_by_polling_and_jobs_are_done_after_the_reply(path: Path) -> None:
    clock = StillClock()
    async with dispatching(path, clock) as bench, alongside(bench.dispatcher.run()):
        bench.parrot.jobs = ("summarizes",)
        await clock.sleepers(LANES)
        async with dispatching(path, clock) as other:
            await other.hear("D1", "D2")
        await clock.advance(POLL)
        await bench.office.until_posted(2)
        jobs = [await bench.done.get() for _ in range(2)]
        assert {job.conversation.channel for job in jobs} == {"D1", "D2"}


async def test_a_drain_claims_nothing_more_and_waits_for_started_work(path: Path) -> None:
    async with dispatching(path, StillClock(), cycles=1) as bench:
        held = bench.parrot.hang["D1"] = asyncio.Event()
        await bench.hear("D1")
        async with alongside(bench.dispatcher.run()):
            await bench.parrot.until_handled(1)
            await bench.hear("D2")  # waits for the only slot
            drained = asyncio.ensure_future(bench.dispatcher.drain(60))
            await bench.store.inbox.catch_up_log.watermark(SOUL, TEAM)
            assert not drained.done()
            assert not await bench.dispatcher.drain(0.01), "it ends at its timeout"
            assert bench.dispatcher.active == 1
            held.set()
            assert await drained
            assert bench.dispatcher.active == 0
        assert bench.bodies == ["D1 1.0"]
        assert look(path, "SELECT channel, state FROM inbox ORDER BY channel") == [("D1", "answered"), ("D2", "new")]


async def test_a_claim_that_finds_nothing_gives_its_slot_back() -> None:
    found, worked = [None, "row"], asyncio.Event()

    async def claim() -> str | None:
        return found.pop(0)

    async def due() -> int | None:
        return 0 if found else None

    async def work(_: str) -> None:
        worked.set()

    lane = Lane("rows", claim, due, work, asyncio.Semaphore(1))
    async with asyncio.timeout(TIMEOUT), alongside(Dispatcher([lane], SystemClock(), Events()).run()):
        await worked.wait()


async def test_a_lane_that_waited_for_a_slot_when_the_drain_began_claims_nothing() -> None:
    claimed, slots = list[str](), asyncio.Semaphore(1)
    await slots.acquire()

    async def claim() -> None:
        claimed.append("row")

    async def due() -> int | None:
        return 0

    async def work(_: str) -> None:
        return

    dispatcher = Dispatcher([Lane("rows", claim, due, work, slots)], StillClock(), Events())
    async with asyncio.timeout(TIMEOUT), alongside(dispatcher.run()):
        while not slots._waiters:  # noqa: ASYNC110 - a semaphore has no event for that
            await asyncio.sleep(0)
        assert await dispatcher.drain(5)
        slots.release()
        await slots.acquire()
        assert claimed == []


async def test_an_idle_dispatcher_drains_at_once_and_does_not_spin(path: Path) -> None:
    clock = StillClock()
    async with dispatching(path, clock) as bench:
        async with alongside(bench.dispatcher.run()):
            await clock.sleepers(LANES)
            assert await bench.dispatcher.drain(5)
            await bench.hear("D1")
            await clock.sleepers(LANES)
            assert set(clock.slept[-LANES:]) == {POLL}  # what is due now is not looked at every few milliseconds
        assert bench.parrot.handled == []


async def test_two_dispatchers_on_one_file_answer_everything_once(path: Path) -> None:
    office = FakeChannel()
    async with AsyncExitStack() as stack:
        first, second = [
            await stack.enter_async_context(dispatching(path, SystemClock(), office=office)) for _ in range(2)
        ]
        async with alongside(first.dispatcher.run(), second.dispatcher.run()):
            for number in range(20):
                await (first, second)[number % 2].hear(f"D{number % 5}", ts=f"{number}.0")
                second.bell.ring()
                first.bell.ring()
            await office.until_posted(20)
            assert await first.dispatcher.drain(10)
            assert await second.dispatcher.drain(10)
        assert len({post.key for post in office.posted}) == len(office.posted) == 20
        order: dict[str, list[float]] = {}
        for post in office.posted:
            channel, ts = post.body.split()
            order.setdefault(channel, []).append(float(ts))
        assert all(times == sorted(times) for times in order.values())
        assert first.parrot.handled
        assert second.parrot.handled


async def _taken(slots: Slots, number: int) -> Slots:
    for _ in range(number):
        await slots.acquire()
    return slots


async def test_a_model_that_struggles_gets_half_as_many_calls_and_a_quarter_of_the_slots_is_for_dms() -> None:
    clock = FakeClock()
    slots = Slots(16, clock)
    for _ in range(5):
        slots.struggled()
    assert slots.limit == 8
    await clock.advance(10)
    slots.struggled()
    assert slots.limit == 4
    for most, fewest in ((16, 2), (1, 1)):
        clock = FakeClock()
        slots = Slots(most, clock)
        for _ in range(8):
            slots.struggled()
            await clock.advance(10)
        assert slots.limit == fewest
    slots = Slots(8, FakeClock())
    slots.struggled()
    slots.went_well()
    assert slots.limit == 4
    for _ in range(20):
        slots.went_well()
    assert slots.limit == 8
    slots = await _taken(Slots(8, FakeClock()), 5)
    assert not slots.only_for_dms()
    await slots.acquire()
    assert slots.only_for_dms()
    assert not slots.only_for_dms(holding=1)
    assert not (await _taken(Slots(3, FakeClock()), 3)).only_for_dms()
