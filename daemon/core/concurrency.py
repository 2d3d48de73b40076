"""Runs coroutines beside a body of code and raises their first failure bare; a time limit; a bell that wakes a task."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from daemon.core.ports import Clock


@asynccontextmanager
async def alongside(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Run coroutines while the body runs; they are cancelled when the body ends.

    The first failure is raised bare, not in a group: the body's own, or that of a coroutine, which cancels the body.
    Later failures during that cancellation become notes on it. Coroutines that fail at the same time are raised as a
    group. A coroutine that returns ends nothing else.
    """
    failure: BaseException | None = None
    failed: BaseExceptionGroup[BaseException] | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
            try:
                yield
            except BaseException as error:  # noqa: BLE001 - raised again below, outside the group that would wrap it
                failure = None if any(map(_has_failed, tasks)) else error
            finally:
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as raised:
        failed = raised
    # Raised here, outside the `except`, so that __context__ stays as it is.
    if failed is None:
        if failure is not None:
            raise failure
    elif failure is None or isinstance(failure, asyncio.CancelledError):
        raise failed.exceptions[0] if len(failed.exceptions) == 1 else failed
    else:
        for later in failed.exceptions:
            failure.add_note(f"meanwhile: {later!r}")
        raise failure


@asynccontextmanager
async def time_limit(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Cancel the body after some seconds on the clock. Raises TimeoutError then, once the body has cleaned up."""

    async def expire() -> None:
        await clock.sleep(seconds)
        raise TimeoutError

    async with alongside(expire()):
        yield


class Bell:
    """Wakes one waiting task: rung when there may be work for it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake the waiting task, or the next one that waits."""
        self._event.set()

    async def wait(self, clock: Clock, seconds: float) -> None:
        """Wait until the bell rings, at most `seconds`."""
        async with alongside(self._ring_after(clock, seconds)):
            await self._event.wait()
        self._event.clear()

    async def _ring_after(self, clock: Clock, seconds: float) -> None:
        await clock.sleep(seconds)
        self._event.set()


def _has_failed(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None
