"""Attention: notices that something new waits in a conversation, so that what runs there can be cut short."""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

from daemon.core.concurrency import alongside

T = TypeVar("T")


class Interrupted(Exception):
    """Something new came in while one thought; no failure, and nobody is to be told of it as one."""


class Interrupt:
    """One piece of work's ear for its conversation."""

    def __init__(self) -> None:
        self._called = asyncio.Event()

    @property
    def pending(self) -> bool:
        """Whether something new waits."""
        return self._called.is_set()

    def call(self) -> None:
        """Something new waits."""
        self._called.set()

    def clear(self) -> None:
        """It has been taken in; from now on something newer counts."""
        self._called.clear()

    async def unless_called(self, work: Coroutine[object, object, T]) -> T:
        """The outcome of `work`, which is cancelled when something new comes first. Raises Interrupted then.

        What `work` raises comes out as it is.
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
    """Rings through to whoever pays attention to a conversation in this process."""

    def __init__(self) -> None:
        self._listening: defaultdict[str, list[Interrupt]] = defaultdict(list)

    @contextmanager
    def attend(self, conversation: str) -> Iterator[Interrupt]:
        """An ear for a conversation, by its id, while the body runs."""
        interrupt = Interrupt()
        self._listening[conversation].append(interrupt)
        try:
            yield interrupt
        finally:
            self._listening[conversation].remove(interrupt)
            if not self._listening[conversation]:
                del self._listening[conversation]

    def call(self, conversation: str) -> None:
        """Something new waits in a conversation."""
        for interrupt in self._listening.get(conversation, ()):
            interrupt.call()
