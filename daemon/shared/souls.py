"""What the souls of a daemon do now, under the key `souls`: idle, thinking, speaking or solving, and where."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import Final

from daemon.core.members import MemberTaken, WorkPlace
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.clock import Clock
from daemon.memory.shared.awareness import AwarenessStore
from daemon.shared.news import StoreNews

_SETTLES_S: Final = 0.2  # what is over sooner is never shown, so that a quick reply costs no write
_MOST_PLACES: Final = 20


class Doing(IntEnum):
    """What a soul does; of several conversations the most is shown."""

    IDLE = 0
    THINKING = 1
    SPEAKING = 2
    SOLVING = 3


@dataclass(slots=True)
class _Work:
    where: ConversationKey
    audience: Audience
    doing: Doing = Doing.THINKING


class SoulAtWork:
    """Shows what one soul does in this process. Another daemon that hosts it too shows it as `name:2`."""

    def __init__(self, store: AwarenessStore, news: StoreNews, clock: Clock, soul: str) -> None:
        self._store = store
        self._news = news
        self._clock = clock
        self._soul = soul
        self._member = soul
        self._works: list[_Work] = []
        self._changed = asyncio.Event()
        self._shown: tuple[Doing, tuple[WorkPlace, ...]] | None = None

    @contextmanager
    def works(self, where: ConversationKey, audience: Audience) -> Iterator[Callable[[Doing], None]]:
        """The soul works in a conversation until the block ends; it thinks until something else is said."""
        work = _Work(where, audience)
        self._works.append(work)
        self._changed.set()

        def does(doing: Doing) -> None:
            work.doing = doing
            self._changed.set()

        try:
            yield does
        finally:
            self._works.remove(work)
            self._changed.set()

    async def run(self) -> None:
        """Show what the soul does, and each change that lasts a moment, until cancelled. Raises StoreError."""
        while True:
            self._changed.clear()
            await self._show()
            await self._changed.wait()
            await self._clock.sleep(_SETTLES_S)

    async def _show(self) -> None:
        doing = max((one.doing for one in self._works), default=Doing.IDLE)
        places = tuple(WorkPlace(str(one.audience), str(one.where)) for one in self._works[:_MOST_PLACES])
        if (doing, places) == self._shown:
            return
        await self._store_under_a_free_name({"doing": doing.name.lower()}, places)
        self._shown = (doing, places)
        self._news.tell()

    async def _store_under_a_free_name(self, state: dict[str, object], places: tuple[WorkPlace, ...]) -> None:
        for number in count(2):
            try:
                await self._store.set_soul(self._member, self._store.process, state, places)
            except MemberTaken:
                self._member = f"{self._soul[:60]}:{number}"
            else:
                return
