"""Time, bytes, retries and the breaker around a model, on a clock that is turned by hand."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.errors import ConfigError, ModelError, ModelRefused, ModelUnavailable
from daemon.llm.circuit import FAILURES_TO_OPEN, FEWEST_RETRIES, REST_SECONDS, TIMEOUTS_TO_OPEN
from daemon.llm.clean_text import PieceCleaner, clean
from daemon.llm.resilience import ATTEMPTS, FEWEST_BYTES, Limits, ResilientLLM
from daemon.llm.router import Router
from daemon.llm.scripted import Reply, ScriptedLLM
from daemon.ports import Completion, Prompt
from tests.fakes import FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import answer, prompt, read_until
from tests.llm.providers import Answer, Ending, VendorServer


class Events:
    """An Emit that remembers."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, event: str, /, **fields: object) -> None:
        self.names.append(event)


@pytest.fixture
def events() -> Events:
    return Events()


def down(retry_after: float | None = None) -> ModelUnavailable:
    return ModelUnavailable("overloaded", retry_after=retry_after)


def guarded(inner: ScriptedLLM, clock: FakeClock, events: Events | None = None) -> ResilientLLM:
    return ResilientLLM(inner, clock, Limits(total=120, silence=45), events or Events())


async def failing(llm: ResilientLLM) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        await answer(llm, prompt())
    return caught.value


async def turn_until_done(clock: FakeClock, call: asyncio.Future[Any]) -> None:
    """Let time pass in small steps, with turns for everybody in between."""
    while not call.done():
        await clock.advance(0.5)
        for _ in range(20):
            await asyncio.sleep(0)


def lasting(clock: FakeClock, seconds: float) -> Callable[[Prompt], Awaitable[Reply]]:
    """A reply that takes its time."""

    async def reply(_: Prompt) -> Reply:
        await clock.sleep(seconds)
        return "late"

    return reply


async def test_a_failure_before_the_first_piece_is_tried_again(events: Events) -> None:
    inner = ScriptedLLM(down(), "well")
    assert (await answer(guarded(inner, FakeClock(auto=True), events), prompt()))[0] == "well"
    assert events.names == ["llm.retried"]


async def test_a_failure_after_the_first_piece_is_not_tried_again() -> None:
    inner = ScriptedLLM(["half", down()], "whole")
    llm = guarded(inner, FakeClock(auto=True))
    pieces = llm.stream(prompt())
    assert await anext(pieces) == "half"
    with pytest.raises(ModelUnavailable):
        await anext(pieces)
    assert len(inner.prompts) == 1


async def test_signs_of_life_are_not_pieces() -> None:
    inner = ScriptedLLM(["", "", down()], ["", "well", ""])
    items = [item async for item in guarded(inner, FakeClock(auto=True)).stream(prompt())]
    assert items == ["well", Completion("scripted/test", 1, 0, 1)]


async def test_a_refusal_is_not_tried_again() -> None:
    inner = ScriptedLLM(ModelRefused("no"), "yes")
    with pytest.raises(ModelRefused):
        await answer(guarded(inner, FakeClock(auto=True)), prompt())
    assert len(inner.prompts) == 1


async def test_errors_that_are_not_the_models_pass_as_they_are() -> None:
    inner = ScriptedLLM(ConfigError("a key is missing"))
    with pytest.raises(ConfigError):
        await answer(guarded(inner, FakeClock(auto=True)), prompt())


async def test_it_gives_up_after_three_attempts() -> None:
    inner = ScriptedLLM(default=down())
    await failing(guarded(inner, FakeClock(auto=True)))
    assert len(inner.prompts) == ATTEMPTS


async def test_the_pause_is_what_the_provider_asked_for() -> None:
    clock = FakeClock(auto=True)
    await answer(guarded(ScriptedLLM(down(7.5), "well"), clock), prompt())
    assert clock.slept == [7.5]


async def test_the_pause_is_jittered_and_short_when_the_provider_asked_for_none() -> None:
    pauses = []
    for _ in range(20):
        clock = FakeClock(auto=True)
        await answer(guarded(ScriptedLLM(down(), "well"), clock), prompt())
        pauses += clock.slept
    assert len(set(pauses)) > 10
    assert max(pauses) <= 1


