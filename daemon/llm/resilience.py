"""The deadlines, size limits, retries and circuit breakers of every model call."""

import math
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential, wait_random_exponential

from daemon.core.concurrency import moving_limit, within
from daemon.core.errors import ModelRefused, ModelUnavailable, StillLoading, of_machine
from daemon.core.perception import Audience
from daemon.core.ports.services import Clock, Completion, Emit, ModelRole, Prompt
from daemon.core.repetition import Repetition
from daemon.core.value import Value
from daemon.llm.answers import Vendor, parse_model_id
from daemon.llm.endpoint import ClosableLLM, PieceCleaner, listening

FAILURES_TO_OPEN = 5
TIMEOUTS_TO_OPEN = 3
REST_SECONDS = 30.0
LONGEST_REST_SECONDS = 300.0

RETRY_SHARE = 0.1
FEWEST_RETRIES = 3
WINDOW_SECONDS = 60.0


class CircuitState(Enum):
    """The state of a circuit: closed passes calls on, open refuses them, half-open passes one probe on."""

    CLOSED = auto()
    OPEN = auto()
    HALF_OPEN = auto()


class Permit(Value):
    """The right to make one call. `probe` marks the one call that tests the vendor."""

    probe: bool


class Circuit:
    """The circuit breaker of a vendor.

    It opens after five failures or three timeouts in a row, and after a pause lets one probe through. Errors of a
    single request don't count: they show that the vendor works. Times are `Clock.monotonic` seconds.
    """

    def __init__(self, vendor: str) -> None:
        self._vendor = vendor
        self._failures = 0
        self._timeouts = 0
        self._open_until: float | None = None
        self._probing = False

    def state(self, now: float) -> CircuitState:
        if self._open_until is None:
            return CircuitState.CLOSED
        return CircuitState.OPEN if now < self._open_until else CircuitState.HALF_OPEN

    def admit(self, now: float) -> Permit:
        """Permit one call. Raises ModelUnavailable with the seconds left while the circuit is open."""
        if self._open_until is None:
            return Permit(probe=False)
        left = max(0.0, self._open_until - now)
        if left > 0 or self._probing:
            when = f"in {math.ceil(left)} s" if left > 0 else "right now"
            raise ModelUnavailable(
                f"{self._vendor} failed several times in a row and is tried again {when}",
                hint=f"look at {self._vendor}'s status page and at earlier log lines",
                retry_after=left,
            )
        self._probing = True
        return Permit(probe=True)

    def succeeded(self) -> bool:
        """Record an answer. Returns True if that closed the circuit."""
        was_open = self._open_until is not None
        self._failures = self._timeouts = 0
        self._open_until = None
        self._probing = False
        return was_open

    def failed(self, permit: Permit, now: float, *, timed_out: bool = False, retry_after: float | None = None) -> bool:
        """Count a failure. Returns True if it opened the circuit. `retry_after` prolongs the pause, to five minutes."""
        if self._open_until is not None and not permit.probe:
            return False  # the call began before the circuit opened
        self._failures += 1
        self._timeouts = self._timeouts + 1 if timed_out else 0
        if not (permit.probe or self._failures >= FAILURES_TO_OPEN or self._timeouts >= TIMEOUTS_TO_OPEN):
            return False
        self._open_until = now + min(max(REST_SECONDS, retry_after or 0.0), LONGEST_REST_SECONDS)
        self._probing = False
        return True

    def abandoned(self, permit: Permit) -> None:
        """Record a call that ended without a result. After a probe the next call may probe."""
        if permit.probe:
            self._probing = False


class RetryBudget:
    """The retry budget of a vendor: a tenth of its calls in the last minute, and at least three."""

    def __init__(self) -> None:
        self._calls: deque[float] = deque()
        self._retries: deque[float] = deque()

    def call(self, now: float) -> None:
        self._calls.append(now)
        self._forget(now)

    def take(self, now: float) -> bool:
        self._forget(now)
        if len(self._retries) >= max(FEWEST_RETRIES, int(RETRY_SHARE * len(self._calls))):
            return False
        self._retries.append(now)
        return True

    def _forget(self, now: float) -> None:
        for times in (self._calls, self._retries):
            while times and times[0] <= now - WINDOW_SECONDS:
                times.popleft()


ATTEMPTS = 3
BYTES_PER_TOKEN = 8
FEWEST_BYTES = 4096

PATIENCE_SECONDS = 5.0
"""Seconds from the start of a call within which it is retried if a fallback model exists."""

_JITTER = wait_random_exponential(multiplier=0.5, max=8)
_WHILE_LOADING = wait_exponential(multiplier=1, max=10)


