"""What the tests of limits, retries and the breaker share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from daemon.core.errors import ModelUnavailable
from daemon.core.ports.services import Prompt
from daemon.llm.resilience import CallLimits, ResilientLLM
from tests.fakes import Events, FakeClock
from tests.llm.prompts import answer, prompt
from tests.models import Reply, ScriptedLLM


def down(retry_after: float | None = None) -> ModelUnavailable:
    return ModelUnavailable("overloaded", retry_after=retry_after)


def guarded(inner: ScriptedLLM, clock: FakeClock, events: Events | None = None) -> ResilientLLM:
    return ResilientLLM(inner, clock, CallLimits(total=120, silence=45), events or Events())


async def failing(llm: ResilientLLM) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        await answer(llm, prompt())
    return caught.value


async def turn_until_done(clock: FakeClock, call: asyncio.Future[Any]) -> None:
    """Advance time in small steps, with turns for other tasks in between."""
    while not call.done():
        await clock.advance(0.5)
        for _ in range(20):
            await asyncio.sleep(0)


def lasting(clock: FakeClock, seconds: float) -> Callable[[Prompt], Awaitable[Reply]]:
    async def reply(_: Prompt) -> Reply:
        await clock.sleep(seconds)
        return "late"

    return reply
