"""Signals that a new message has arrived in a conversation, so that work there can be cut short."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

from daemon.core.concurrency import alongside

T = TypeVar("T")


class Interrupted(Exception):
    """A new message arrived during a thought; this is no failure and is not reported as one."""


class Interrupt:
    """The signal for one piece of work that a new message has arrived in its conversation."""

    def __init__(self) -> None:
        self._called = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def pending(self) -> bool:
        """Whether a new message has arrived."""
        return self._called.is_set()

    def call(self) -> None:
        """Signal a new message."""
        self._called.set()
        self.look()

    def look(self) -> None:
        """Have who watches the conversation in memory.db look again, without interrupting a thought."""
        self._news.set()

    async def news(self) -> None:
        """Wait until there may be something to look at since the last call."""
        await self._news.wait()
        self._news.clear()

    def clear(self) -> None:
        """The messages so far are absorbed; only newer ones count from now on."""
        self._called.clear()

    async def unless_called(self, work: Coroutine[object, object, T]) -> T:
        """The result of `work`, which a new message cancels. Raises Interrupted then.

        What `work` raises is raised unchanged.
        """
        if self.pending:
            work.close()
            raise Interrupted
        async with alongside(self._interrupt()):
            return await work

    async def _interrupt(self) -> None:
        await self._called.wait()
        raise Interrupted


class Interrupts:
    """Passes the signal on to the work that runs in a conversation of this operating system process."""

    def __init__(self) -> None:
        self._interrupts: defaultdict[str, list[Interrupt]] = defaultdict(list)

    @contextmanager
    def attend(self, conversation: str) -> Iterator[Interrupt]:
        """An interrupt for a conversation, by its id, while the body runs."""
        interrupt = Interrupt()
        self._interrupts[conversation].append(interrupt)
        try:
            yield interrupt
        finally:
            self._interrupts[conversation].remove(interrupt)
            if not self._interrupts[conversation]:
                del self._interrupts[conversation]

    async def look(self, has_news: Callable[[str], Awaitable[bool]]) -> None:
        """Have all who watch a conversation in memory.db look again, and signal what `has_news` finds there.

        Raises what `has_news` raises.
        """
        for conversation, interrupts in tuple(self._interrupts.items()):
            for interrupt in interrupts:
                interrupt.look()
            if await has_news(conversation):
                self.call(conversation)

    def call(self, conversation: str) -> None:
        """Signal a new message in a conversation."""
        for interrupt in self._interrupts.get(conversation, ()):
            interrupt.call()