class CallLimits(Value):
    """The seconds for a whole call with its retries, and for a silence within it.

    Any byte ends a silence. Before the first byte a call may be silent to its end, unless a fallback model exists.
    """

    total: float
    silence: float


@dataclass(slots=True)
class _Guard:
    circuit: Circuit
    budget: RetryBudget = field(default_factory=RetryBudget)


@dataclass(slots=True)
class _Call:
    """One call to a model: several attempts, one deadline."""

    prompt: Prompt
    model: str
    guard: _Guard
    deadline: float
    retry_until: float


@dataclass(slots=True)
class _Attempt:
    """A request, then its first text, or its Completion if it had no text. `heard` is the time of its last byte."""

    pieces: AsyncIterator[str | Completion]
    permit: Permit
    clock: Clock
    heard: float | None
    first: str | Completion = ""

    def hear(self) -> None:
        self.heard = self.clock.monotonic()


class ResilientLLM:
    """An `LLM` around another, with limits and retries. It always ends in one Completion or one of our errors.

    A call is retried only before its first text and only for ModelUnavailable. The vendor's retry budget and the call's
    deadline bound the retries. With a fallback model, they last only a few seconds. A Retry-After replaces our own full
    jitter (promises P31 to P34). While its server loads a model, the call waits until its deadline. Pieces are clean
    text and never empty. An answer is cut if it is longer than 4 KiB and than eight bytes per token of
    `max_output_tokens`. Its stop is then `length` and its tokens are an estimate. An endlessly repeated run of words is
    cut too.
    """

    def __init__(self, inner: ClosableLLM, clock: Clock, limits: CallLimits, emit: Emit) -> None:
        self._inner = inner
        self._clock = clock
        self._limits = limits
        self._emit = emit
        self._guards = {str(vendor): _Guard(Circuit(vendor)) for vendor in Vendor}

    def model_for(self, role: ModelRole) -> str:
        return self._inner.model_for(role)

    def step_models(self) -> Mapping[str, str]:
        return self._inner.step_models()

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        first, *others = self._inner.candidates(role, audience)
        down = self._guard(first, role).circuit.state(self._clock.monotonic()) is CircuitState.OPEN
        return tuple(others) if others and down else (first, *others)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        model = prompt.model or self.model_for(prompt.role)
        guard = self._guard(model, prompt.role)
        now = self._clock.monotonic()
        guard.budget.call(now)
        deadline = now + self._limits.total
        retry_until = min(deadline, now + PATIENCE_SECONDS) if prompt.standby else deadline
        call = _Call(prompt, model, guard, deadline, retry_until)
        attempt = await self._begin_with_retries(call)
        try:
            async with aclosing(self._bounded(call, attempt)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            await _close(attempt.pieces)
            guard.circuit.abandoned(attempt.permit)

    def _guard(self, model: str, role: ModelRole) -> _Guard:
        """Return the guard of a model's vendor. A vendor's second model has another, as only one may be down."""
        vendor = parse_model_id(model).vendor
        first = self.model_for(role)
        if model == first or parse_model_id(first).vendor is not vendor:
            return self._guards[str(vendor)]
        return self._guards.setdefault(model, _Guard(Circuit(vendor)))

    async def _begin_with_retries(self, call: _Call) -> _Attempt:
        retrying = AsyncRetrying(
            sleep=self._clock.sleep,
            retry=retry_if_exception(partial(self._worth_retrying, call)),
            wait=_pause,
            stop=partial(self._out_of_tries, call),
            before_sleep=partial(self._emit_retry, call),
            reraise=True,
        )
        return await retrying(self._begin, call)

    async def _begin(self, call: _Call) -> _Attempt:
        """Send the request and wait for its first text, or its end."""
        now = self._clock.monotonic()
        permit = call.guard.circuit.admit(now)
        pieces = self._inner.stream(call.prompt)
        attempt = _Attempt(pieces, permit, self._clock, now if call.prompt.standby else None)
        try:
            while attempt.first == "":
                attempt.first = await self._next(call, attempt)
        except BaseException:
            await _close(pieces)
            call.guard.circuit.abandoned(permit)
            raise
        return attempt

    async def _bounded(self, call: _Call, attempt: _Attempt) -> AsyncGenerator[str | Completion, None]:
        cleaner, repetition, piece, pieces = PieceCleaner(), Repetition(), attempt.first, 0
        limit = room = max(BYTES_PER_TOKEN * call.prompt.max_output_tokens, FEWEST_BYTES)
        while isinstance(piece, str):
            text = repetition.feed(cleaner.feed(piece))
            if kept := _cut(text, room):
                yield kept
            if kept != text or repetition.endless:
                yield self._cut_off(call, limit)
                return
            room -= len(kept.encode())
            if not (pieces := pieces + 1) % 64:  # all pieces may be buffered, and other tasks need a turn
                await self._clock.sleep(0)
            piece = await self._next(call, attempt)
        if rest := repetition.feed(cleaner.flush()) + repetition.finish():
            yield rest
        yield piece

    async def _next(self, call: _Call, attempt: _Attempt) -> str | Completion:
        """Return the next piece, within the limits, and report success or failure to the circuit."""

        def end() -> float:
            heard = attempt.heard
            return call.deadline if heard is None else min(call.deadline, heard + self._limits.silence)

        if attempt.heard is not None:
            attempt.hear()  # a slow reader is no silence
        try:
            with listening(attempt.hear):
                pull = _pull(attempt.pieces, call.model)
                piece = await within(partial(moving_limit, self._clock, end), pull)
                attempt.hear()
        except TimeoutError:
            self._failed(call, attempt.permit, timed_out=True)
            raise self._too_slow(call, silent=self._clock.monotonic() < call.deadline) from None
        except ModelUnavailable as error:
            if not of_machine(error) and not isinstance(error, StillLoading):
                self._failed(call, attempt.permit, retry_after=error.retry_after)
            raise
        except ModelRefused:
            self._succeeded(call)  # a refusal of one request shows that the vendor works
            raise
        if isinstance(piece, Completion):
            self._succeeded(call)
        return piece

    def _succeeded(self, call: _Call) -> None:
        if call.guard.circuit.succeeded():
            self._emit("llm.circuit_closed", model=call.model)

    def _failed(
        self, call: _Call, permit: Permit, *, timed_out: bool = False, retry_after: float | None = None
    ) -> None:
        now = self._clock.monotonic()
        if call.guard.circuit.failed(permit, now, timed_out=timed_out, retry_after=retry_after):
            self._emit("llm.circuit_opened", model=call.model)

    def _too_slow(self, call: _Call, *, silent: bool) -> ModelUnavailable:
        if silent:
            what, seconds, variable = "was silent for", self._limits.silence, "SOUL_MODEL_SILENCE"
        else:
            what, seconds, variable = "took longer than", self._limits.total, "SOUL_MODEL_TIMEOUT"
        return ModelUnavailable(
            f"{call.model} {what} {seconds:g} seconds", hint=f"choose a faster model or raise {variable}"
        )

    def _cut_off(self, call: _Call, limit: int) -> Completion:
        self._emit("llm.cut_off", model=call.model, step=call.prompt.step, bytes=limit)
        self._succeeded(call)
        return Completion(call.model, tokens_out=limit // 4, stop="length")

    def _worth_retrying(self, call: _Call, error: BaseException) -> bool:
        up = call.guard.circuit.state(self._clock.monotonic()) is CircuitState.CLOSED
        return isinstance(error, ModelUnavailable) and up

    def _out_of_tries(self, call: _Call, state: RetryCallState) -> bool:
        """Return True to give up, else take a retry from the budget. tenacity calls this after it chose the pause."""
        now = self._clock.monotonic()
        too_late = now + state.upcoming_sleep >= call.retry_until
        if too_late or isinstance(_error_of(state), StillLoading):
            return too_late
        return state.attempt_number >= ATTEMPTS or not call.guard.budget.take(now)

    def _emit_retry(self, call: _Call, state: RetryCallState) -> None:
        self._emit("llm.retried", model=call.model, step=call.prompt.step, after_s=round(state.upcoming_sleep, 3))


def _pause(state: RetryCallState) -> float:
    """Return the seconds until the next attempt.

    That is the provider's Retry-After, else full jitter, or a growing pause while the model loads.
    """
    error = _error_of(state)
    retry_after = error.retry_after if isinstance(error, ModelUnavailable) else None
    if retry_after is not None:
        return retry_after
    return (_WHILE_LOADING if isinstance(error, StillLoading) else _JITTER)(state)


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _cut(text: str, size: int) -> str:
    raw = text.encode()
    return text if len(raw) <= size else raw[:size].decode(errors="ignore")


async def _pull(pieces: AsyncIterator[str | Completion], model: str) -> str | Completion:
    """Return the next piece. Raises ModelUnavailable for a stream that ends without a Completion."""
    piece = await anext(pieces, None)
    if piece is None:
        raise ModelUnavailable(f"{model} broke off in the middle of its answer", hint="try again")
    return piece


async def _close(pieces: AsyncIterator[str | Completion]) -> None:
    if isinstance(pieces, AsyncGenerator):
        await pieces.aclose()
