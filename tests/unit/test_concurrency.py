"""`alongside`, time limits and the clock: work ends with its body, and a pause of the process is no time."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from daemon.core.concurrency import alongside, at_once, in_background, time_limit, within
from daemon.core.errors import LostLease, StoreError
from daemon.core.ports.services import SystemClock
from tests.fakes import EndlessWork, FakeClock


async def test_work_is_cancelled_when_the_body_ends_even_if_it_never_began() -> None:
    work, other = EndlessWork(), EndlessWork()
    async with alongside(work.forever(), other.forever(), asyncio.sleep(0)):
        await work.started.wait()
        for _ in range(5):
            await asyncio.sleep(0)
    assert work.cancelled
    assert other.cancelled
    work = EndlessWork()
    async with alongside(work.forever()):
        pass
    async with alongside():
        pass
    assert not work.started.is_set()


async def test_an_error_of_the_body_is_raised_bare() -> None:
    work, error = EndlessWork(), LookupError("body")

    async def body() -> None:
        async with alongside(work.forever()):
            await work.started.wait()
            raise error

    with pytest.raises(LookupError) as raised:
        await body()
    assert raised.value is error
    assert work.cancelled


async def test_a_failing_coroutine_cancels_the_body_and_the_first_failure_is_raised_bare_or_several_as_a_group() -> (
    None
):
    cause = OSError("disk")
    error = StoreError("beside")
    error.__cause__ = cause
    other = EndlessWork()
    body = EndlessWork()
    with pytest.raises(StoreError) as raised:
        async with alongside(EndlessWork().fail(error), other.forever()):
            await body.forever()
    assert raised.value is error
    assert raised.value.__cause__ is cause
    assert body.cancelled
    assert other.cancelled or not other.started.is_set()
    with pytest.raises(ExceptionGroup) as grouped:
        async with alongside(EndlessWork().fail(LookupError("a")), EndlessWork().fail(ValueError("b"))):
            await asyncio.Event().wait()
    assert [str(error) for error in grouped.value.exceptions] == ["a", "b"]
    outdated = StoreError("a newer schema")
    with pytest.raises(StoreError) as bare:
        async with alongside(EndlessWork().fail(outdated), EndlessWork().fail(outdated)):
            await asyncio.Event().wait()
    assert bare.value is outdated
    with pytest.raises(LostLease, match="first"):
        async with alongside(EndlessWork().fail(LostLease("first"))):
            await EndlessWork().fail_when_cancelled(LookupError("second"))


async def test_work_that_fails_while_it_is_cancelled_is_raised_and_hides_no_failure_of_the_body() -> None:
    work = EndlessWork()

    async def body() -> None:
        async with alongside(work.fail_when_cancelled(OSError("cleanup"))):
            await work.started.wait()
            raise LookupError("body")

    with pytest.raises(LookupError, match="body") as raised:
        await body()
    assert raised.value.__notes__ == ["meanwhile: OSError('cleanup')"]
    work = EndlessWork()
    with pytest.raises(OSError, match="cleanup"):
        async with alongside(work.fail_when_cancelled(OSError("cleanup"))):
            await work.started.wait()


async def test_a_cancelled_body_stays_cancelled_after_its_work_has_ended() -> None:
    work = EndlessWork()

    async def body() -> None:
        async with alongside(work.forever()):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(body())
    await work.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.ended.is_set()


async def test_a_deadline_around_or_inside_it_is_a_timeout_and_an_exit_is_raised_at_once() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), alongside(EndlessWork().forever()):
            await asyncio.Event().wait()
    with pytest.raises(TimeoutError):
        async with alongside(EndlessWork().forever()), asyncio.timeout(0):
            await asyncio.Event().wait()

    class Leave(BaseException):
        pass

    with pytest.raises((Leave, BaseExceptionGroup)) as raised:
        async with alongside(EndlessWork().fail(Leave())):
            await asyncio.Event().wait()
    assert isinstance(raised.value, Leave)


async def test_a_time_limit_ends_a_late_body_and_costs_one_within_it_nothing() -> None:
    clock, work = FakeClock(auto=True), EndlessWork()
    with pytest.raises(TimeoutError):
        async with time_limit(clock, 3.0):
            await work.forever()
    assert work.cancelled
    assert clock.slept == [3.0]
    clock, task = FakeClock(), asyncio.current_task()
    async with time_limit(clock, 3.0):
        assert asyncio.current_task() is task
    assert clock.slept == [], "no timer was started"
    with pytest.raises(LookupError, match="broken"):
        async with time_limit(FakeClock(), 3.0):
            await EndlessWork().fail(LookupError("broken"))


_HUNG = """
import asyncio, threading
from daemon.core.concurrency import in_background
async def main():
    async with asyncio.timeout(0.01):
        await in_background(threading.Event().wait)
