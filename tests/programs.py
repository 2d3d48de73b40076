"""The ends of programs that a test starts: a thread of asyncio notices each, and the test's loop has to learn of it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_CALLBACKS = 3  # rounds of the loop between the end of a program and the end of its transport


@asynccontextmanager
async def ends_awaited() -> AsyncIterator[None]:
    """Wait for the end of every program that starts meanwhile; otherwise its transport outlives the loop, unclosed."""
    before = threading.enumerate()  # a browser of other tests may live as long as this process
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("asyncio-waitpid") and thread not in before:
            await asyncio.to_thread(thread.join)
    for _ in range(_CALLBACKS):
        await asyncio.sleep(0)
