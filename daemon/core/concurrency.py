"""Work that goes on beside other work, structured, with failures that come out as themselves."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def alongside(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Run coroutines while the body runs; they are cancelled when it ends.

    The first failure comes out bare, not in a group: the body's own, or that of a coroutine, which cuts the body short.
    What fails after it while being cut short is noted on it. Coroutines that fail at once come out as a group. A
    coroutine that returns is simply done.
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
    # Raised here rather than above, so that causes stay as they are.
    if failed is None:
        if failure is not None:
            raise failure
    elif failure is None or isinstance(failure, asyncio.CancelledError):
        raise failed.exceptions[0] if len(failed.exceptions) == 1 else failed
    else:
        for later in failed.exceptions:
            failure.add_note(f"meanwhile: {later!r}")
        raise failure


def _has_failed(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None
