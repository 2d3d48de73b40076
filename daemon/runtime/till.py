"""Payment for the model calls of one soul: reserves the highest cost, and settles it to the actual cost."""

import dataclasses
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from daemon.core.concurrency import Bell
from daemon.core.errors import CapMet, StoreError, TickBudgetMet
from daemon.core.ports.services import Clock, Completion, Cost, Emit, LLMCall, Prompt
from daemon.core.spending import NO_TICKS, Caps, Charge, Day, PaidBy, Payer, day_at, nano_of, nano_of_cap
from daemon.core.value import Value
from daemon.memory.spending.reservations import (
    BudgetReached,
    CapReached,
    Reservations,
    Settlements,
    WantedCall,
    limits_for,
)

PATIENCE_S: Final = 20.0
"""Seconds that a call waits for others to be settled. Work in the background does not wait, but is tried again."""

_FIRST_LOOK_S: Final = 0.05
_LONGEST_LOOK_S: Final = 1.0
_IDLE_S: Final = 300.0
_SETTLE_S: Final = 0.2  # after a call, for a next one that settles it in its own transaction
_AGAIN_MS: Final = 300_000  # after which work in the background looks whether others have been settled


class Terms(Value):
    """The cost of a finished call, the highest cost of a future one, the caps, and the zone of their days.

    `tokens` returns the most tokens that a future call can take.
    """

    cost: Callable[[Completion], Cost | None]
    most: Callable[[Prompt], Cost]
    caps: Callable[[], Caps]
    zone: str = ""
    tokens: Callable[[Prompt], int] = lambda _: 0


