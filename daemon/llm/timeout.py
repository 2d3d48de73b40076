"""Wait for a step of a model's answer, but not for ever, on a Clock that tests can turn."""

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from types import coroutine
from typing import TypeVar

from daemon.core.concurrency import alongside
from daemon.core.ports import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, step: Callable[[], Coroutine[object, object, T]]) -> T:
    """The step's result, or what it raises. Raises TimeoutError once a late step was cancelled and has cleaned up.

    Most pieces of an answer are there already: such a step ends at once, and costs neither a timer nor a task.
    """
    work = step()
    try:
        awaited = work.send(None)
    except StopIteration as end:
        ready: T = end.value
        return ready
    async with alongside(_ring(clock, seconds)):
        return await _rest(work, awaited)


async def _ring(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
    raise TimeoutError


@coroutine
def _rest(work: Coroutine[object, object, T], awaited: object) -> Generator[object, object, T]:
    """Go on with a coroutine that has begun and waits for something, in the task that began it (PEP 380)."""
    while True:
        try:
            sent = yield awaited
        except BaseException as error:  # noqa: BLE001  # whatever is thrown in here is meant for the work
            advance = partial(work.throw, error)
        else:
            advance = partial(work.send, sent)
        try:
            awaited = advance()
        except StopIteration as end:
            found: T = end.value
            return found
