"""Sees to it that no visit stays open and none waits to be looked through for long."""

from collections.abc import Callable
from typing import Final

from daemon.core.ports import Clock
from daemon.memory.queues.ended_visits import EndedVisits
from daemon.processes.subprocesses import AFTER_A_VISIT
from daemon.soul import Soul

_EVERY_S: Final = 1800.0


async def sweep_visits(
    visits: EndedVisits, clock: Clock, soul: Callable[[], Soul], silent_ms: int, on_due: Callable[[], None]
) -> None:
    """Look every half hour until cancelled; `on_due` is called when there is work. Raises StoreError."""
    while True:
        await end_visits(visits, soul, on_due, silent_ms)
        await clock.sleep(_EVERY_S)


async def end_visits(visits: EndedVisits, soul: Callable[[], Soul], on_due: Callable[[], None], silent_ms: int) -> None:
    """End the visits that are silent for so long, and have all that ended looked through. Raises StoreError."""
    for name in AFTER_A_VISIT:
        if name in soul().subprocesses and await visits.sweep(silent_ms, name):
            on_due()
