"""A running step, whose visible text streams while its value is still unknown."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from daemon.core.errors import DaemonError, ModelUnavailable
from daemon.core.working_memory import WorkingMemory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """The last item of a thought; see `Thought` for `void` and `cut`."""

    memory: WorkingMemory
    value: T
    void: bool
    cut: bool


class Thought(Generic[T]):
    """A running step: iterate over it once for the visible text, await `finished()` for memory and value.

    Both may be done in any order, by different tasks, partly or not at all: `finished()` reads on by itself, and text
    read that way is kept for a later iteration. A failure ends the iteration and is raised by `finished()` too. The
    model is called when one of the two begins; cancelling the reading task cuts the call.
    """

    def __init__(self, items: AsyncGenerator[str | Finished[T], None]) -> None:
        self._items = items
        self._reading = asyncio.Lock()
        self._unread: deque[str] = deque()
        self._shown: list[str] = []
        self._finished: Finished[T] | None = None
        self._error: DaemonError | None = None

    @property
    def shown(self) -> str:
        """The visible text so far; a prefix of the reply unless the thought is `void`."""
        return "".join(self._shown)

    @property
    def void(self) -> bool:
        """Whether `shown` came from an answer, or a part of one, that was thrown away: the value replaces the text."""
        return self._finished is not None and self._finished.void

    @property
    def cut(self) -> bool:
        """Whether the value was read from an answer that met the model's output limit."""
        return self._finished is not None and self._finished.cut

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        """The next visible piece. Raises what `finished()` raises."""
        while not self._unread and self._finished is None:
            await self._advance()
        if not self._unread:
            raise StopAsyncIteration
        return self._unread.popleft()

    async def finished(self) -> tuple[WorkingMemory, T]:
        """Run to the end: the memory after the step, and its value (seed 000's `memory.finished`).

        Raises MalformedReply (after one repair), ModelUnavailable or ModelRefused.
        """
        while self._finished is None:
            await self._advance()
        return self._finished.memory, self._finished.value

    async def aclose(self) -> None:
        """Cut the call short, after the piece that another task may be waiting for; the thought never finishes then."""
        async with self._reading:
            await self._items.aclose()

    async def _advance(self) -> None:
        """Read one more piece, unless another task just did. Raises the thought's error, each time it is called."""
        before = len(self._shown)
        async with self._reading:
            if self._finished is not None or len(self._shown) > before:
                return
            if self._error is not None:
                raise self._error
            try:
                item = await anext(self._items)
            except StopAsyncIteration:
                self._error = ModelUnavailable("the thought was cut off before it finished", hint="run the step again")
                raise self._error from None
            except DaemonError as error:
                self._error = error
                raise
            if isinstance(item, Finished):
                self._finished = item
                await self._items.aclose()
            else:
                self._shown.append(item)
                self._unread.append(item)
