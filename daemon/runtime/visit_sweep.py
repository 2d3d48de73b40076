"""Sees to it that no visit stays open, and that nothing waits for long to be looked through."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from daemon.core.ports.clock import Clock
from daemon.core.spending import TickBudget
from daemon.memory.knowledge.user_models import LEARNS_OF_PEOPLE
from daemon.memory.queues.ended_visits import EndedVisits
from daemon.memory.queues.unread_words import UnreadWords
from daemon.processes.subprocesses import AFTER_A_VISIT
from daemon.soul import Soul

_EVERY_S: Final = 1800.0


@dataclass(frozen=True, slots=True)
class VisitSweep:
    """Looks for one soul; `on_due` is called when there is work.

    With a `tick_budget` the soul thinks about the visits that end.
    """

    visits: EndedVisits
    unread: UnreadWords
    soul: Callable[[], Soul]
    tick_budget: Callable[[Soul], TickBudget | None]
    on_due: Callable[[], None]

    async def run(self, clock: Clock, silent_ms: int) -> None:
        """Look every half hour until cancelled. Raises StoreError."""
        while True:
            await self.once(silent_ms)
            await clock.sleep(_EVERY_S)

    async def once(self, silent_ms: int) -> None:
        """End the visits that are silent for so long, and have all looked through that waits. Raises StoreError."""
        soul = self.soul()
        wakes = self.tick_budget(soul) is not None
        for name in AFTER_A_VISIT:
            if name in soul.subprocesses and await self.visits.sweep(silent_ms, name, wakes=wakes):
                self.on_due()
        if LEARNS_OF_PEOPLE in soul.subprocesses and await self.unread.sweep(soul.notes.min_interactions):
            self.on_due()
