"""The tests' models: one that echoes or follows a script, one that plays on a clock, and answers let out by hand."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from daemon.core.errors import ModelRefused
from daemon.core.perception import Audience
from daemon.core.ports.services import Completion, ModelRole, Prompt
from daemon.llm.placeholder import newest_messages
from tests.fakes import FakeClock
from tests.given import tagged

Piece: TypeAlias = str | Completion | Exception
Reply: TypeAlias = str | Iterable[Piece] | Exception
Script: TypeAlias = Reply | Callable[[Prompt], Awaitable[Reply]]


class ScriptedLLM:
    """An `LLM` with a queue of replies; `prompts` keeps every prompt it got, oldest first.

    A reply is a text, a series of pieces (an exception among them breaks the stream there, a Completion ends it), an
    exception to raise at once, or an async function that takes the prompt and returns one of these. When the queue is
    empty the `default` answers; without one the call fails with ModelRefused. Like a real model it stops at the
    prompt's `max_output_tokens`, at so many characters a token.
    """

    characters_per_token = 8  # as many as `ResilientLLM` lets pass

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
        return self._completion.model

    def step_models(self) -> Mapping[str, str]:
        return {}

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        return (self.model_for(role),)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`; `cut` counts the streams that were closed or cancelled before their end."""
        self.prompts.append(prompt)
        completion = self._completion
        try:
            room = prompt.max_output_tokens * self.characters_per_token
            for piece in _pieces(await self._next_reply(prompt)):
                if isinstance(piece, Completion):
                    completion = piece
                    break
                text = _text_of(piece)
                yield text[:room]
                if len(text) > room:
                    completion = replace(completion, stop="length")
                    break
                room -= len(text)
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


class Flow:
    """An answer that a test lets out piece by piece; `asked` is set once the model was called, `read` at each piece."""

    def __init__(self) -> None:
        self.asked, self.read = asyncio.Event(), asyncio.Event()
        self.taken: list[str] = []
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue()

    def say(self, *pieces: Piece) -> None:
        """Let out more; an exception breaks the stream there."""
        for piece in pieces:
            self._pieces.put_nowait(piece)

    def end(self, *pieces: Piece) -> None:
        self.say(*pieces)
        self._pieces.put_nowait(None)

    async def pieces(self) -> AsyncGenerator[str, None]:
        """What was let out so far, and then the rest as it comes."""
        self.asked.set()
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            assert isinstance(piece, str)
            self.taken.append(piece)
            self.read.set()
            yield piece


class FakeModel(ScriptedLLM):
    """A scripted model that echoes the newest message when the script is empty.

    `flows` are used first, by the steps that speak and have no script of their own; `voices` answer by words of the
    prompt, in any order, and `steps` by the cognitive step that asks, each in its own order. `closed` counts the calls
    that ended.
    """

    def __init__(
        self, *, default: Script | None = None, model: str = "scripted/test", usage: Completion | None = None
    ) -> None:
        super().__init__(default=default or echo, model=model, usage=usage)
        self.flows: list[Flow] = []
        self.voices: dict[str, Flow] = {}
        self.steps: defaultdict[str, deque[Script]] = defaultdict(deque)
        self.closed = 0

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        try:
            flow = self._flow(prompt)
            if flow is None:
                async for piece in super().stream(prompt):
                    yield piece
                return
            self.prompts.append(prompt)
            try:
                async for text in flow.pieces():
                    yield text
            except (GeneratorExit, asyncio.CancelledError):
                self.cut += 1
                raise
            yield Completion(self.model_for(ModelRole.PERSONA), 1, 0, 1)
        finally:
            self.closed += 1

    async def _next_reply(self, prompt: Prompt) -> Reply:
        own = self.steps[prompt.step]
        if not own:
            return await super()._next_reply(prompt)
        script = own.popleft()
        return await script(prompt) if callable(script) else script

    def _flow(self, prompt: Prompt) -> Flow | None:
        for words, flow in self.voices.items():
            if words in prompt.messages[-1].text:
                return flow
        speaks = prompt.role is ModelRole.PERSONA and not self.steps[prompt.step]
        return self.flows.pop(0) if self.flows and speaks else None


async def echo(prompt: Prompt) -> Reply:
    """Echoes the newest messages, or answers no where a schema asks."""
    if prompt.step == "close_episode":
        return prompt.placeholder
    if prompt.json_schema is not None:
        return '{"holds": false}'
    words = " + ".join(newest_messages(prompt))
    return tagged(f"Echo: {words}") if prompt.role is ModelRole.PERSONA else f"They said: {words}"


@dataclass
class PacedModel:
    """An `LLM` that plays one script per call: text, an event to wait for, an error, an end."""

    scripts: list[list[Piece | asyncio.Event]]
    clock: FakeClock
    prompts: list[Prompt] = field(default_factory=list)
    closed: int = 0

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Play the next script; a quarter of a second passes before each piece."""
        self.prompts.append(prompt)
        try:
            for piece in self.scripts.pop(0):
                await self.clock.sleep(0.25)
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, asyncio.Event):
                    await piece.wait()
                else:
                    yield piece
        finally:
            self.closed += 1

    def model_for(self, role: ModelRole) -> str:
        return f"fake/{role}"

    def step_models(self) -> Mapping[str, str]:
        return {}

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        return (self.model_for(role),)


def after(event: asyncio.Event, reply: Reply) -> Callable[[Prompt], Awaitable[Reply]]:
    """A reply that waits for an event; an event that is never set makes a model that hangs."""

    async def script(_: Prompt) -> Reply:
        await event.wait()
        return reply

    return script