@dataclass(eq=False)
class SpendingBudget:
    """The payments of one soul in one workspace. `terms` are read for each call.

    No lock is held during a call. A call that fits under a cap only after others are settled waits for them for a
    while. Finished calls are settled with the next reservation, or a moment later.
    """

    reservations: Reservations
    terms: Terms
    clock: Clock
    emit: Emit
    _settlements: Settlements = field(default_factory=Settlements)
    _finished: Bell = field(default_factory=Bell)

    def day(self, at_ms: int | None = None) -> Day:
        return day_at(self.clock.now_ms() if at_ms is None else at_ms, self.terms.zone)

    def payer(self, charge: Charge) -> Payer:
        return replace(self.reservations.payer, person=charge.person, room=charge.room)

    async def reserve(self, charge: Charge, prompt: Prompt) -> str:
        """Set aside what a call can cost, and return the id for settling, empty where no cap concerns the call.

        Raises CapMet where a cap leaves no room for it, TickBudgetMet where the budget of the charge doesn't, and
        StoreError.
        """
        caps = self.terms.caps().known
        most = nano_of(self.terms.most(prompt).usd) if caps or charge.tick else 0
        if not (most or charge.tick):
            return ""
        limits = {paid_by: nano_of_cap(usd, background=charge.background) for paid_by, usd in caps.items()}
        payer, until = self.payer(charge), self.clock.monotonic() + (0 if charge.background else PATIENCE_S)
        pause = _FIRST_LOOK_S
        while True:
            wanted = WantedCall(
                id=secrets.token_hex(8),
                payer=payer,
                day=self.day().date,
                nano=most,
                limits=limits_for(payer, limits),
                trace_id=charge.trace_id,
                role=str(prompt.role),
                step=prompt.step,
                model=prompt.model,
                tokens=self.terms.tokens(prompt) if charge.tick else 0,
                tick=charge.tick,
            )
            reached = await self._reserve(wanted)
            if reached is None:
                return wanted.id
            if isinstance(reached, BudgetReached):
                raise _tick_budget_met(wanted, self.clock.now_ms() + _AGAIN_MS)
            if not reached.may_fit or self.clock.monotonic() >= until:
                raise self._met(reached, caps[reached.paid_by], charge)
            await self.clock.sleep(pause)
            pause = min(_LONGEST_LOOK_S, pause * 2)

    async def _reserve(self, wanted: WantedCall) -> CapReached | BudgetReached | None:
        settling = self._settlements.taken()
        try:
            return await self.reservations.reserve(wanted, settling)
        except BaseException:  # also a cancelled one may be stored all the same: its call is never made
            settling.unused.append(wanted.id)
            self._settlements.put_back(settling)
            self._finished.ring()
            raise

    def _met(self, reached: CapReached, usd: float, charge: Charge) -> CapMet:
        day = self.day()
        self.emit(
            "cap.met",
            paid_by=str(reached.paid_by),
            usd=usd,
            background=charge.background,
            soul=self.reservations.payer.soul,
        )
        soon = charge.background and reached.may_fit
        return CapMet(
            f"the cap of ${usd:g} a day is met ({_SAID_OF[reached.paid_by]})",
            hint=f"it may spend again tomorrow, or raise {VARIABLES[reached.paid_by]}",
            paid_by=str(reached.paid_by),
            usd=usd,
            until_ms=min(day.ends_ms, self.clock.now_ms() + _AGAIN_MS) if soon else day.ends_ms,
        )

    def charged(self, call: LLMCall, charge: Charge) -> LLMCall:
        """Add the payer to a finished call, and queue a reserved one for settlement."""
        paid = dataclasses.replace(call, payer=self.payer(charge), day=self.day(call.started_ms).date)
        if paid.reservation:
            self._settlements.calls.append(paid)
            self._finished.ring()
        return paid

    async def count(self, call: LLMCall, charge: Charge, reservation: str) -> None:
        """Store a finished call that belongs to no cycle, and settle it if it was reserved. Raises StoreError."""
        paid = self.charged(dataclasses.replace(call, reservation=reservation), charge)
        if reservation:
            await self.settle()
        else:
            await self.reservations.count(paid)

    async def run(self) -> None:
        """Settle finished and forgotten calls until cancelled. Raises StoreError."""
        while True:
            if lost := await self.reservations.settle_forgotten():
                self.emit("cap.lost_calls", calls=lost)
            await self._finished.wait(self.clock, _IDLE_S)
            await self.clock.sleep(_SETTLE_S)
            await self.settle()

    async def settle(self) -> None:
        """Settle finished calls. A StoreError is raised, and the calls are tried again later."""
        if not self._settlements:
            return
        settling = self._settlements.taken()
        try:
            await self.reservations.settle(settling)
        except BaseException:
            self._settlements.put_back(settling)
            self._finished.ring()
            raise

    async def close(self) -> None:
        """Settle the rest. Calls that can't be settled count with their highest possible cost."""
        try:
            await self.settle()
        except StoreError as error:
            self.emit("store.failed", reason=error.message, hint=error.hint)


def _tick_budget_met(wanted: WantedCall, until_ms: int) -> TickBudgetMet:
    tick = wanted.tick or NO_TICKS
    most = nano_of_cap(tick.usd_day, background=False)
    alone = wanted.nano > most or wanted.tokens > min(tick.tokens_hour, tick.tokens_day)
    what = "is too small for this one alone" if alone else "is used up"
    return TickBudgetMet(
        f"the budget for unasked thoughts {what}: it may take {wanted.tokens:,} tokens",
        hint="it thinks by itself again later, or raise SOUL_CYCLE_TOKENS_HOUR, _DAY or SOUL_CYCLE_USD_DAY",
        usd=tick.usd_day,
        until_ms=until_ms,
        alone=alone,
    )


VARIABLES: Final = {
    PaidBy.SOUL: "SOUL_MAX_USD_A_DAY",
    PaidBy.PERSON: "SOUL_MAX_USD_A_DAY_PERSON",
    PaidBy.ROOM: "SOUL_MAX_USD_A_DAY_ROOM",
}
"""The setting of each cap."""

_SAID_OF: Final = {PaidBy.SOUL: "for the soul", PaidBy.PERSON: "for each person", PaidBy.ROOM: "for each room"}
