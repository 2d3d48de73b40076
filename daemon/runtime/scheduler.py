"""The clock of scheduled work: waits until something falls due and has it put into the inbox; memory.db knows what."""

from collections.abc import Callable
from typing import Protocol

from daemon.core.errors import StoreError
from daemon.core.ports import Clock, Emit
from daemon.memory.queues.approvals import Approvals
from daemon.memory.queues.intentions import Intentions

POLL = 2.0  # seconds after which what another process scheduled is looked for
_SHORTEST_WAIT = 0.05
_PAUSE_AFTER_FAILURE = 1.0


class Alarm(Protocol):
    """What wakes the scheduler early: something was scheduled."""

    async def wait(self, clock: Clock, seconds: float) -> None:
        """Until it rings, at most `seconds`."""


class Scheduler:
    """Moves intentions that fall due and questions that expire into the inbox; `on_due` is called when it did.

    Any number may look at the same memory.db: each slot is moved once, whoever comes first.
    """

    def __init__(
        self,
        intentions: Intentions,
        approvals: Approvals,
        *,
        clock: Clock,
        emit: Emit,
        alarm: Alarm,
        on_due: Callable[[], None],
    ) -> None:
        self._intentions = intentions
        self._approvals = approvals
        self._clock = clock
        self._emit = emit
        self._alarm = alarm
        self._on_due = on_due

    async def run(self) -> None:
        """Look until cancelled; when memory.db fails it is told and looked at again."""
        while True:
            try:
                await self._move_what_is_due()
                pause = await self._until_next()
            except StoreError as error:
                self._emit("store.failed", reason=error.message, hint=error.hint)
                await self._clock.sleep(_PAUSE_AFTER_FAILURE)
                continue
            await self._alarm.wait(self._clock, pause)

    async def _move_what_is_due(self) -> None:
        """Looking is cheap; moving takes the write lock even when it finds nothing."""
        fired = await self._intentions.fall_due() if self._is_due(await self._intentions.next_due_ms()) else 0
        if fired:
            self._told("schedule.due", fired)
        expired = await self._approvals.expire() if self._is_due(await self._approvals.next_due_ms()) else 0
        if expired:
            self._told("approvals.expired", expired)

    def _told(self, event: str, count: int) -> None:
        self._emit(event, count=count)
        self._on_due()

    def _is_due(self, due: int | None) -> bool:
        return due is not None and due <= self._clock.now_ms()

    async def _until_next(self) -> float:
        """Seconds to wait for what comes next."""
        dues = (await self._intentions.next_due_ms(), await self._approvals.next_due_ms())
        due = min((one for one in dues if one is not None), default=None)
        if due is None:
            return POLL
        return min(POLL, max(_SHORTEST_WAIT, (due - self._clock.now_ms()) / 1000))
