"""Awakens a soul once, and notes while it lives that it does, so that it knows later for how long it was away."""

from collections.abc import Callable
from typing import Final

from daemon.core.ports.clock import Clock
from daemon.memory.queues.awakenings import Awakenings
from daemon.soul import Soul

EVERY_S: Final = 30.0


class Awakener:
    """Looks at one soul in one workspace; `may_tick`: it thinks by itself. `on_due` is called when it is to awaken."""

    def __init__(
        self,
        awakenings: Awakenings,
        soul: Callable[[], Soul],
        may_tick: Callable[[], bool],
        clock: Clock,
        on_due: Callable[[], None],
    ) -> None:
        self._awakenings = awakenings
        self._soul = soul
        self._may_tick = may_tick
        self._clock = clock
        self._on_due = on_due
        self._started = False

    async def run(self) -> None:
        """Look until cancelled. Raises StoreError."""
        while True:
            await self._look()
            await self._clock.sleep(EVERY_S)

    async def _look(self) -> None:
        thinks, begun = self._may_tick(), await self._awakenings.is_begun()
        first, self._started = not self._started, True
        if begun:
            await (self._awakenings.resume() if first and thinks else self._awakenings.note(thinks=thinks))
        elif thinks and self._soul().awakening and await self._awakenings.begin():
            self._on_due()
