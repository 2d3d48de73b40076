"""Work that goes on beside other work, structured, with failures that come out as themselves."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def alongside(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Run coroutines while the body runs; they are cancelled when it ends.

    What the body raises comes out bare, not in a group. When one of the coroutines fails, the body is cut short and
    that failure comes out, bare too unless several failed at once. A coroutine that returns is simply done.
    """
    failure: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
            try:
                yield
            except BaseException as error:  # noqa: BLE001 - raised again below, outside the group that would wrap it
                failure = error
            finally:
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as failed:
        if len(failed.exceptions) == 1:
            raise failed.exceptions[0] from None
        raise
    if failure is not None:
        raise failure