try:
    asyncio.run(main())
except TimeoutError:
    print("ended")
"""


def test_blocking_work_that_hangs_does_not_keep_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", _HUNG], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "ended\n"


async def test_blocking_work_returns_its_value_or_raises_its_error() -> None:
    assert await in_background(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        await in_background(lambda: 1 // 0)


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr(
        "daemon.core.ports.services.time", SimpleNamespace(monotonic=lambda: now[0], time_ns=time.time_ns)
    )
    return now


async def test_a_stopped_process_spends_no_time_and_a_busy_one_does(moment: list[float]) -> None:
    clock = SystemClock()
    sleeping = asyncio.create_task(clock.sleep(30))
    await asyncio.sleep(0)
    began = clock.monotonic()
    moment[0] += 9
    assert clock.monotonic() - began == 9, "the loop was busy"
    moment[0] += 3_600
    assert clock.monotonic() - began == 14, "a look was due after five seconds"
    sleeping.cancel()
    moment[0] += 3_600
    await asyncio.wait((sleeping,))
    before = clock.monotonic()
    moment[0] += 3_600
    assert clock.monotonic() - before == 3_600, "nothing slept, so nothing is known of a pause"


async def test_a_time_limit_survives_a_pause_of_the_process(moment: list[float]) -> None:
    clock, answered = SystemClock(), asyncio.Event()

    async def answer() -> str:
        async with time_limit(clock, 45):
            await answered.wait()
            return "there"

    answering = asyncio.create_task(answer())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    moment[0] += 80
    clock.monotonic()
    answered.set()
    assert await answering == "there"


async def test_only_work_that_has_to_wait_enters_its_limit() -> None:
    clock, entered, gate = FakeClock(auto=False), list[str](), asyncio.Event()

    @asynccontextmanager
    async def limit() -> AsyncIterator[None]:
        entered.append("limit")
        async with time_limit(clock, 5.0):
            yield

    async def work(*, waits: int) -> str:
        for _ in range(waits):
            await gate.wait()
            await asyncio.sleep(0)
        return "done"

    assert await within(limit, work(waits=0)) == "done"
    assert not entered
    gate.set()
    assert await within(limit, work(waits=2)) == "done"
    assert entered == ["limit"]

    gate.clear()
    cleaned_up = list[str]()

    async def too_long() -> None:
        try:
            await gate.wait()
        finally:
            cleaned_up.append("yes")
            await asyncio.sleep(0)

    waiting = asyncio.ensure_future(within(limit, too_long()))
    await clock.sleepers()
    await clock.advance(5.0)
    with pytest.raises(TimeoutError):
        await waiting
    assert cleaned_up == ["yes"]


async def test_the_error_of_work_is_its_own_whether_it_waited_or_not() -> None:
    async def fails(*, waits: bool) -> None:
        if waits:
            await asyncio.sleep(0)
        raise LookupError("work")

    for waits in (False, True):
        with pytest.raises(LookupError, match="work"):
            await within(lambda: time_limit(FakeClock(), 5.0), fails(waits=waits))


async def test_the_first_failure_of_a_group_is_raised_bare_and_cancels_the_others() -> None:
    error, other = LookupError("one of them"), EndlessWork()

    async def group_with(*work: Coroutine[object, object, None]) -> None:
        async with at_once() as group:
            for one in work:
                group.create_task(one)

    with pytest.raises(LookupError) as raised:
        await group_with(other.forever(), EndlessWork().fail(error))
    assert raised.value is error
    assert other.cancelled

    async with at_once() as group:
        done = group.create_task(asyncio.sleep(0, "done"))
    assert done.result() == "done"
