"""A model that says what it is told to: for tests, and for trying a process out without any model."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TypeAlias

from daemon.core.errors import ModelRefused
from daemon.core.ports import Completion, ModelRole, Prompt

Piece: TypeAlias = str | Completion | Exception
Reply: TypeAlias = str | Iterable[Piece] | Exception
Script: TypeAlias = Reply | Callable[[Prompt], Awaitable[Reply]]


class ScriptedLLM:
    """An `LLM` with a queue of replies; `prompts` keeps every prompt it was shown, oldest first.

    A reply is a text, a series of pieces (an exception among them breaks the stream there, a Completion ends it), an
    exception to raise at once, or an async function that is given the prompt and returns one of these. When the queue
    is empty the `default` answers; without one the call fails with ModelRefused.
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
                yield _said(piece)
        except (GeneratorExit, asyncio.CancelledError):
            self.cut += 1
            raise
        yield completion

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _next_reply(self, prompt: Prompt) -> Reply:
        script = self.replies.popleft() if self.replies else self.default
        if script is None:
            raise ModelRefused("the script has no reply left", hint=f"add one for the step {prompt.step}")
        return await script(prompt) if callable(script) else script


def _pieces(reply: Reply) -> Iterable[Piece]:
    return (reply,) if isinstance(reply, str | Exception) else reply


def _said(piece: str | Exception) -> str:
    if isinstance(piece, Exception):
        raise piece
    return piece
