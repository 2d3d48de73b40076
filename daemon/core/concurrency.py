"""Structured concurrency: joined tasks, time limits, blocking work in a thread, a bell that wakes a task."""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from types import coroutine
from typing import Any, Final, TypeVar, cast

from daemon.core.ports.services import Clock

T = TypeVar("T")
_LOW_PRIORITY = 10  # as `nice` counts


@asynccontextmanager
async def alongside(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Run coroutines while the body runs, and cancel them when the body ends.

    The first failure is raised bare, not in a group. A coroutine that fails cancels the body. Later failures during the
    cancellation become notes on the first. Coroutines that fail at the same time are raised as a group, unless all
    raise the same object. A coroutine that returns ends nothing else.
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
    # Raised here, outside the `except`, to keep __context__ as it is.
    if failed is None:
        if failure is not None:
            raise failure
    elif failure is None or isinstance(failure, asyncio.CancelledError):
        first, *others = failed.exceptions
        raise first if all(other is first for other in others) else failed
    else:
        for later in failed.exceptions:
            failure.add_note(f"meanwhile: {later!r}")
        raise failure


@asynccontextmanager
async def at_once() -> AsyncIterator[asyncio.TaskGroup]:
    """Open a task group that raises its first failure bare and cancels the other tasks then."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


def time_limit(clock: Clock, seconds: float) -> AbstractAsyncContextManager[None]:
    """Cancel the body after some seconds on the clock. Raises TimeoutError then, once the body has cleaned up."""
    end = clock.monotonic() + seconds
    return moving_limit(clock, lambda: end)


@asynccontextmanager
async def moving_limit(clock: Clock, end: Callable[[], float]) -> AsyncIterator[None]:
    """Cancel the body at the time `end()` on `Clock.monotonic`, which may move later. Raises TimeoutError then."""

    async def expire() -> None:
        while (left := end() - clock.monotonic()) > 0:
            await clock.sleep(left)
        raise TimeoutError

    async with alongside(expire()):
        yield


async def within(limit: Callable[[], AbstractAsyncContextManager[None]], work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine within a limit. A coroutine that never waits is spared the limit, which costs a task."""
    try:
        waits_for = work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    async with limit():
        return await _rest(work, waits_for)


@coroutine
def _rest(work: Coroutine[Any, Any, T], waits_for: object) -> Generator[object, Any, T]:
    while True:
        try:
            go_on = partial(work.send, (yield waits_for))
        except BaseException as error:  # noqa: BLE001 - it is the coroutine's to handle
            go_on = partial(work.throw, error)
        try:
            waits_for = go_on()
        except StopIteration as end:
            return cast("T", end.value)


async def set_within(event: asyncio.Event, clock: Clock, seconds: float) -> None:
    """Wait until an event is set, at most `seconds` on the clock. A cancellation at the end of them is not lost."""
    waiting = asyncio.ensure_future(event.wait())
    resting = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((waiting, resting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        resting.cancel()


async def in_background(work: Callable[[], T]) -> T:
    """Run blocking work in a separate thread at low priority. Return its value or raise its error.

    The process does not wait for the thread at its end: a file system that hangs delays no stop. When the caller is
    cancelled, the work ends by itself.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(value)  # type: ignore[arg-type]  # the work's value where there is no error

    def run() -> None:
        _be_patient()
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:  # noqa: BLE001 - it belongs to the caller
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="background", daemon=True).start()
    return await done


def _be_patient() -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOW_PRIORITY)


class Bell:
    """The bell that wakes one waiting task when there may be work."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        self._event.set()

    async def wait(self, clock: Clock, seconds: float) -> None:
        """Wait until the bell rings, at most `seconds` from now."""
        async with alongside(self._ring_at(clock, clock.monotonic() + seconds)):
            await self._event.wait()
        self._event.clear()

    async def _ring_at(self, clock: Clock, moment: float) -> None:
        await clock.sleep(moment - clock.monotonic())
        self._event.set()


def _has_failed(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None


_LOCK_S: Final = 0.001  # seconds that one thread may keep Python's lock while others wait for it

_begun = False


def begin() -> None:
    """Tune the process of the daemon: call this once most modules are imported."""
    global _begun  # noqa: PLW0603 - collector and lock are the process's, too
    _begun = True
    sys.setswitchinterval(_LOCK_S)
    gc.freeze()


def imported() -> None:
    """Keep what was imported since `begin` out of garbage collection. Thread-safe; no effect outside the daemon."""
    if _begun:
        gc.freeze()
