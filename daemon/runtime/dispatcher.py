"""Keeps the work moving: claims conversations, posts and jobs as they fall due, many at once, and drains at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.ports import Clock, Emit
from daemon.memory.queues.jobs import Job
from daemon.memory.records import Claim, Delivery
from daemon.memory.store import Store
from daemon.runtime.conversation import ConversationHandler
from daemon.runtime.courier import Courier

T = TypeVar("T")

POLL = 2.0  # seconds after which rows that another process left are looked for
_SENDERS = 16
_REFLECTIONS = 2  # replies come first
_PAUSE_AFTER_FAILURE = 1.0


class Bell:
    """Wakes whoever waits for work; rung by the intake and by work that leaves more work."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """There may be something to do."""
        self._event.set()

    async def wait(self, clock: Clock, seconds: float) -> None:
        """Until the bell rings, at most `seconds`."""
        async with alongside(self._ring_after(clock, seconds)):
            await self._event.wait()
        self._event.clear()

    async def _ring_after(self, clock: Clock, seconds: float) -> None:
        await clock.sleep(seconds)
        self._event.set()


class Dispatcher:
    """Runs conversations (at most `max_cycles` at once), sends what is on its way, does the jobs.

    `on_committed` is called when a conversation has been seen to: something may have been scheduled.
    """

    def __init__(
        self,
        store: Store,
        handler: ConversationHandler,
        courier: Courier,
        do_job: Callable[[Job], Awaitable[None]],
        *,
        clock: Clock,
        emit: Emit,
        max_cycles: int,
        bell: Bell,
        on_committed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._handler = handler
        self._courier = courier
        self._do_job = do_job
        self._clock = clock
        self._emit = emit
        self._cycles = asyncio.Semaphore(max_cycles)
        self._senders = asyncio.Semaphore(_SENDERS)
        self._reflections = asyncio.Semaphore(_REFLECTIONS)
        self._bell = bell
        self._on_committed = on_committed
        self._post_bell, self._job_bell = Bell(), Bell()
        self._active = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False

    async def run(self) -> None:
        """Work until cancelled. Failures of single pieces of work are told and don't end it."""
        async with alongside(
            self._serve(self._bell, self._claim_conversation, self._store.conversations.next_due_ms),
            self._serve(self._post_bell, self._claim_post, self._store.outbox.next_due_ms),
        ):
            await self._serve(self._job_bell, self._claim_job, self._store.jobs.next_due_ms)

    def look_again(self) -> None:
        """There may be something to do, whoever left it: in the inbox, in the outbox or among the jobs."""
        for bell in (self._bell, self._post_bell, self._job_bell):
            bell.ring()

    async def drain(self, seconds: float) -> bool:
        """Claim nothing more and wait for what is under way; True when all of it ended in time."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._active:
                    await self._idle.wait()
        return self._active == 0

    @property
    def active(self) -> int:
        """Pieces of work under way."""
        return self._active

    async def _serve(
        self,
        bell: Bell,
        claim: Callable[[asyncio.TaskGroup], Awaitable[bool]],
        next_due: Callable[[], Awaitable[int | None]],
    ) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    due = await next_due()  # looking is cheap; a claim takes the write lock even when it finds nothing
                    while self._is_due(due) and await claim(group):
                        due = await next_due()
                except StoreError as error:
                    self._emit("store.failed", reason=error.message, hint=error.hint)
                    await self._clock.sleep(_PAUSE_AFTER_FAILURE)
                    continue
                await bell.wait(self._clock, self._until(due))

    def _is_due(self, due: int | None) -> bool:
        """Whether something is to be claimed now; nothing is while stopping."""
        return due is not None and not self._stopping and due <= self._clock.now_ms()

    def _until(self, due: int | None) -> float:
        """Seconds to wait for what falls due at a time; nothing more is due while stopping."""
        if due is None or self._stopping:
            return POLL
        return min(POLL, max(0.005, (due - self._clock.now_ms()) / 1000))

    async def _claim_conversation(self, group: asyncio.TaskGroup) -> bool:
        claim = await self._in_a_slot(self._cycles, self._store.conversations.claim_next)
        if claim is not None:
            self._start(group, partial(self._converse, claim))
        return claim is not None

    async def _converse(self, claim: Claim) -> None:
        try:
            delivery = await self._handler.handle(claim)
        finally:
            self._cycles.release()
            self._bell.ring()  # more may have been said meanwhile
            self._on_committed()
        await self._send(delivery)

    async def _send(self, delivery: Delivery | None) -> None:
        """The parts of a reply one after the other; whatever has to wait is left to the outbox's own loop."""
        try:
            while delivery is not None and await self._courier.deliver(delivery) and not delivery.post.last:
                delivery = await self._store.outbox.claim_next(str(delivery.post.conversation))
        finally:
            self._post_bell.ring()
            self._job_bell.ring()

    async def _claim_post(self, group: asyncio.TaskGroup) -> bool:
        delivery = await self._in_a_slot(self._senders, self._store.outbox.claim_next)
        if delivery is not None:
            self._start(group, partial(self._send_from_outbox, delivery))
        return delivery is not None

    async def _send_from_outbox(self, delivery: Delivery) -> None:
        try:
            await self._courier.deliver(delivery)
        finally:
            self._senders.release()
            self._post_bell.ring()

    async def _claim_job(self, group: asyncio.TaskGroup) -> bool:
        job = await self._in_a_slot(self._reflections, self._store.jobs.claim_next)
        if job is not None:
            self._start(group, partial(self._reflect, job))
        return job is not None

    async def _reflect(self, job: Job) -> None:
        try:
            await self._do_job(job)
        finally:
            self._reflections.release()
            self._job_bell.ring()  # the next of its conversation has waited for it

    async def _in_a_slot(self, slots: asyncio.Semaphore, claim: Callable[[], Awaitable[T | None]]) -> T | None:
        """Claim once a slot is free; the slot stays taken when there is something to do in it."""
        await slots.acquire()
        found = None
        try:
            if not self._stopping:  # a drain may have begun while we waited for the slot
                with self._under_way():
                    found = await claim()
        finally:
            if found is None:
                slots.release()
        return found

    def _start(self, group: asyncio.TaskGroup, work: Callable[[], Awaitable[None]]) -> None:
        self._began()
        group.create_task(self._to_its_end(work))

    async def _to_its_end(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await self._told(work)
        finally:
            self._ended()

    async def _told(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do a piece of work; when memory.db fails it is told, the lease runs out and the work is claimed again."""
        try:
            await work()
        except StoreError as error:
            self._emit("store.failed", reason=error.message, hint=error.hint)
            await self._clock.sleep(_PAUSE_AFTER_FAILURE)

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        self._began()
        try:
            yield
        finally:
            self._ended()

    def _began(self) -> None:
        self._active += 1
        self._idle.clear()

    def _ended(self) -> None:
        self._active -= 1
        if not self._active:
            self._idle.set()


class Dispatchers:
    """Several dispatchers, one for each soul, as one."""

    def __init__(self, dispatchers: Sequence[Dispatcher]) -> None:
        self._dispatchers = dispatchers

    async def run(self) -> None:
        """Let all of them work until cancelled."""
        async with alongside(*(one.run() for one in self._dispatchers[1:])):
            await self._dispatchers[0].run()

    def look_again(self) -> None:
        """There may be something to do for any of them."""
        for one in self._dispatchers:
            one.look_again()

    async def drain(self, seconds: float) -> bool:
        """Let all of them claim nothing more and finish; True when all of it ended in time."""
        finished = True

        async def finish(one: Dispatcher) -> None:
            nonlocal finished
            finished &= await one.drain(seconds)

        async with asyncio.TaskGroup() as group:
            for one in self._dispatchers:
                group.create_task(finish(one))
        return finished

    @property
    def active(self) -> int:
        """Pieces of work under way."""
        return sum(one.active for one in self._dispatchers)
