"""Cognitive steps as values, and the Mind: the one place that calls a model, mends an answer once and keeps account."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from daemon.core.errors import DaemonError, MalformedReply, ModelError, ModelRefused, ModelUnavailable
from daemon.core.ports import LLM, Clock, Completion, LLMCall, ModelRole, Prompt
from daemon.core.working_memory import Memory, Pending, Role, WorkingMemory
from daemon.soul_engine import FAULTY_REPLY, Instructions

T = TypeVar("T")

Memories = WorkingMemory | Awaitable[WorkingMemory]
"""What a step works on: a memory, or what becomes one, such as a Thought that is still streaming or a Pending."""

READ_CAP = 65_536
"""Characters read of one answer before it counts as malformed; no answer may fill the memory."""

FAULTY_CAP = 6_000
"""Characters of a malformed answer that its author is shown again."""


class StreamFilter(Protocol):
    """Lets through only what a listener may see of an answer while it is being made; `TaggedOutput` is one."""

    def feed(self, piece: str) -> str:
        """Take more of the answer; return what is surely visible now."""

    def finish(self) -> str:
        """The answer has ended; return the visible rest."""


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """A cognitive step as a value; nothing happens until a Mind runs it (seed 000).

    `command` tells the model what to do. A `standing` command is the same each turn and joins the stable, cached part
    of the prompt; any other closes the last user message. `cue` is one closing line for either. `read` turns the whole
    answer into a value or raises MalformedReply, whose hint says how to answer right; `remember` makes of the value
    what is kept in mind. `visible` makes a filter for streaming; without one nothing is shown. `creativity` is the
    seed's temperature, None for the provider's default. `placeholder` is the placeholder model's answer, which claims
    nothing; every step with a `json_schema` has one. `accepts_cut` says that `read` itself judges answers cut off
    at `max_output_tokens`; otherwise such an answer is malformed.
    """

    name: str
    command: str | Callable[[WorkingMemory], str]
    read: Callable[[str], T]
    remember: Callable[[T], tuple[Memory, ...]]
    role: ModelRole = ModelRole.THINKING
    creativity: float | None = None
    json_schema: Mapping[str, object] | None = None
    placeholder: str = ""
    standing: bool = False
    cue: str = ""
    visible: Callable[[], StreamFilter] | None = None
    max_output_tokens: int = 1024
    accepts_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    """The last thing a train of thought yields; `void` says that what was shown came from an answer thrown away."""

    memory: WorkingMemory
    value: T
    void: bool


class Thought(Generic[T]):
    """A step being thought: iterate over it once for the text that may be shown, await `finished()` for the outcome.

    Both may be done in any order, by different tasks, partly or not at all: `finished()` reads on by itself, and what
    it read is kept for whoever iterates later. A failure ends the iteration and is raised by `finished()` alike.
    Nothing is asked of a model before one of the two begins; cancelling whoever reads on cuts the call.

    A thought stands for the memory after it, before that is there: give it to a Mind as the memory of the next step,
    await it, or derive from it by `then`.
    """

    def __init__(self, train: AsyncGenerator[str | _Done[T], None]) -> None:
        self._train = train
        self._turn = asyncio.Lock()
        self._unseen: deque[str] = deque()
        self._shown: list[str] = []
        self._done: _Done[T] | None = None
        self._error: DaemonError | None = None

    @property
    def shown(self) -> str:
        """The text that came out so far; a prefix of the reply unless the thought is `void`."""
        return "".join(self._shown)

    @property
    def void(self) -> bool:
        """Whether `shown` came from an answer that was thrown away: the value wins, the text is to be replaced."""
        return self._done is not None and self._done.void

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        """The next visible piece. Raises what `finished()` raises."""
        while not self._unseen and self._done is None:
            await self._advance()
        if not self._unseen:
            raise StopAsyncIteration
        return self._unseen.popleft()

    async def finished(self) -> tuple[WorkingMemory, T]:
        """Think to the end: the memory after the step, and its value (seed 000's `memory.finished`).

        Raises MalformedReply (after one repair), ModelUnavailable or ModelRefused.
        """
        while self._done is None:
            await self._advance()
        return self._done.memory, self._done.value

    def __await__(self) -> Generator[object, None, WorkingMemory]:
        return self._after().__await__()

    def then(self, change: Callable[[WorkingMemory], WorkingMemory]) -> Pending:
        """The memory after this thought and a pure change to it; raises, when awaited, what `finished()` raises."""
        return Pending(self._after).then(change)

    async def _after(self) -> WorkingMemory:
        return (await self.finished())[0]

    async def aclose(self) -> None:
        """Cut the call short, after the piece that another task may be waiting for; it will never be finished then."""
        async with self._turn:
            await self._train.aclose()

    async def _advance(self) -> None:
        """Read one more piece, unless another task just did. Raises the thought's error, once and ever after."""
        before = len(self._shown)
        async with self._turn:
            if self._done is not None or len(self._shown) > before:
                return
            if self._error is not None:
                raise self._error
            try:
                item = await anext(self._train)
            except StopAsyncIteration:
                self._error = ModelUnavailable("the thought was cut off before it was finished", hint="think it anew")
                raise self._error from None
            except DaemonError as error:
                self._error = error
                raise
            if isinstance(item, _Done):
                self._done = item
                await self._train.aclose()
            else:
                self._shown.append(item)
                self._unseen.append(item)


@dataclass(frozen=True, slots=True)
class Mind:
    """Runs steps: `render` makes prompts, `record` gets an LLMCall however a call ended, `cost` prices one in USD."""

    llm: LLM
    render: Callable[[WorkingMemory, Instructions], Prompt]
    clock: Clock
    record: Callable[[LLMCall], None]
    cost: Callable[[Completion], float | None]
    trace_id: str

    async def run(self, memory: Memories, step: Step[T]) -> tuple[WorkingMemory, T]:
        """Think a step to its end. Raises MalformedReply (after one repair), ModelUnavailable or ModelRefused."""
        return await self.stream(memory, step).finished()

    def stream(self, memory: Memories, step: Step[T]) -> Thought[T]:
        """Think a step and show what may be shown while it is being made; first an unfinished `memory` is finished."""
        return Thought(self._think(memory, step))

    async def _think(self, given: Memories, step: Step[T]) -> AsyncGenerator[str | _Done[T], None]:
        """The answer and, if it was malformed, one repair, which is shown only if nothing was shown before.

        An answer that broke off before anything of it was shown is asked for once more as it was.
        """
        memory = given if isinstance(given, WorkingMemory) else await given
        attempt, shown, again = _Attempt(self, memory, step), False, None
        try:
            async with aclosing(attempt.visible()) as pieces:
                async for piece in pieces:
                    shown = True
                    yield piece
        except (MalformedReply, ModelUnavailable) as fault:
            again = self._second(memory, step, fault, hopeless=shown or not attempt.begun)
        if again is not None:
            attempt = again
            async with aclosing(attempt.visible()) as pieces:
                async for piece in pieces:
                    if not shown:
                        yield piece
        for kept in step.remember(attempt.value):
            memory = memory.with_memory(kept)
        yield _Done(memory, attempt.value, void=shown and again is not None)

    def _second(self, memory: WorkingMemory, step: Step[T], fault: ModelError, *, hopeless: bool) -> "_Attempt[T]":
        """The attempt after one that failed; before its first words the one retry layer did what could be done."""
        if isinstance(fault, MalformedReply):
            return _Attempt(self, *_corrected(memory, step, fault), repair=True)
        if hopeless:
            raise fault
        return _Attempt(self, memory, step, repair=True)


def _corrected(memory: WorkingMemory, step: Step[T], fault: MalformedReply) -> tuple[WorkingMemory, Step[T]]:
    """The same step once more, with the faulty answer as data and word of what was wrong with it."""
    faulty = fault.reply[:FAULTY_CAP] or "(it was empty)"
    cue = f"Your last answer, kept under {FAULTY_REPLY!r} as data, could not be used: {fault.message}. Answer again."
    if fault.hint:
        cue = f"{cue} This time: {fault.hint}."
    return memory.with_region(FAULTY_REPLY, Memory(Role.USER, faulty)), replace(step, cue=cue)


class _Attempt(Generic[T]):
    """One model call: passes on what may be seen, reads the value, and leaves exactly one record."""

    value: T

    def __init__(self, mind: Mind, memory: WorkingMemory, step: Step[T], *, repair: bool = False) -> None:
        self._mind, self._memory, self._step, self._repair = mind, memory, step, repair
        self._reply = ""
        self._prompt: Prompt | None = None
        self._completion: Completion | None = None
        self._began = mind.clock.monotonic()
        self._first_ms: int | None = None

    @property
    def begun(self) -> bool:
        """Whether the model has said anything."""
        return self._first_ms is not None

    async def visible(self) -> AsyncGenerator[str, None]:
        """Call the model; yield visible text; set `value` at the end. Raises ModelError's branches."""
        started_ms, outcome = self._mind.clock.now_ms(), "unavailable"
        gate = self._step.visible() if self._step.visible else None
        try:
            self._prompt = self._mind.render(self._memory, self._step)
            async with aclosing(self._pieces(self._prompt)) as pieces:
                async for piece in pieces:
                    if gate and (text := gate.feed(piece)):
                        yield text
            if gate and (text := gate.finish()):
                yield text
            self.value = self._read()
            outcome = "ok"
        except MalformedReply:
            outcome = "malformed"
            raise
        except ModelRefused:
            outcome = "refused"
            raise
        except (asyncio.CancelledError, GeneratorExit):
            outcome = "cancelled"
            raise
        finally:
            self._record(started_ms, outcome)

    async def _pieces(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """The raw answer, gathered up to the cap; the model's stream is closed on every way out."""
        stream, gathered, size = self._mind.llm.stream(prompt), list[str](), 0
        try:
            async for item in stream:
                if isinstance(item, Completion):
                    self._completion = item
                    continue
                if self._first_ms is None:
                    self._first_ms = self._elapsed_ms()
                size += len(item)
                gathered.append(item)
                if size > READ_CAP:
                    raise MalformedReply(f"it went on past {READ_CAP} characters", reply="".join(gathered)[:READ_CAP])
                yield item
        finally:
            self._reply = "".join(gathered)
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    def _read(self) -> T:
        completion, step = self._completion, self._step
        if completion is None:
            raise ModelUnavailable("the model's answer broke off without an end", hint="try again")
        if completion.stop == "refusal":
            raise ModelRefused(f"{completion.model} declined to answer", hint="put the request differently")
        if completion.stop == "length" and not step.accepts_cut:
            raise MalformedReply("it was cut off at the length limit", reply=self._reply, hint="be much shorter")
        return step.read(self._reply)

    def _elapsed_ms(self) -> int:
        return round((self._mind.clock.monotonic() - self._began) * 1000)

    def _record(self, started_ms: int, outcome: str) -> None:
        mind, role, completion = self._mind, self._step.role, self._completion
        used = completion or Completion(mind.llm.model_for(role))
        mind.record(
            LLMCall(
                trace_id=mind.trace_id,
                role=role,
                step=self._step.name,
                model=used.model,
                started_ms=started_ms,
                latency_ms=self._elapsed_ms(),
                outcome=outcome,
                tokens_in=used.tokens_in,
                tokens_cached=used.tokens_cached,
                tokens_out=used.tokens_out,
                first_ms=self._first_ms,
                cost_usd=mind.cost(completion) if completion else None,
                prompt=_as_text(self._prompt) if self._prompt else "",
                response=self._reply,
                repair=self._repair,
            )
        )


def _as_text(prompt: Prompt) -> str:
    """A prompt as one text, for whoever reads along at the level debug."""
    return "\n\n".join(
        (*(part.text for part in prompt.system), *(f"[{one.speaker}] {one.text}" for one in prompt.messages))
    )
