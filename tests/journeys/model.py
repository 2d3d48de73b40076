"""The model of the journeys: it answers as scripted, piece by piece where a test wants to stand in between."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable

from daemon.core.ports import Completion, ModelRole, Prompt
from daemon.core.working_memory import estimate_tokens
from daemon.llm.placeholder import newest_messages
from tests.fakes import Piece, Reply, Script, ScriptedLLM


def tagged(reply: str, *, monologue: str = "Let me see.", learned: bool = False, moved: bool = False) -> str:
    """An answer in the form of the fixed pipeline; what it taught of the person and did to the soul as its checks."""
    return (
        "<stimulus_verb>asked</stimulus_verb>\n"
        f'<internal_monologue verb="thought">{monologue}</internal_monologue>\n'
        f'<external_dialogue verb="said">{reply}</external_dialogue>\n'
        f"<user_model_check>{str(learned).lower()}</user_model_check>\n"
        f"<soul_state_check>{str(moved).lower()}</soul_state_check>"
    )


OPENING = '<internal_monologue verb="thought">Hm.</internal_monologue><external_dialogue verb="said">'
CLOSING = "</external_dialogue>"


class Flow:
    """A reply whose pieces a test lets out one by one; `asked` is set once the model was called."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue()

    def say(self, *pieces: Piece) -> None:
        """Let out more; an exception breaks the stream there."""
        for piece in pieces:
            self._pieces.put_nowait(piece)

    def end(self, *pieces: Piece) -> None:
        """Let out the rest."""
        self.say(*pieces)
        self._pieces.put_nowait(None)

    async def pieces(self) -> AsyncGenerator[str, None]:
        """What was let out so far, and then the rest as it comes."""
        self.asked.set()
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            assert isinstance(piece, str)
            yield piece


class Actor(ScriptedLLM):
    """A scripted model that echoes what it heard last when the script is empty.

    `flows` are used first, by the steps that speak; `voices` answer by what a prompt holds, whatever the order, and
    `steps` by the cognitive step that asks, each in its own order.
    """

    def __init__(self, *, model: str = "scripted/test", usage: Completion | None = None) -> None:
        super().__init__(default=echo, model=model, usage=usage)
        self.flows: list[Flow] = []
        self.voices: dict[str, Flow] = {}
        self.steps: defaultdict[str, deque[Script]] = defaultdict(deque)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`."""
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
        return self.flows.pop(0) if self.flows and prompt.role is ModelRole.PERSONA else None


async def echo(prompt: Prompt) -> Reply:
    """The usual answer: the words heard, or what a schema asks for."""
    if prompt.json_schema is not None:
        return '{"true": false}'
    heard = " + ".join(newest_messages(prompt))
    return tagged(f"Echo: {heard}") if prompt.role is ModelRole.PERSONA else f"They said: {heard}"


def after(event: asyncio.Event, reply: Reply) -> Callable[[Prompt], Awaitable[Reply]]:
    """A reply that waits for an event; `asyncio.Event()` never set makes a model that hangs."""

    async def script(_: Prompt) -> Reply:
        await event.wait()
        return reply

    return script


def shown(prompt: Prompt) -> str:
    """Everything a model was shown in one call."""
    return "\n".join([part.text for part in prompt.system] + [message.text for message in prompt.messages])


def tokens(prompt: Prompt) -> int:
    """About how long a prompt is."""
    return sum(estimate_tokens(part.text) for part in prompt.system) + sum(
        estimate_tokens(message.text) for message in prompt.messages
    )
