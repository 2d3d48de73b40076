"""Moves scheduled work from memory.db into the inbox as it falls due, and what became of questions to sessions.

What was expected by then is scored, which wakes nobody.
"""

from collections.abc import Callable

from daemon.core.concurrency import Bell
from daemon.core.last_line import LastLine
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.memory.expectations.settling import DuePredictions
from daemon.memory.queues.approvals import Approvals
from daemon.memory.queues.intentions import Intentions
from daemon.shared.asking import SessionQuestions

POLL = 2.0
"""Seconds between two looks for work that another process scheduled."""

_SHORTEST_WAIT = 0.05


class Scheduler:
    """Moves due intentions and expired questions into the inbox and then calls `on_due`; scores what is over.

    `alarm` rings when something was scheduled. Several schedulers may share one memory.db: each row is moved once.
    """

    def __init__(
        self,
        intentions: Intentions,
        approvals: Approvals,
        asking: SessionQuestions,
        predictions: DuePredictions,
        *,
        clock: Clock,
        emit: Emit,
        alarm: Bell,
        on_due: Callable[[], None],
    ) -> None:
        self._intentions = intentions
        self._approvals = approvals
        self._asking = asking
        self._predictions = predictions
        self._clock = clock
        self._emit = emit
        self._last_line = LastLine(clock, emit)
        self._alarm = alarm
        self._on_due = on_due

    async def run(self) -> None:
        """Move due rows until cancelled. After a failure it goes on; a row that can't be moved is parked at last."""
        await self._last_line.keep("scheduler", self._move_all)

    def look_again(self) -> None:
        """Have it look for what is due now."""
        self._alarm.ring()

    async def _move_all(self) -> None:
        while True:
            await self._move_due_rows()
            await self._alarm.wait(self._clock, await self._until_next())

    async def _move_due_rows(self) -> None:
        """Asks for the next due time first: that is cheap, and moving takes the write lock even when nothing is due."""
        fired = await self._intentions.fall_due() if self._is_due(await self._intentions.next_due_ms()) else 0
        if fired:
            self._announce("schedule.due", fired)
        expired = await self._approvals.expire() if self._is_due(await self._approvals.next_due_ms()) else 0
        if expired:
            self._announce("approvals.expired", expired)
        if unanswered := await self._asking.fall_due():
            self._announce("sessions.unanswered", unanswered)
        if self._is_due(await self._predictions.next_due_ms()) and (scored := await self._predictions.fall_due()):
            self._emit("predictions.scored", count=scored)

    def _announce(self, event: str, count: int) -> None:
        self._emit(event, count=count)
        self._on_due()

    def _is_due(self, due: int | None) -> bool:
        return due is not None and due <= self._clock.now_ms()

    async def _until_next(self) -> float:
        """Seconds until the next row falls due, at most POLL.

        An expectation whose time is over already waits for what is still to be answered there, and is no hurry.
        """
        dues = [await one.next_due_ms() for one in (self._intentions, self._approvals)]
        over = await self._predictions.next_due_ms()
        dues.append(None if self._is_due(over) else over)
        due = min((one for one in dues if one is not None), default=None)
        if due is None:
            return POLL
        return min(POLL, max(_SHORTEST_WAIT, (due - self._clock.now_ms()) / 1000))