async def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    clock = FakeClock(auto=True)
    error = await failing(guarded(ScriptedLLM(down(200), "well"), clock))
    assert error.retry_after == 200
    assert clock.slept == []


async def test_retries_stay_within_a_tenth_of_the_calls_of_a_minute() -> None:
    clock = FakeClock(auto=True)
    inner = ScriptedLLM()
    llm = guarded(inner, clock)
    for turn in range(300):
        inner.replies.extend([down(0.001), "well"] if turn % 3 == 0 else ["well"])
        try:
            await answer(llm, prompt())
        except ModelUnavailable:
            inner.replies.clear()
    assert 300 < len(inner.prompts) <= 330


async def test_the_budget_is_small_when_calls_are_few_and_fills_up_again_after_a_minute() -> None:
    clock = FakeClock(auto=True)
    inner = ScriptedLLM()
    llm = guarded(inner, clock)
    retried = 0
    for _ in range(6):
        inner.replies.extend([down(0.001), "well"])
        try:
            await answer(llm, prompt())
            retried += 1
        except ModelUnavailable:
            inner.replies.clear()
            inner.replies.append("well")
            await answer(llm, prompt())
    assert retried == FEWEST_RETRIES
    await clock.advance(61)
    inner.replies.extend([down(0.001), "well"])
    assert (await answer(llm, prompt()))[0] == "well"


async def test_a_vendor_that_keeps_failing_is_left_alone_and_the_answer_is_immediate(events: Events) -> None:
    clock = FakeClock(auto=True)
    inner = ScriptedLLM(default=down())
    llm = guarded(inner, clock, events)
    for _ in range(10):
        await failing(llm)
    assert len(inner.prompts) == FAILURES_TO_OPEN
    before = clock.monotonic()
    error = await failing(llm)
    assert clock.monotonic() == before
    assert "tried again in" in error.message
    assert error.retry_after is not None
    assert 0 < error.retry_after <= REST_SECONDS
    assert events.names.count("llm.circuit_opened") == 1


async def test_after_a_rest_one_probe_goes_through_and_closes_the_circuit(events: Events) -> None:
    clock = FakeClock(auto=True)
    inner = ScriptedLLM(default=down())
    llm = guarded(inner, clock, events)
    for _ in range(4):
        await failing(llm)
    await clock.advance(REST_SECONDS)
    inner.default = "well"
    assert (await answer(llm, prompt()))[0] == "well"
    assert (await answer(llm, prompt()))[0] == "well"
    assert events.names[-1] == "llm.circuit_closed"


async def test_a_probe_that_fails_opens_the_circuit_for_another_rest() -> None:
    clock = FakeClock(auto=True)
    inner = ScriptedLLM(default=down())
    llm = guarded(inner, clock)
    for _ in range(4):
        await failing(llm)
    await clock.advance(REST_SECONDS)
    asked = len(inner.prompts)
    await failing(llm)
    await failing(llm)
    assert len(inner.prompts) == asked + 1


async def test_only_one_probe_is_under_way_at_a_time() -> None:
    clock = FakeClock()
    inner = ScriptedLLM(default=down(0.0))
    llm = guarded(inner, clock)
    for _ in range(4):
        await failing(llm)
    await clock.advance(REST_SECONDS)
    inner.default = lasting(clock, 10)
    asked = len(inner.prompts)
    async with asyncio.TaskGroup() as group:
        probe = group.create_task(answer(llm, prompt()))
        await clock.sleepers(2)
        assert "right now" in (await failing(llm)).message
        assert len(inner.prompts) == asked + 1
        await clock.advance(10)
    assert probe.result()[0] == "late"


async def test_a_cancelled_probe_lets_the_next_call_probe() -> None:
    clock = FakeClock()
    inner = ScriptedLLM(default=down(0.0))
    llm = guarded(inner, clock)
    for _ in range(4):
        await failing(llm)
    await clock.advance(REST_SECONDS)
    inner.default = lasting(clock, 10)
    probe = asyncio.ensure_future(answer(llm, prompt()))
    await clock.sleepers(2)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    inner.default = "well"
    assert (await answer(llm, prompt()))[0] == "well"


