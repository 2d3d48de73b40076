"""A step that is there costs nothing; a slow one is waited for in its own task; a late one is cut off and cleans up."""

import asyncio

import pytest

from daemon.llm.timeout import within
from tests.fakes import FakeClock


async def test_a_step_that_is_there_takes_no_turn_of_the_loop() -> None:
    turned = asyncio.Event()
    asyncio.get_running_loop().call_soon(turned.set)

    async def step() -> str:
        return "here"

    assert await within(FakeClock(), 1.0, step) == "here"
    assert not turned.is_set()


async def test_a_step_that_waits_goes_on_in_the_task_that_began_it() -> None:
    come, tasks = asyncio.Event(), []

    async def step() -> str:
        tasks.append(asyncio.current_task())
        async with asyncio.timeout(10):  # works only where its task stays the same
            await come.wait()
            await asyncio.sleep(0)
        tasks.append(asyncio.current_task())
        return "later"

    asyncio.get_running_loop().call_soon(come.set)
    assert await within(FakeClock(), 1.0, step) == "later"
    assert set(tasks) == {asyncio.current_task()}


@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_step_raises_comes_out_bare(waits: bool) -> None:
    async def step() -> None:
        if waits:
            await asyncio.sleep(0)
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        await within(FakeClock(), 1.0, step)


async def test_a_late_step_is_cancelled_and_has_cleaned_up_when_the_timeout_is_told() -> None:
    clock, cleaned = FakeClock(auto=True), []

    async def step() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    with pytest.raises(TimeoutError):
        await within(clock, 3.0, step)
    assert cleaned == ["up"]
    assert clock.slept == [3.0]


async def test_a_caller_that_is_cancelled_cancels_the_step() -> None:
    begun, cancelled = asyncio.Event(), []

    async def step() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async with asyncio.TaskGroup() as group:
        task = group.create_task(within(FakeClock(), 1.0, step))
        await begun.wait()
        task.cancel()
    assert task.cancelled()
    assert cancelled == [True]
