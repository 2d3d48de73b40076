"""Looks up where people live for whom something repeats: the event of a move may have come while nobody heard it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from daemon.channels.slack.pacing import Window
from daemon.channels.slack.people import Directory
from daemon.core.errors import NotDelivered, StoreError
from daemon.core.ports.clock import Clock
from daemon.core.ports.intake import PersonRooms
from daemon.core.ports.telemetry import Emit

_CALLS_A_MINUTE: Final = 30  # of users.info (Slack: tier 4); replies need most of them
_MOST: Final = 200  # people at a look, those whose next time is soonest
_PAUSE: Final = 30.0
_USERS: Final = ("U", "W")  # what ids of users begin with


class Movers:
    """Moves what repeats to the clocks of where its person lives by now; `tell` tells the other daemons of a move."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        emit: Emit,
        team: Callable[[], str],
        tell: Callable[[str], Awaitable[None]],
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._emit = emit
        self._team = team
        self._tell = tell
        self._slots = Window(clock, _CALLS_A_MINUTE)
        self._wanted = asyncio.Event()

    def look(self) -> None:
        """Have everybody looked up: events may have been missed."""
        self._wanted.set()

    async def run(self, store: PersonRooms) -> None:
        """Look people up whenever events may have been missed, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._look_up(store)
            except (NotDelivered, StoreError) as error:
                self._emit("slack.zones_unknown", reason=error.message, hint=error.hint)
                await self._clock.sleep(max(_PAUSE, getattr(error, "retry_after", None) or 0.0))
                self._wanted.set()

    async def _look_up(self, store: PersonRooms) -> None:
        """Ask about all, few in a minute. Raises NotDelivered, StoreError."""
        team = self._team()
        for person in await store.reminded(team, _MOST):
            if not person.startswith(_USERS):
                continue
            if self._directory.known_user(person) is None:
                await self._slots.wait_for_slot()
            user = await self._directory.user(person)
            if user is not None and user.zone and await store.moved(team, person, user.zone):
                self._emit("slack.moved", person=person)
                await self._tell(person)