async def test_a_long_retry_after_prolongs_the_rest() -> None:
    clock = FakeClock(auto=True)
    llm = guarded(ScriptedLLM(default=down(118.0)), clock)
    for _ in range(5):
        error = await failing(llm)
    assert error.retry_after == 118.0


async def test_refusals_do_not_open_the_circuit() -> None:
    inner = ScriptedLLM(default=ModelRefused("no"))
    llm = guarded(inner, FakeClock(auto=True))
    for _ in range(20):
        with pytest.raises(ModelRefused):
            await answer(llm, prompt())
    assert len(inner.prompts) == 20


async def test_success_in_between_starts_the_count_anew() -> None:
    inner = ScriptedLLM()
    llm = guarded(inner, FakeClock(auto=True))
    for _ in range(5):
        inner.replies.extend([["half", down()]] * (FAILURES_TO_OPEN - 1))
        for _ in range(FAILURES_TO_OPEN - 1):
            await failing(llm)
        inner.replies.append("well")
        assert (await answer(llm, prompt()))[0] == "well"


async def test_a_silent_model_is_given_up_at_the_limit_and_tried_once_more() -> None:
    clock = FakeClock()
    inner = ScriptedLLM(lasting(clock, 1000), "well")
    call = asyncio.ensure_future(answer(guarded(inner, clock), prompt()))
    await clock.sleepers(2)
    await clock.advance(44)
    assert not call.done()
    await clock.advance(1)
    await turn_until_done(clock, call)
    assert (await call)[0] == "well"
    assert inner.cut == 1


async def test_the_deadline_holds_over_all_attempts_together() -> None:
    clock = FakeClock()
    inner = ScriptedLLM(default=lasting(clock, 1000))
    call = asyncio.ensure_future(failing(guarded(inner, clock)))
    await turn_until_done(clock, call)
    assert clock.monotonic() <= 121
    assert len(inner.prompts) <= ATTEMPTS


async def test_three_timeouts_in_a_row_open_the_circuit() -> None:
    clock = FakeClock()
    inner = ScriptedLLM(default=lasting(clock, 1000))
    llm = guarded(inner, clock)
    calls = 0
    while calls < 5:
        call = asyncio.ensure_future(failing(llm))
        await turn_until_done(clock, call)
        calls += 1
        if "in a row" in call.result().message:
            break
    assert len(inner.prompts) == TIMEOUTS_TO_OPEN


async def test_closing_the_stream_closes_the_one_below() -> None:
    inner = ScriptedLLM(["one", "two", "three"])
    async with aclosing(guarded(inner, FakeClock()).stream(prompt())) as pieces:
        assert await anext(pieces) == "one"
    assert inner.cut == 1


async def test_a_stream_that_ends_without_a_completion_has_broken_off() -> None:
    class Mute(ScriptedLLM):
        async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
            yield "half"

    error = await failing(guarded(Mute(), FakeClock(auto=True)))
    assert "broke off" in error.message


async def test_half_a_character_at_the_end_is_replaced() -> None:
    assert (await answer(guarded(ScriptedLLM(["a", "\ud83e"]), FakeClock()), prompt()))[0] == "a\ufffd"


async def test_a_babbling_model_is_cut_and_completed_as_too_long(events: Events) -> None:
    inner = ScriptedLLM(["ü" * 1000] * 1000)
    text, completion = await answer(guarded(inner, FakeClock(), events), prompt(tokens=1000))
    assert text == "ü" * 4000
    assert completion.stop == "length"
    assert completion.tokens_out == 2000
    assert inner.cut == 1
    assert events.names == ["llm.cut_off"]


async def test_a_short_answers_limit_leaves_room_for_odd_tokens() -> None:
    inner = ScriptedLLM(["x" * FEWEST_BYTES])
    text, completion = await answer(guarded(inner, FakeClock()), prompt(tokens=1))
    assert (len(text), completion.stop) == (FEWEST_BYTES, "end")


async def test_both_roles_models_are_told_and_connections_let_go() -> None:
    llm = guarded(ScriptedLLM(), FakeClock())
    assert llm.model_for(prompt().role) == "scripted/test"
    await llm.aclose()


