"""A vendor that keeps failing gets no calls for a while, then one probe."""

import asyncio

import pytest

from daemon.core.errors import ModelRefused
from daemon.llm.circuit import FAILURES_TO_OPEN, REST_SECONDS, TIMEOUTS_TO_OPEN, Circuit
from daemon.llm.resilience import ResilientLLM
from tests.fakes import Events, FakeClock
from tests.llm.guarding import down, failing, guarded, lasting, turn_until_done
from tests.llm.prompts import answer, prompt
from tests.models import ScriptedLLM


async def test_a_vendor_that_keeps_failing_gets_no_calls_and_the_refusal_is_immediate(events: Events) -> None:
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


async def opened(clock: FakeClock, events: Events | None = None) -> tuple[ScriptedLLM, ResilientLLM]:
    """A vendor that has failed until it got no more calls, and after the pause."""
    inner = ScriptedLLM(default=down(0.0))
    llm = guarded(inner, clock, events)
    for _ in range(4):
        await failing(llm)
    await clock.advance(REST_SECONDS)
    return inner, llm


async def test_after_a_pause_one_probe_at_a_time_closes_the_circuit_or_opens_it_again(events: Events) -> None:
    inner, llm = await opened(FakeClock(), events)
    inner.default = "well"
    assert (await answer(llm, prompt()))[0] == "well"
    assert (await answer(llm, prompt()))[0] == "well"
    assert events.names[-1] == "llm.circuit_closed"
    inner, llm = await opened(FakeClock())
    asked = len(inner.prompts)
    await failing(llm)
    await failing(llm)
    assert len(inner.prompts) == asked + 1
    clock = FakeClock()
    inner, llm = await opened(clock)
    inner.default = lasting(clock, 10)
    asked = len(inner.prompts)
    async with asyncio.TaskGroup() as group:
        probe = group.create_task(answer(llm, prompt()))
        await clock.sleepers(2)
        assert "right now" in (await failing(llm)).message
        assert len(inner.prompts) == asked + 1
        await clock.advance(10)
    assert probe.result()[0] == "late"
    clock = FakeClock()
    inner, llm = await opened(clock)
    inner.default = lasting(clock, 10)
    probe = asyncio.ensure_future(answer(llm, prompt()))
    await clock.sleepers(2)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    inner.default = "well"
    assert (await answer(llm, prompt()))[0] == "well"


async def test_a_long_retry_after_prolongs_the_pause_and_refusals_or_successes_keep_the_circuit_closed() -> None:
    clock = FakeClock(auto=True)
    llm = guarded(ScriptedLLM(default=down(118.0)), clock)
    for _ in range(5):
        error = await failing(llm)
    assert error.retry_after == 118.0
    inner = ScriptedLLM(default=ModelRefused("no"))
    llm = guarded(inner, FakeClock(auto=True))
    for _ in range(20):
        with pytest.raises(ModelRefused):
            await answer(llm, prompt())
    assert len(inner.prompts) == 20
    inner = ScriptedLLM()
    llm = guarded(inner, FakeClock(auto=True))
    for _ in range(5):
        inner.replies.extend([["half", down()]] * (FAILURES_TO_OPEN - 1))
        for _ in range(FAILURES_TO_OPEN - 1):
            await failing(llm)
        inner.replies.append("well")
        assert (await answer(llm, prompt()))[0] == "well"


async def test_three_timeouts_in_a_row_open_the_circuit_and_a_call_from_before_does_not_count() -> None:
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
    circuit = Circuit("vendor")
    early = circuit.admit(0)
    for _ in range(5):
        circuit.failed(circuit.admit(0), 0)
    assert not circuit.failed(early, REST_SECONDS - 1)
    assert circuit.admit(REST_SECONDS).probe
