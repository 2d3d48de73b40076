"""Wait for a step of a model's answer, but not for ever, on a Clock that tests can turn."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from daemon.ports import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, step: Callable[[], Awaitable[T]]) -> T:
    """The step's result, or what it raises. Raises TimeoutError once a late step was cancelled and has cleaned up."""
    async with asyncio.TaskGroup() as group:
        work = group.create_task(_outcome(step))
        await asyncio.wait((work,), timeout=0)  # most pieces are there already and need no timer
        if not work.done():
            timer = group.create_task(clock.sleep(seconds))
            await asyncio.wait((work, timer), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
        late = not work.done()
        work.cancel()
    if late:
        raise TimeoutError
    outcome = work.result()
    if isinstance(outcome, _Failure):
        raise outcome.error
    return outcome


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Exception


async def _outcome(step: Callable[[], Awaitable[T]]) -> T | _Failure:
    try:
        return await step()
    except Exception as error:  # noqa: BLE001 - raised again by `within`, where no task group wraps it
        return _Failure(error)
