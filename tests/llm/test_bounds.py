"""Time holds against real servers, through all layers."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from daemon.core.errors import ModelError, ModelUnavailable
from daemon.core.ports.models import Completion
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


async def test_cancelling_hangs_up_through_all_layers(vendor: VendorServer, over_the_wire: ResilientLLM) -> None:
    gate = asyncio.Event()
    vendor.script.append(Answer(("a",), Ending.SILENT))

    async def read() -> None:
        async for _ in over_the_wire.stream(prompt()):
            gate.set()

    reading = asyncio.ensure_future(read())
    await gate.wait()
    reading.cancel()
    await asyncio.wait_for(vendor.hung_up.wait(), TIMEOUT)
    with pytest.raises(asyncio.CancelledError):
        await reading


async def _next_or_error(pieces: AsyncGenerator[str | Completion, None]) -> str | Completion | ModelError:
    try:
        return await anext(pieces)
    except ModelError as error:
        return error
