"""Small stand-ins that implement the ports, for every test to use."""

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from itertools import count
from typing import TypeAlias

from daemon.core.errors import ModelRefused
from daemon.core.ports import Completion, ModelRole, Prompt


class FakeClock:
    """A clock that tests turn by hand, or that jumps ahead by itself whenever somebody sleeps (`auto`)."""

    def __init__(self, *, auto: bool = False, start_ms: int = 1_750_000_000_000) -> None:
        self.auto = auto
        self.slept: list[float] = []
        self._start_ms = start_ms
        self._elapsed = 0.0
        self._alarms: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._changed = asyncio.Event()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return self._start_ms + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was turned far enough; with `auto`, turn it and give other tasks a turn."""
        self.slept.append(seconds)
        if self.auto or seconds <= 0:
            self._elapsed += max(0.0, seconds)
            await asyncio.sleep(0)
            return
        alarm = asyncio.get_running_loop().create_future()
        heapq.heappush(self._alarms, (self._elapsed + seconds, next(self._order), alarm))
        self._changed.set()
        await alarm

    async def sleepers(self, number: int = 1) -> None:
        """Wait until at least so many tasks sleep on this clock."""
        while len(self._waiting()) < number:
            self._changed.clear()
            await self._changed.wait()

    async def advance(self, seconds: float) -> None:
        """Turn the clock, waking sleepers in the order of their alarms, and let each of them run."""
        target = self._elapsed + seconds
        while self._alarms and self._alarms[0][0] <= target:
            at, _, alarm = heapq.heappop(self._alarms)
            self._elapsed = max(self._elapsed, at)
            if not alarm.done():
                alarm.set_result(None)
                await asyncio.sleep(0)
        self._elapsed = target
        await asyncio.sleep(0)

    def _waiting(self) -> list[asyncio.Future[None]]:
        return [alarm for _, _, alarm in self._alarms if not alarm.done()]


Piece: TypeAlias = str | Completion | Exception
Reply: TypeAlias = str | Iterable[Piece] | Exception
Script: TypeAlias = Reply | Callable[[Prompt], Awaitable[Reply]]


class ScriptedLLM:
    """An `LLM` with a queue of replies; `prompts` keeps every prompt it got, oldest first.

    A reply is a text, a series of pieces (an exception among them breaks the stream there, a Completion ends it), an
    exception to raise at once, or an async function that takes the prompt and returns one of these. When the queue is
    empty the `default` answers; without one the call fails with ModelRefused.
    """

    def __init__(
        self,
        *replies: Script,
        default: Script | None = None,
        model: str = "scripted/test",
        usage: Completion | None = None,
    ) -> None:
        self.replies: deque[Script] = deque(replies)
        self.default = default
        self.prompts: list[Prompt] = []
        self.cut = 0
        self._completion = usage or Completion(model, tokens_in=1, tokens_out=1)

    def model_for(self, role: ModelRole) -> str:
        """See `LLM.model_for`."""
        return self._completion.model

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`; `cut` counts the streams that were closed or cancelled before their end."""
        self.prompts.append(prompt)
        completion = self._completion
        try:
            for piece in _pieces(await self._next_reply(prompt)):
                if isinstance(piece, Completion):
                    completion = piece
                    break
                yield _text_of(piece)
        except (GeneratorExit, asyncio.CancelledError):
            self.cut += 1
            raise
        yield completion

    async def aclose(self) -> None:
        """Holds no connections."""

    async def _next_reply(self, prompt: Prompt) -> Reply:
        script = self.replies.popleft() if self.replies else self.default
        if script is None:
            raise ModelRefused("the script has no reply left", hint=f"add one for the step {prompt.step}")
        return await script(prompt) if callable(script) else script


def _pieces(reply: Reply) -> Iterable[Piece]:
    return (reply,) if isinstance(reply, str | Exception) else reply


def _text_of(piece: str | Exception) -> str:
    if isinstance(piece, Exception):
        raise piece
    return piece
