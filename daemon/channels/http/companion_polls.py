"""The polls that companions of sessions hold open: when one ends and no other follows, its session is looked at."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from daemon.channels.http.connection import client_left
from daemon.channels.http.daemon_side import DaemonSide
from daemon.core.concurrency import Bell
from daemon.core.ports.clock import Clock
from daemon.core.sessions import Attended, KeyOwner

GRACE_S: Final = 3.0
"""A companion asks again at once, and makes a lost connection anew within this time."""

_NONE_LEFT_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class _Companion:
    """By whom and for which process a poll is held."""

    person: str
    key: str
    process: str


class CompanionPolls:
    """Counts the polls of each companion, and tells of those that come no more."""

    def __init__(self, side: DaemonSide, clock: Clock) -> None:
        self._companions = side.sessions.companions
        self._clock = clock
        self._open = Counter[_Companion]()
        self._due: dict[_Companion, float] = {}
        self._bell = Bell()

    async def wait(
        self, request: web.Request, owner: KeyOwner, process: str, *, wakes: bool, seconds: float
    ) -> Attended:
        """Wait with a companion for what it is to wake its session with; the wait ends when the companion does.

        Raises StoreError.
        """
        companion = _Companion(owner.person, owner.key, process)
        self._open[companion] += 1
        self._due.pop(companion, None)
        waits = self._companions.wait(owner, process, request.match_info["id"], wakes=wakes, seconds=seconds)
        waiting = asyncio.ensure_future(waits)
        leaving = asyncio.ensure_future(client_left(request).wait())
        try:
            await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            waiting.cancel()
            self._open[companion] -= 1
            if self._open[companion] <= 0:
                del self._open[companion]
                self._due[companion] = self._clock.monotonic() + GRACE_S
                self._bell.ring()
        return await waiting if waiting.done() else Attended("")

    async def watch(self) -> None:
        """Tell of companions that come no more, until cancelled. Raises StoreError; what is told is told again then."""
        while True:
            now = self._clock.monotonic()
            for companion, due in list(self._due.items()):
                if due <= now:
                    owner = KeyOwner(companion.key, companion.person)
                    await self._companions.left(owner, companion.process)
                    if self._due.get(companion) == due:
                        del self._due[companion]
            next_ = min(self._due.values(), default=now + _NONE_LEFT_S)
            await self._bell.wait(self._clock, max(0.0, next_ - self._clock.monotonic()))
