"""Keeps work moving: claims conversations, posts and jobs as they fall due, many at once, and drains at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from msgspec import field
from msgspec.structs import replace

from daemon.core.concurrency import Bell, alongside
from daemon.core.errors import StoreError
from daemon.core.last_line import LastLine
from daemon.core.ports.services import Clock, Emit
from daemon.core.value import Value
from daemon.memory.queues.jobs import Job
from daemon.memory.records import Delivery
from daemon.runtime.conversation import ConversationHandler
from daemon.runtime.courier import Courier
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.jobs import Titler
from daemon.runtime.slots import Slots

Row = TypeVar("Row")
Result = TypeVar("Result")

POLL = 2.0
"""Seconds between two looks for rows that another process left."""

_SENDERS = 16
_APOLOGIES = 8  # they make no model call
_JOBS = 2  # few, because replies come first
_PAUSE_AFTER_FAILURE = 1.0


class Lane(Value, Generic[Row, Result]):
    """One queue of one soul: how a row is claimed, when the next one is due (ms), and its work.

    `work` occupies one of the `slots`. When it ends, `bell` and the bells in `wakes` ring, since there may be more to
    do. Then `after` takes its result, without a slot. `park` takes a row whose work failed unexpectedly.
    """

    name: str

    claim: Callable[[], Awaitable[Row | None]]
    next_due: Callable[[], Awaitable[int | None]]
    work: Callable[[Row], Awaitable[Result]]
    slots: asyncio.Semaphore | Slots
    bell: Bell = field(default_factory=Bell)
    wakes: tuple[Bell, ...] = ()
    after: Callable[[Result], Awaitable[None]] | None = None
    park: Callable[[Row, Exception], Awaitable[None]] | None = None


AnyLane = Lane[Any, Any]


def lanes_of_soul(
    services: CycleServices,
    handler: ConversationHandler,
    courier: Courier,
    do_job: Callable[[Job], Awaitable[None]],
    titler: Titler,
    *,
    bell: Bell,
    alarm: Bell,
) -> tuple[AnyLane, ...]:
    """Return one soul's lanes: conversations, overdue ones, posts, jobs, titles and ticks.

    As many conversations run at once as there are slots. Unasked thoughts (ticks) run while the soul thinks by itself,
    take none of those slots, and wait in quiet hours. A message that waits for a slot past the deadline ends without
    one. `bell` rings when a message arrives. `alarm` rings when a conversation ends: it may have scheduled something.
    """
    store, slots, deadline = services.store, handler.slots, handler.deadline
    waiting, outbox = store.conversations, store.outbox
    posts = Lane("posts", outbox.claim_next, outbox.next_due_ms, courier.deliver, asyncio.Semaphore(_SENDERS))
    titles = Lane("titles", store.titles.claim_next, store.titles.next_due_ms, titler.title, asyncio.Semaphore(1))
    jobs = Lane("jobs", store.jobs.claim_next, store.jobs.next_due_ms, do_job, asyncio.Semaphore(_JOBS))

    async def send(delivery: Delivery | None) -> None:
        """Send the parts of a reply one after the other. Parts that have to wait are left to the outbox's lane."""
        try:
            while delivery is not None and await courier.deliver(delivery) and not delivery.post.last:
                delivery = await store.outbox.claim_next(str(delivery.post.conversation))
        finally:
            ring((posts, jobs, titles))

    conversations = Lane(
        "conversations",
        lambda: waiting.claim_next(dms_only=slots.only_for_dms(holding=1)),
        lambda: waiting.next_due_ms(dms_only=slots.only_for_dms()),
        handler.handle,
        slots,
        bell,
        wakes=(alarm,),
        after=send,
        park=handler.park,
    )
    overdue = Lane(
        "overdue conversations",
        lambda: waiting.claim_overdue(deadline),
        lambda: waiting.next_overdue_ms(deadline),
        handler.handle,
        asyncio.Semaphore(_APOLOGIES),
        wakes=(bell, alarm),
        after=send,
        park=handler.park,
    )
    ticks = replace(  # while the soul may not tick, only promises are kept
        overdue,
        name="ticks",
        claim=lambda: store.ticks.claim_next(services.quiet_hours, owed_alone=not services.thinks_by_itself),
        next_due=lambda: store.ticks.next_due_ms(owed_alone=not services.thinks_by_itself),
        slots=asyncio.Semaphore(1),
        bell=Bell(),
    )
    return conversations, overdue, posts, jobs, titles, ticks


