"""Deadlines, size limits, retries and the circuit of a vendor that fails, on a clock that the test advances."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.errors import ConfigError, ModelRefused, ModelUnavailable, StillLoading
from daemon.core.ports.services import Completion, Prompt
from daemon.llm.endpoint import PieceCleaner, clean
from daemon.llm.resilience import (
    ATTEMPTS,
    FAILURES_TO_OPEN,
    FEWEST_BYTES,
    FEWEST_RETRIES,
    PATIENCE_SECONDS,
    REST_SECONDS,
    TIMEOUTS_TO_OPEN,
    Circuit,
    ResilientLLM,
)
from tests.fakes import Events, FakeClock
from tests.llm.guarding import down, failing, guarded, lasting, turn_until_done
from tests.llm.prompts import answer, fault, prompt
from tests.models import ScriptedLLM


async def test_a_failure_is_tried_again_before_the_first_piece_alone_and_signs_of_life_are_none(events: Events) -> None:
    inner = ScriptedLLM(down(), "well")
    assert (await answer(guarded(inner, FakeClock(auto=True), events), prompt()))[0] == "well"
    assert events.names == ["llm.retried"]
    inner = ScriptedLLM(["half", down()], "whole")
    llm = guarded(inner, FakeClock(auto=True))
    pieces = llm.stream(prompt())
    assert await anext(pieces) == "half"
    with pytest.raises(ModelUnavailable):
        await anext(pieces)
    assert len(inner.prompts) == 1
    inner = ScriptedLLM(["", "", down()], ["", "well", ""])
    items = [item async for item in guarded(inner, FakeClock(auto=True)).stream(prompt())]
    assert items == ["well", Completion("scripted/test", 1, 0, 1)]


async def test_a_refusal_is_not_tried_again_and_other_errors_pass_unchanged() -> None:
    for error in (ModelRefused("no"), ConfigError("a key is missing")):
        inner = ScriptedLLM(error, "yes")
        with pytest.raises(type(error)):
            await answer(guarded(inner, FakeClock(auto=True)), prompt())
        assert len(inner.prompts) == 1


async def test_the_pause_is_the_providers_retry_after_within_the_deadline_or_jittered_and_short() -> None:
    clock = FakeClock(auto=True)
    await answer(guarded(ScriptedLLM(down(7.5), "well"), clock), prompt())
    assert clock.slept == [7.5]
    error = await failing(guarded(ScriptedLLM(down(200), "well"), clock))
    assert (error.retry_after, clock.slept) == (200, [7.5])
    pauses = []
    for _ in range(20):
        clock = FakeClock(auto=True)
        await answer(guarded(ScriptedLLM(down(), "well"), clock), prompt())
        pauses += clock.slept
    assert len(set(pauses)) > 10
    assert max(pauses) <= 1


async def test_a_model_that_its_server_still_loads_is_waited_for_up_to_the_deadline(events: Events) -> None:
    clock, loads = FakeClock(auto=True), StillLoading("Loading model")
    llm = guarded(ScriptedLLM(*[loads] * 8, "well"), clock, events)
    assert (await answer(llm, prompt()))[0] == "well"
    assert clock.slept == [1, 2, 4, 8, 10, 10, 10, 10]
    assert set(events.names) == {"llm.retried"}, "the circuit stays closed"
    began, inner = clock.monotonic(), ScriptedLLM(default=loads)
    await failing(guarded(inner, clock))
    assert 100 < clock.monotonic() - began <= 120
    assert len(inner.prompts) > ATTEMPTS
    began = clock.monotonic()
    assert await fault(guarded(ScriptedLLM(default=loads), clock), prompt(standby=True)) is loads
    assert clock.monotonic() - began <= PATIENCE_SECONDS, "another model stands by"


async def test_retries_stay_within_a_tenth_of_the_calls_of_a_minute_and_are_few_when_calls_are_few() -> None:
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


async def test_the_first_byte_may_take_the_whole_call_unless_another_model_stands_by() -> None:
    for standby, seconds in ((False, 120), (True, 45)):
        clock = FakeClock()
        inner = ScriptedLLM(default=lasting(clock, 1000))
        call = asyncio.ensure_future(fault(guarded(inner, clock), prompt(standby=standby)))
        await clock.sleepers(2)
        await clock.advance(seconds - 1)
        assert not call.done(), standby
        await clock.advance(1)
        await turn_until_done(clock, call)
        assert isinstance(await call, ModelUnavailable)
        assert seconds <= clock.monotonic() <= seconds + 1, standby
        assert inner.cut == 1, standby


async def test_it_gives_up_after_three_attempts_or_at_the_deadline_over_all_of_them() -> None:
    inner = ScriptedLLM(default=down())
    await failing(guarded(inner, FakeClock(auto=True)))
    assert len(inner.prompts) == ATTEMPTS
    clock = FakeClock()
    inner = ScriptedLLM(default=lasting(clock, 1000))
    call = asyncio.ensure_future(failing(guarded(inner, clock)))
    await turn_until_done(clock, call)
    assert clock.monotonic() <= 121
    assert len(inner.prompts) <= ATTEMPTS


async def test_closing_the_stream_closes_the_one_below_and_one_without_a_completion_has_broken_off() -> None:
    inner = ScriptedLLM(["one", "two", "three"])
    async with aclosing(guarded(inner, FakeClock()).stream(prompt())) as pieces:
        assert await anext(pieces) == "one"
    assert inner.cut == 1

    class Mute(ScriptedLLM):
        async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
            yield "half"

    error = await failing(guarded(Mute(), FakeClock(auto=True)))
    assert "broke off" in error.message


async def test_an_endless_answer_is_cut_and_the_limit_of_a_short_one_leaves_room_for_long_tokens(
    events: Events,
) -> None:
    inner = ScriptedLLM(["ü" * 1000] * 1000)
    text, completion = await answer(guarded(inner, FakeClock(), events), prompt(tokens=1000))
    assert text == "ü" * 4000
    assert completion.stop == "length"
    assert completion.tokens_out == 2000
    assert inner.cut == 1
    assert events.names == ["llm.cut_off"]
    inner = ScriptedLLM(["x" * FEWEST_BYTES])
    inner.characters_per_token = FEWEST_BYTES
    text, completion = await answer(guarded(inner, FakeClock()), prompt(tokens=1))
    assert (len(text), completion.stop) == (FEWEST_BYTES, "end")


async def test_an_answer_that_repeats_the_same_words_without_end_is_cut_behind_two_of_them() -> None:
    for run, size in (
        ("The import runs at six. ", 3),
        ("これは同じ文です。", 8),
        ("First this is said, at some length, to Ada. Then that, to Ben.\n\n- and a list\n- of two\n\n", 7),
        ("ja, ", 5),
        ("A whole paragraph of text: " + ", ".join(map(str, range(200))) + ".\n\n", 50_000),
    ):
        whole, events = "Here it is.\n\n" + run * (40_000 // len(run)), Events()
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        text, completion = await answer(guarded(ScriptedLLM(pieces), FakeClock(), events), prompt(tokens=20_000))
        assert whole.startswith(text), run
        assert len(text) <= len("Here it is.\n\n") + max(2 * len(run), len(run) + 40), run
        assert (completion.stop, events.names) == ("length", ["llm.cut_off"]), run


async def test_repetition_that_ends_passes_whole() -> None:
    rows = "".join(f"| {number} | Monday | eight hours, as always | nothing to note |\n" for number in range(300))
    chorus = "All the way, all the way, all the way to the sea.\n" * 12
    line = f"{'-' * 3000}\nThat was a line."
    for said in (rows, f"{chorus}The end.", chorus, line, "ha " * 200):
        for size in (1, 7, 50_000):
            pieces = [said[start : start + size] for start in range(0, len(said), size)]
            text, completion = await answer(guarded(ScriptedLLM(pieces), FakeClock()), prompt(tokens=20_000))
            assert (text, completion.stop) == (said, "end")


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=8)))
def test_cleaned_text_can_always_be_encoded_and_does_not_depend_on_the_cuts(pieces: list[str]) -> None:
    cleaner = PieceCleaner()
    text = "".join([*map(cleaner.feed, pieces), cleaner.flush()])
    text.encode()
    assert "\0" not in text
    assert text == clean("".join(pieces))


async def test_a_character_cut_between_two_pieces_is_joined_and_half_a_one_at_the_end_replaced() -> None:
    llm = guarded(ScriptedLLM(["a\ud83e", "\udd8ab", "\ud83e"]), FakeClock())
    assert (await answer(llm, prompt()))[0] == "a🦊b\ufffd"


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
