"""Keeps the work moving: claims conversations, posts and jobs as they fall due, many at once, and drains at the end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from daemon.concurrency import alongside
from daemon.conversation import ConversationHandler
from daemon.courier import Courier
from daemon.errors import StoreError
from daemon.memory.jobs import Job
from daemon.memory.records import Claim, Delivery
from daemon.memory.store import Store
from daemon.ports import Clock, Emit

POLL = 2.0  # seconds after which rows that another process left are looked for
_SENDERS = 16
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
    """Runs conversations (at most `max_cycles` at once), sends what is on its way, does the jobs."""

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
    ) -> None:
        self._store = store
        self._handler = handler
        self._courier = courier
        self._do_job = do_job
        self._clock = clock
        self._emit = emit
        self._cycles = asyncio.Semaphore(max_cycles)
        self._senders = asyncio.Semaphore(_SENDERS)
        self._bell = bell
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

    async def drain(self, seconds: float) -> bool:
        """Claim nothing more and wait for what is under way; True when all of it ended in time."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
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
                    while not self._stopping and await claim(group):
                        pass
                    due = await next_due()
                except StoreError as error:
                    self._emit("store.failed", reason=error.message, hint=error.hint)
                    await self._clock.sleep(_PAUSE_AFTER_FAILURE)
                    continue
                wait = POLL if due is None else min(POLL, max(0.005, (due - self._clock.now_ms()) / 1000))
                await bell.wait(self._clock, wait)

    async def _claim_conversation(self, group: asyncio.TaskGroup) -> bool:
        await self._cycles.acquire()
        claim = None
        try:
            claim = await self._store.conversations.claim_next()
        finally:
            if claim is None:
                self._cycles.release()
        if claim is not None:
            group.create_task(self._counted(self._converse(claim)))
        return claim is not None

    async def _converse(self, claim: Claim) -> None:
        try:
            delivery = await self._handler.handle(claim)
        finally:
            self._cycles.release()
            self._bell.ring()  # more may have been said meanwhile
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
        await self._senders.acquire()
        delivery = None
        try:
            delivery = await self._store.outbox.claim_next()
        finally:
            if delivery is None:
                self._senders.release()
        if delivery is not None:
            group.create_task(self._counted(self._send_from_outbox(delivery)))
        return delivery is not None

    async def _send_from_outbox(self, delivery: Delivery) -> None:
        try:
            await self._courier.deliver(delivery)
        finally:
            self._senders.release()
            self._post_bell.ring()

    async def _claim_job(self, group: asyncio.TaskGroup) -> bool:
        job = await self._store.jobs.claim_next()
        if job is not None:
            await self._counted(self._do_job(job))  # one at a time: replies come first
        return job is not None

    async def _counted(self, work: Awaitable[None]) -> None:
        self._active += 1
        self._idle.clear()
        try:
            await work
        except StoreError as error:  # told; the lease runs out and the work is claimed again
            self._emit("store.failed", reason=error.message, hint=error.hint)
            await self._clock.sleep(_PAUSE_AFTER_FAILURE)
        finally:
            self._active -= 1
            if not self._active:
                self._idle.set()