@pytest.fixture
async def over_the_wire(vendor: VendorServer, clock: FakeClock) -> AsyncIterator[ResilientLLM]:
    llm = ResilientLLM(Router(settings_for(vendor), clock), clock, Limits(total=120, silence=45), Events())
    yield llm
    await llm.aclose()


async def test_fifty_megabytes_are_never_read(vendor: VendorServer, over_the_wire: ResilientLLM) -> None:
    vendor.script.append(Answer(("x" * 50_000,), Ending.ENDLESS))
    text, completion = await answer(over_the_wire, prompt(tokens=512))
    assert (len(text), completion.stop) == (4096, "length")
    await asyncio.wait_for(vendor.hung_up.wait(), 5)
    assert vendor.sent_bytes < 16 << 20


async def test_a_drip_ends_at_the_deadline(vendor: VendorServer, over_the_wire: ResilientLLM, clock: FakeClock) -> None:
    vendor.script.append(Answer(("a",), Ending.ON_DEMAND))
    pieces = over_the_wire.stream(prompt())
    await read_until(pieces, "a")
    last: str | Completion | ModelError = "a"
    while not isinstance(last, ModelError):
        async with asyncio.TaskGroup() as group:
            piece = group.create_task(_next_or_error(pieces))
            await clock.sleepers(1)
            await clock.advance(30)
            vendor.drops.put_nowait("b")
        last = piece.result()
    assert "longer than 120 seconds" in last.message
    assert "SOUL_MODEL_TIMEOUT" in last.hint
    await asyncio.wait_for(vendor.hung_up.wait(), 5)


async def test_silence_in_the_middle_ends_at_the_limit(
    vendor: VendorServer, over_the_wire: ResilientLLM, clock: FakeClock
) -> None:
    vendor.script.append(Answer(("a",), Ending.SILENT))
    pieces = over_the_wire.stream(prompt())
    await read_until(pieces, "a")
    rest = asyncio.ensure_future(_next_or_error(pieces))
    await clock.sleepers(1)
    await clock.advance(45)
    error = await rest
    assert isinstance(error, ModelUnavailable)
    assert "silent for 45 seconds" in error.message
    await asyncio.wait_for(vendor.hung_up.wait(), 5)


async def test_cancelling_hangs_up_through_all_layers(vendor: VendorServer, over_the_wire: ResilientLLM) -> None:
    gate = asyncio.Event()
    vendor.script.append(Answer(("a",), Ending.SILENT))

    async def read() -> None:
        async for _ in over_the_wire.stream(prompt()):
            gate.set()

    reading = asyncio.ensure_future(read())
    await gate.wait()
    reading.cancel()
    await asyncio.wait_for(vendor.hung_up.wait(), 5)
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_an_overloaded_vendor_is_asked_again_when_it_said(
    vendor: VendorServer, over_the_wire: ResilientLLM, clock: FakeClock
) -> None:
    vendor.script.append(Answer(status=529, headers={"retry-after": "11"}))
    call = asyncio.ensure_future(answer(over_the_wire, prompt()))
    while 11.0 not in clock.slept:
        await clock.sleepers(1)
        await asyncio.sleep(0)
    assert len(vendor.asked) == 1
    await clock.advance(11)
    assert (await call)[0] == "one two three"


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=8)))
def test_cleaned_text_can_always_be_encoded_and_does_not_depend_on_the_cuts(pieces: list[str]) -> None:
    cleaner = PieceCleaner()
    text = "".join([*map(cleaner.feed, pieces), cleaner.flush()])
    text.encode()
    assert "\0" not in text
    assert text == clean("".join(pieces))


def test_a_character_cut_between_two_pieces_is_joined() -> None:
    cleaner = PieceCleaner()
    assert cleaner.feed("a\ud83e") + cleaner.feed("\udd8ab") + cleaner.flush() == "a🦊b"


async def _next_or_error(pieces: AsyncGenerator[str | Completion, None]) -> str | Completion | ModelError:
    try:
        return await anext(pieces)
    except ModelError as error:
        return error
