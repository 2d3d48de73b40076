"""Waits for one piece of a model's answer with a timeout on the Clock, which tests can advance."""

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from types import coroutine
from typing import TypeVar

from daemon.core.concurrency import alongside
from daemon.core.ports import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, step: Callable[[], Coroutine[object, object, T]]) -> T:
    """The step's result. Raises what the step raises, or TimeoutError once a late step is cancelled and has cleaned up.

    Most pieces of an answer have arrived already; then the step returns at once, without a timer and without a task.
    """
    work = step()
    try:
        awaited = work.send(None)
    except StopIteration as end:
        ready: T = end.value
        return ready
    async with alongside(_time_out(clock, seconds)):
        return await _rest(work, awaited)


async def _time_out(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
    raise TimeoutError


@coroutine
def _rest(work: Coroutine[object, object, T], awaited: object) -> Generator[object, object, T]:
    """Continue a started coroutine that waits on `awaited`, in the task that started it (PEP 380)."""
    while True:
        try:
            sent = yield awaited
        except BaseException as error:  # noqa: BLE001  # passed on to the work
            advance = partial(work.throw, error)
        else:
            advance = partial(work.send, sent)
        try:
            awaited = advance()
        except StopIteration as end:
            found: T = end.value
            return found
