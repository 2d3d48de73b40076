"""Consolidates memory while no user speaks: each slot once, audience by audience, within a budget."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from daemon.core.concurrency import alongside
from daemon.core.errors import DaemonError, LostLease
from daemon.core.fencing import fresh_nonce
from daemon.core.last_line import ends_daemon, in_short, keep_lease
from daemon.core.perception import Audience
from daemon.core.ports.services import Clock, Emit, LLMCall
from daemon.core.spending import Charge
from daemon.core.timetable import next_slot
from daemon.core.value import Value
from daemon.memory.consolidation.runs import Run, RunState, Slot
from daemon.memory.consolidation.slots import Newest, NightStores
from daemon.mind.cognition import Mind
from daemon.processes.consolidation.night import BudgetSpent, Night, Outage, Parts
from daemon.runtime.cycle_state import new_trace
from daemon.soul import Soul

POLL_S: Final = 2.0
"""Seconds between two looks for a slot, or for an order of another process."""

QUIET_MS: Final = 30 * 60_000
"""Milliseconds without a word of any user before a slot begins, or goes on with the next audience."""

_LOOK_S: Final = 0.5
_LEARNING_S: Final = 300.0  # the longest wait for the learning jobs
_FULL_DISK_S: Final = 60.0
_MISSED_MS: Final = 86_400_000  # of missed slots only the newest of the last day is done
_TRIES: Final = 3
_AGAIN_MS: Final = 10 * 60_000


MakesMind = Callable[[Soul, Callable[[LLMCall], None], Charge, Sequence[Audience], str], Awaitable[Mind]]


class NightPlan(Value):
    """The schedule (a crontab, or `off`), its IANA zone ('' for where most people live), and the token budget."""

    every: str
    zone: str
    tokens: int


@dataclass(slots=True)
class Consolidator:
    """The consolidator of the memory of one soul. Daemons that share one memory.db do each slot once.

    `mind` makes a mind as `CycleServices.mind` does. `sweep` ends visits that fell silent (ms) and queues all pending
    looks. `learn` does the next learning job, and is False when none is due. `has_room`: the disk has space for more
    than people's words.
    """

    clock: Clock
    emit: Emit
    soul: Callable[[], Soul]
    mind: MakesMind
    stores: NightStores
    parts: Parts
    plan: NightPlan
    sweep: Callable[[int], Awaitable[None]]
    learn: Callable[[], Awaitable[bool]]
    has_room: Callable[[], bool]
    _told_of_disk: bool = False

    async def look(self) -> float:
        """Do what is due, and return the seconds until the next look. Raises StoreError."""
        newest = await self.stores.slots.newest()
        due = await self._due(newest)
        if due is None or not newest.free:
            return POLL_S
        at_ms, by_hand = due
        if not by_hand and not await self.stores.slots.quiet(QUIET_MS):
            return POLL_S
        if not self._room():
            return _FULL_DISK_S
        slot = await self.stores.slots.take(newest, at_ms, by_hand=by_hand)
        if slot is not None:
            slots, log = self.stores.slots, partial(self.emit, "consolidation.lease_not_renewed")
            try:
                async with alongside(keep_lease(self.clock, slots.renew_every, partial(slots.renew, slot), log)):
                    await self._work(slot)
            except LostLease as lost:
                self.emit("consolidation.lost", reason=lost.message)
        return POLL_S

    async def _due(self, newest: Newest) -> tuple[int, bool] | None:
        """Return the time of the next slot to work on, and whether it was ordered, None for none."""
        now, every = self.clock.now_ms(), self.plan.every
        if newest.ordered_ms is not None:
            return newest.ordered_ms, True
        if newest.is_open and (newest.by_hand or every != "off"):
            return newest.at_ms, newest.by_hand
        if every == "off":
            return None
        zone = self.plan.zone or await self.stores.slots.zone()
        due = next_slot(every, newest.at_ms + 1, zone)
        if due > now:
            return None
        later = next_slot(every, max(due, now - _MISSED_MS) + 1, zone)
        while later <= now:  # missed slots count as one
            due, later = later, next_slot(every, later + 1, zone)
        return due, False

    async def _work(self, slot: Slot) -> None:
        """Do a slot, or as much of it as people leave time for."""
        slots, outage, failed, down = self.stores.slots, Outage(), 0, False
        await self._finish_visits(slot)
        for audience in await self.stores.runs.audiences(slot):
            if not await self._may_go_on(slot):
                await slots.release(slot, done=False)
                return
            night = await self._night(Run(slot, audience), outage)
            error = await self._consolidate(night)
            failed += bool(error or night.faults)
            down = down or bool(error)
        again = down and slot.tries + 1 < _TRIES  # faults of memories wait for another night
        await slots.release(slot, done=not again, wait_ms=_AGAIN_MS * 2**slot.tries if again else 0, again=again)
        self.emit("consolidation.done", slot=slot.at_ms, failed=failed, again=again)

    async def _finish_visits(self, slot: Slot) -> None:
        clock = self.clock
        if slot.by_hand:
            await self.stores.slots.hurry_learning()
        await self.sweep(QUIET_MS)
        until = clock.monotonic() + _LEARNING_S
        while clock.monotonic() < until and (await self.learn() or await self.stores.slots.is_learning()):
            await clock.sleep(_LOOK_S)

    async def _may_go_on(self, slot: Slot) -> bool:
        """Return whether the next audience may be looked at. People come first, also before an admin's order."""
        while slot.by_hand and not await self.stores.slots.quiet(0):
            await self.clock.sleep(_LOOK_S)
        return self._room() and (slot.by_hand or await self.stores.slots.quiet(QUIET_MS))

    def _room(self) -> bool:
        room = self.has_room()
        if not room and not self._told_of_disk:
            self.emit(
                "consolidation.waits",
                reason="the disk is nearly full",
                hint="free space on the disk that holds SOUL_HOME; it goes on by itself",
            )
        self._told_of_disk = not room
        return room

    async def _consolidate(self, night: Night) -> str:
        """Do all parts for one audience, and return why one failed. A failure does not stop the rest."""
        error, cut = "", ""
        for name, part in self.parts.items():
            try:
                await part(night)
            except BudgetSpent as spent:
                cut = spent.message
            except LostLease:
                raise
            except Exception as failure:  # one audience must not stop the others
                if ends_daemon(failure):
                    raise
                error = error or f"{name}: {in_short(failure)}"
                unexpected = None if isinstance(failure, DaemonError) else failure
                self.emit("consolidation.failed", part=name, reason=in_short(failure), error=unexpected)
        left = error or "; ".join(dict.fromkeys(night.faults))
        state: RunState = "failed" if left else "cut" if cut else "done"
        await self.stores.runs.end(night.run, state, left or cut)
        return error

    async def _night(self, run: Run, outage: Outage) -> Night:
        calls, trace, soul = list[LLMCall](), new_trace(), self.soul()
        return Night(
            soul=soul,
            run=run,
            stores=self.stores,
            paused=await self.stores.runs.paused(),
            mind=await self.mind(soul, calls.append, Charge(trace, background=True), (run.audience,), fresh_nonce()),
            calls=calls,
            budget=self.plan.tokens,
            clock=self.clock,
            emit=self.emit,
            trace_id=trace,
            outage=outage,
        )
