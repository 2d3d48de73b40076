"""Time holds against real servers, through all layers."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from daemon.core.errors import ModelError, ModelUnavailable
from daemon.core.ports.services import Completion
from daemon.llm.resilience import CallLimits, ResilientLLM
from daemon.llm.router import Router
from tests.fakes import TIMEOUT, Events, FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import prompt, read_until
from tests.llm.providers import Answer, Ending, VendorServer


@pytest.fixture
async def over_the_wire(vendor: VendorServer, clock: FakeClock) -> AsyncIterator[ResilientLLM]:
    llm = ResilientLLM(Router(settings_for(vendor), clock), clock, CallLimits(total=120, silence=45), Events())
    yield llm
    await llm.aclose()


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
    await asyncio.wait_for(vendor.hung_up.wait(), TIMEOUT)


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
    await asyncio.wait_for(vendor.hung_up.wait(), TIMEOUT)


async def test_any_byte_ends_a_silence_and_the_first_may_take_longer_than_one(vendor: VendorServer) -> None:
    beats = [b": keep-alive\n\n", b": OPENROUTER PROCESSING\n\n", vendor.piece("")]
    if vendor.name == "anthropic":
        beats.append(b'event: ping\ndata: {"type": "ping"}\n\n')
    clock = HeardClock()
    llm = ResilientLLM(Router(settings_for(vendor), clock), clock, CallLimits(total=600, silence=45), Events())
    vendor.script.append(Answer((), Ending.ON_DEMAND))
    first = asyncio.ensure_future(anext(llm.stream(prompt())))
    await vendor.arrived.wait()
    await clock.sleepers(1)
    for beat in beats:
        clock.asked.clear()
        vendor.drops.put_nowait(beat)
        await asyncio.wait_for(clock.asked.wait(), TIMEOUT)
        await clock.advance(40)
        assert not first.done(), beat
    vendor.drops.put_nowait("well")
    assert await first == "well"
    await llm.aclose()


class HeardClock(FakeClock):
    """A clock that says when it is asked, as it is at each byte."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    def monotonic(self) -> float:
        self.asked.set()
        return super().monotonic()


async def _next_or_error(pieces: AsyncGenerator[str | Completion, None]) -> str | Completion | ModelError:
    try:
        return await anext(pieces)
    except ModelError as error:
        return error
