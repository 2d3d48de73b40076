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
            dues = await self._next_dues()  # cheap; moving takes the write lock even when nothing is due
            if await self._move_due_rows(*dues):
                dues = await self._next_dues()
            await self._alarm.wait(self._clock, self._until(*dues))

    async def _next_dues(self) -> tuple[int | None, int | None, int | None]:
        """When the next intention, question for permission and expectation fall due."""
        planned, asked = await self._intentions.next_due_ms(), await self._approvals.next_due_ms()
        return planned, asked, await self._predictions.next_due_ms()

    async def _move_due_rows(self, planned: int | None, asked: int | None, expected: int | None) -> bool:
        """Whether any row was moved."""
        fired = await self._intentions.fall_due() if self._is_due(planned) else 0
        if fired:
            self._announce("schedule.due", fired)
        expired = await self._approvals.expire() if self._is_due(asked) else 0
        if expired:
            self._announce("approvals.expired", expired)
        if unanswered := await self._asking.fall_due():
            self._announce("sessions.unanswered", unanswered)
        scored = await self._predictions.fall_due() if self._is_due(expected) else 0
        if scored:
            self._emit("predictions.scored", count=scored)
        return bool(fired or expired or scored)

    def _announce(self, event: str, count: int) -> None:
        self._emit(event, count=count)
        self._on_due()

    def _is_due(self, due: int | None) -> bool:
        return due is not None and due <= self._clock.now_ms()

    def _until(self, planned: int | None, asked: int | None, expected: int | None) -> float:
        """Seconds until the next row falls due, at most POLL.

        An expectation whose time is over already waits for what is still to be answered there, and is no hurry.
        """
        dues = (planned, asked, None if self._is_due(expected) else expected)
        due = min((one for one in dues if one is not None), default=None)
        if due is None:
            return POLL
        return min(POLL, max(_SHORTEST_WAIT, (due - self._clock.now_ms()) / 1000))
