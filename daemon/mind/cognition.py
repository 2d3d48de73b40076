"""The Mind, the one place that calls a model: it runs steps, repairs a bad answer, and records each call."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from msgspec import field
from msgspec.structs import replace

from daemon.core.errors import (
    CutShort,
    MalformedReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    OnlyThought,
    WrongOpening,
)
from daemon.core.perception import Audience
from daemon.core.ports.services import LLM, Clock, Completion, Cost, LLMCall, ModelRole, Prompt
from daemon.core.step import AnswerForm, Step
from daemon.core.value import Value
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.matter import Finished, Thought
from daemon.mind.reply import AnswerFilter
from daemon.soul_engine import FAULTY_REPLY, heading

T = TypeVar("T")

FAULTY_CAP = 6_000
"""The most characters of a malformed answer that the model is shown when it is asked again."""

_SHORTER = "(Your last answer met its length limit before anything was said: be much shorter.)"


def reopened(step: Step[T], fault: WrongOpening) -> Step[T]:
    """Return the step with the fault of its reply's opening as a cue, and without another check of it."""
    cue = f"{step.cue}\n\n" if step.cue else ""
    return replace(step, opening=None, cue=f"{cue}(Your last answer was not shown: {fault.message}.)")


def corrected(memory: WorkingMemory, step: Step[T], fault: MalformedReply) -> tuple[WorkingMemory, Step[T]]:
    """Return the step's own repair, or the step again with the faulty answer and its fault."""
    if step.repair is not None:
        return memory, replace(step.repair(), cue=_SHORTER if isinstance(fault, CutShort) else "")
    faulty = fault.reply[:FAULTY_CAP] or "(it was empty)"
    where = heading(FAULTY_REPLY)
    cue = f'What stands under "{where}" could not be used: {fault.message}. Answer again.'
    if fault.hint:
        cue = f"{cue} This time: {fault.hint}."
    return memory.with_region(FAULTY_REPLY, Memory(Role.USER, faulty)), replace(step, cue=cue)


READ_CAP = 65_536
"""The most characters read of one answer before it counts as malformed. Longer answers could fill the memory."""


async def _no_caps(_prompt: Prompt) -> str:
    return ""


class Mind(Value):
    """The runner of steps.

    `render` makes prompts, `record` receives an LLMCall however it ended, `cost` prices a call. If a model fails
    before its answer was shown, the next allowed model is asked. `reserve` sets aside what a call can cost and returns
    the id under which `record` settles it. It raises CapMet where a cap of the day leaves no room; then a cheaper
    model may be asked. `habits` hold what is known of the models. `audience` is the audience whose words the prompts
    may hold. It decides which models may be asked (None: only the roles' own). `rooms` are private rooms whose words
    they may hold, too. Every answer passes an AnswerFilter.
    """

    llm: LLM
    render: Callable[[WorkingMemory, Step[Any]], Prompt]  # a step of any value
    clock: Clock
    record: Callable[[LLMCall], None]
    cost: Callable[[Completion], Cost | None]
    trace_id: str
    habits: dict[str, ModelHabit] = field(default_factory=dict)
    audience: Audience | None = None
    rooms: Sequence[Audience] = ()
    reserve: Callable[[Prompt], Awaitable[str]] = _no_caps

    def models(self, role: ModelRole, step: str = "") -> tuple[str, ...]:
        """Return the models that may be asked for a role now, best first, at least one.

        A model that the admin named for the step comes first, and the role's models follow.
        """
        own = self.llm.step_models().get(step)
        models = self.llm.candidates(role, self.audience)
        for room in self.rooms[:1]:  # what one kind of audience allows is the same for each room
            of_rooms = self.llm.candidates(role, room)
            models = tuple(one for one in models if one in of_rooms)
        models = models or (self.llm.model_for(role),)
        return models if own is None else tuple(dict.fromkeys((own, *models)))

    def habit(self, role: ModelRole, step: str = "") -> ModelHabit:
        return self.habit_of(self.models(role, step)[0])

    def habit_of(self, model: str) -> ModelHabit:
        return self.habits.get(model, ModelHabit(model))

    async def run(self, memory: WorkingMemory, step: Step[T]) -> tuple[WorkingMemory, T]:
        """Run a step to its end.

        Raises MalformedReply (after one repair), ModelUnavailable, ModelRefused or CapMet.
        """
        return await self.stream(memory, step).finished()

    def stream(self, memory: WorkingMemory, step: Step[T]) -> Thought[T]:
        return Thought(self._think(memory, step))

    async def _think(self, memory: WorkingMemory, step: Step[T]) -> AsyncGenerator[str | Finished[T], None]:
        """Yield the answer, after one repair if it was malformed, and from the next model where one fails unseen.

        After a failed attempt whose text was shown, later attempts show nothing: the draft is replaced at its end.
        """
        attempt, shown = _Attempt(self, memory, step, self.models(step.role, step.name)), False
        while True:
            hidden = shown
            try:
                async with aclosing(attempt.visible(hidden=hidden)) as pieces:
                    async for piece in pieces:
                        if not hidden:
                            shown = True
                            yield piece
                break
            except ModelError as fault:
                attempt = self._next(memory, step, attempt, fault, shown=shown)
        for remembered in step.remember(attempt.value):
            memory = memory.with_memory(remembered)
        void = hidden or (shown and attempt.withdrawn)
        yield Finished(memory, attempt.value, void=void, cut=attempt.cut)

    def _next(
        self, memory: WorkingMemory, step: Step[T], failed: "_Attempt[T]", fault: ModelError, *, shown: bool
    ) -> "_Attempt[T]":
        """Return the attempt after a failed one. Raises its fault where there is none.

        The retry layer already retried a call that failed before its first piece. An answer that broke off is
        requested once more, from the next model if nothing was shown. A shown draft is replaced, but after a refusal
        nothing else is said.
        """
        if isinstance(fault, WrongOpening):
            return _Attempt(self, memory, reopened(step, fault), failed.models, repair=failed.repair)
        if isinstance(fault, MalformedReply) and not failed.repair:
            return _Attempt(self, *corrected(memory, step, fault), failed.models, repair=True)
        if isinstance(fault, MalformedReply) or (shown and not isinstance(fault, ModelUnavailable)):
            raise fault
        others = () if shown else failed.models[1:]
        if others:
            return _Attempt(self, memory, step, others)
        if isinstance(fault, ModelUnavailable) and failed.begun and not failed.repair:
            return _Attempt(self, memory, step, failed.models, repair=True)
        raise fault