def ring(lanes: Iterable[AnyLane]) -> None:
    for lane in lanes:
        lane.bell.ring()


class Dispatcher:
    """The server of all lanes of all souls of one daemon."""

    def __init__(self, lanes: Sequence[AnyLane], clock: Clock, emit: Emit) -> None:
        self._lanes = lanes
        self._clock = clock
        self._last_line = LastLine(clock, emit)
        self.active = 0  # claims and rows in work
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False

    async def run(self) -> None:
        """Work until cancelled. Only an error that ends the daemon ends this; other errors of a row's work don't."""
        async with alongside(*(self._serve(lane) for lane in self._lanes[1:])):
            await self._serve(self._lanes[0])

    def look_again(self) -> None:
        ring(self._lanes)

    async def drain(self, seconds: float) -> bool:
        """Claim nothing more and wait for active work. Return True when all of it ended in time."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.active:
                    await self._idle.wait()
        return self.active == 0

    async def _serve(self, lane: AnyLane) -> None:
        async with asyncio.TaskGroup() as group:
            await self._last_line.keep(lane.name, lambda: self._look(lane, group))

    async def _look(self, lane: AnyLane, group: asyncio.TaskGroup) -> None:
        while True:
            due = await lane.next_due()  # cheap; a claim takes the write lock even when it finds nothing
            while self._is_due(due) and await self._start_next(lane, group):
                due = await lane.next_due()
            await lane.bell.wait(self._clock, self._until(due))

    def _is_due(self, due: int | None) -> bool:
        return due is not None and not self._stopping and due <= self._clock.now_ms()

    def _until(self, due: int | None) -> float:
        if due is None or self._stopping:
            return POLL
        return min(POLL, max(0.005, (due - self._clock.now_ms()) / 1000))

    async def _start_next(self, lane: AnyLane, group: asyncio.TaskGroup) -> bool:
        row = await self._with_slot(lane)
        if row is not None:
            self._began()
            group.create_task(self._run(lane, row))
        return row is not None

    async def _with_slot(self, lane: Lane[Row, Result]) -> Row | None:
        """Take a slot and claim a row. The slot stays taken only if there is one."""
        await lane.slots.acquire()
        row = None
        try:
            if not self._stopping:  # a drain may have begun during the wait for the slot
                with self._counted():
                    row = await lane.claim()
        finally:
            if row is None:
                lane.slots.release()
        return row

    async def _run(self, lane: Lane[Row, Result], row: Row) -> None:
        try:
            await self._guarded(lane, row)
        finally:
            self._ended()

    async def _guarded(self, lane: Lane[Row, Result], row: Row) -> None:
        """Do a row's work. When memory.db fails, the lease runs out and the row is claimed again.

        Any other error is reported, and the row counts it or is parked.
        """
        try:
            try:
                result = await lane.work(row)
            finally:
                lane.slots.release()
                for bell in (lane.bell, *lane.wakes):
                    bell.ring()
            if lane.after is not None:
                await lane.after(result)
        except StoreError as error:
            self._last_line.tell(lane.name, error)
            await self._clock.sleep(_PAUSE_AFTER_FAILURE)
        except Exception as error:  # noqa: BLE001 - one row's fault must not end the work on all others
            self._last_line.tell(lane.name, error)
            await self._park(lane, row, error)
            await self._clock.sleep(_PAUSE_AFTER_FAILURE)

    async def _park(self, lane: Lane[Row, Result], row: Row, error: Exception) -> None:
        if lane.park is None:
            return
        try:
            await lane.park(row, error)
        except Exception as failure:  # noqa: BLE001 - the row stays claimed until its lease runs out
            self._last_line.tell(lane.name, failure)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._began()
        try:
            yield
        finally:
            self._ended()

    def _began(self) -> None:
        self.active += 1
        self._idle.clear()

    def _ended(self) -> None:
        self.active -= 1
        if not self.active:
            self._idle.set()