class _Attempt(Generic[T]):
    """One call of the first of some models, which streams visible text, reads the value and leaves one record."""

    value: T

    def __init__(
        self, mind: Mind, memory: WorkingMemory, step: Step[T], models: tuple[str, ...], *, repair: bool = False
    ) -> None:
        self._mind, self._memory, self._step = mind, memory, step
        self.models, self.repair = models, repair
        self._reply = ""
        self._habit = mind.habit_of(models[0])
        self._filter = AnswerFilter(step, self._habit)
        self._kept_form: bool | None = None
        self._prompt: Prompt | None = None
        self._reservation: str | None = None  # as long as nothing is reserved, nothing is asked
        self._completion: Completion | None = None
        self._began = mind.clock.monotonic()
        self._first_ms: int | None = None
        self._weighed: str | None = None
        self._led: list[T] = []  # the value, where the first element decides it

    @property
    def _ended_early(self) -> bool:
        return bool(self._led) and self._completion is None

    @property
    def begun(self) -> bool:
        return self._first_ms is not None

    @property
    def withdrawn(self) -> bool:
        return self._filter.withdrawn

    @property
    def cut(self) -> bool:
        return self._completion is not None and self._completion.stop == "length"

    def _stands(self, *, seen: bool) -> bool:
        """Return whether an answer that broke off had said all its words. If so, `value` is set to its complete part.

        A thought goes on long after its speech, which people have `seen` already. Some servers never mark the end of
        an answer, which looks like a break. Such an answer is whole if every opened element is closed.
        """
        said = seen and self._step.form is AnswerForm.COGNITION
        if not (said or self._filter.closed):
            return False
        try:
            self.value = self._step.read(self._filter.answer)
        except MalformedReply:
            return False
        return True

    async def visible(self, *, hidden: bool) -> AsyncGenerator[str, None]:
        """Call the model, yield visible text, and set `value` at the end. Raises ModelError."""
        started_ms, outcome = self._mind.clock.now_ms(), "unavailable"
        try:
            async with aclosing(self._said(hidden=hidden)) as pieces:
                async for piece in pieces:
                    yield piece
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

    async def _said(self, *, hidden: bool) -> AsyncGenerator[str, None]:
        seen = False
        try:
            rendered = self._mind.render(self._memory, self._step)
            self._prompt = replace(rendered, model=self.models[0], standby=len(self.models) > 1)
            self._reservation = await self._mind.reserve(self._prompt)
            async with aclosing(self._pieces(self._prompt)) as pieces:
                async for piece in pieces:
                    text = self._filter.feed(piece)
                    if self._is_led():
                        break
                    self._require_opening()
                    if text:
                        seen = not hidden
                        yield text
            rest = "" if self._led else self._filter.finish()
            self._require_opening()
            self.value = self._value_read()
            if rest and not self._led:
                yield rest
        except ModelUnavailable:
            if not self._stands(seen=seen):
                raise

    async def _pieces(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """Yield the raw answer, kept up to the cap. The model's stream is closed on every way out."""
        stream, received, size = self._mind.llm.stream(prompt), list[str](), 0
        try:
            async for item in stream:
                if isinstance(item, Completion):
                    self._completion = item
                    continue
                if self._first_ms is None:
                    self._first_ms = self._elapsed_ms()
                size += len(item)
                received.append(item)
                if size > READ_CAP:
                    raise MalformedReply(f"it went on past {READ_CAP} characters", reply="".join(received)[:READ_CAP])
                yield item
        finally:
            self._reply = "".join(received)
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    def _is_led(self) -> bool:
        """Return whether the answer's first element decides its value. Then nothing of the answer is shown."""
        lead = self._filter.lead
        if self._step.lead is None or lead is None or lead == self._weighed:
            return bool(self._led)
        self._weighed = lead
        self._led = [value] if (value := self._step.lead(lead)) is not None else []
        return bool(self._led)

    def _require_opening(self) -> None:
        """Raise WrongOpening for a fault of the reply's opening tag, before a word of the reply is shown."""
        opening, judge = self._filter.opening, self._step.opening
        if judge is not None and opening and not self._led and (fault := judge(opening)):
            raise WrongOpening(fault)

    def _value_read(self) -> T:
        completion, step, answer = self._completion, self._step, self._filter.answer
        if self._ended_early:
            return self._led[0]
        if completion is None:
            raise ModelUnavailable("the model's answer broke off without an end", hint="try again")
        if completion.stop == "refusal":
            raise ModelRefused(f"{completion.model} declined to answer", hint="put the request differently")
        if self._is_led():
            return self._led[0]
        try:
            value = self._read_cut(answer) if self.cut else step.read(answer)
        except MalformedReply as fault:
            self._kept_form = False if step.form is AnswerForm.ELEMENTS and not self.cut else None
            if self.cut:
                kind = OnlyThought if self._filter.only_reasons else CutShort
                raise kind("it was cut off at the length limit", reply=answer, hint="be much shorter") from fault
            raise
        self._kept_form = True if step.form is AnswerForm.ELEMENTS else None
        return value

    def _read_cut(self, answer: str) -> T:
        """Return the value of an answer that was cut off. Raises MalformedReply where it can't have one.

        Speech without a mark of reasoning may be reasoning itself, unless the model is known to write none.
        """
        step = self._step
        doubtful = step.form is AnswerForm.SPEECH and step.visible is not None and not self._filter.reasoned
        if step.read_cut is None or (doubtful and not self._habit.streams_speech):
            raise MalformedReply("it was cut off at the length limit", reply=answer)
        return step.read_cut(answer)

    def _thought_aloud(self) -> bool | None:
        """Return whether the answer held reasoning that looked like speech, or None where that is unknown."""
        speaks = self._step.json_schema is None or self._step.form is AnswerForm.COGNITION
        if not speaks or self._completion is None:
            return None
        return True if self._filter.thought_aloud else None if self.cut else False

    def _elapsed_ms(self) -> int:
        return round((self._mind.clock.monotonic() - self._began) * 1000)

    def _estimate(self, outcome: str) -> Completion:
        """Estimate the use of a call that was cut off before its provider reported it, nothing if it failed at once."""
        if self._prompt is None or not (self.begun or outcome == "cancelled"):
            return Completion(self.models[0])
        asked = estimate_tokens(_as_text(self._prompt))
        return Completion(self.models[0], tokens_in=asked, tokens_out=estimate_tokens(self._reply))

    def _record(self, started_ms: int, outcome: str) -> None:
        """Leave the one record. A call that was not made, since nothing could be reserved for it, has none."""
        if self._reservation is None:
            return
        mind, role = self._mind, self._step.role
        used = self._completion or self._estimate(outcome)
        cost = mind.cost(used) if self._completion or used.tokens_in else None
        call = LLMCall(
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
            cost_usd=cost.usd if cost else None,
            cost_bound=cost is not None and cost.bound,
            prompt=_as_text(self._prompt) if self._prompt else "",
            response=self._reply,
            repair=self.repair,
            kept_form=self._kept_form,
            thought_aloud=self._thought_aloud(),
            reservation=self._reservation or "",
        )
        mind.record(call)
        mind.habits[call.model] = mind.habits.get(call.model, ModelHabit(call.model)).after(call)


def _as_text(prompt: Prompt) -> str:
    return "\n\n".join(
        (*(part.text for part in prompt.system), *(f"[{one.speaker}] {one.text}" for one in prompt.messages))
    )
