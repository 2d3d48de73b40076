"""Bells: rings reach every process, cost nothing while idle, and a refused one says that a process is dead."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon.core.bell_sockets import STATE, WORK
from daemon.core.clock import SystemClock
from daemon.memory.queues.presence import ProcessIdentity
from daemon.runtime.other_daemons import answer_bells
from daemon.shared.bells import POLL_S, Bells, open_bells
from tests.fakes import TIMEOUT, FakeClock


@contextmanager
def listener(home: Path) -> Iterator[socket.socket]:
    """The bell of another process."""
    (home / "bells").mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind("bells/other")
        other.setblocking(False)
        yield other


async def test_a_ring_is_heard_by_all_and_one_for_work_by_others_alone_who_learn_nothing_of_it(tmp_path: Path) -> None:
    clock = FakeClock()
    async with open_bells(tmp_path, clock) as one, open_bells(tmp_path, clock) as other:
        called, waiting = asyncio.ensure_future(other.called(0)), asyncio.ensure_future(one.called(0))
        heard = asyncio.ensure_future(other.heard())
        await clock.sleep(0)
        one.ring_for_work()
        async with asyncio.timeout(TIMEOUT):
            await called
        assert not heard.done()
        assert not waiting.done(), "who rings has looked already"
        heard.cancel()
        waiting.cancel()
    clock = FakeClock()
    async with open_bells(tmp_path, clock) as one, open_bells(tmp_path, clock) as other:
        both = [asyncio.ensure_future(bells.heard()) for bells in (one, other)]
        await clock.sleep(0)
        one.ring()
        async with asyncio.timeout(TIMEOUT):
            await asyncio.gather(*both)
    assert list((tmp_path / "bells").iterdir()) == []


async def test_many_rings_within_a_moment_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with listener(tmp_path) as other:
        async with open_bells(tmp_path, SystemClock()) as bells:
            for _ in range(1_000):
                bells.ring()
                bells.ring_for_work()
        assert other.recv(16) == STATE + WORK
        with pytest.raises(BlockingIOError):
            other.recv(16)


async def test_who_is_called_looks_once_and_rings_no_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clock, looks, looked = FakeClock(auto=True), list[int](), asyncio.Event()

    async def look() -> None:
        looks.append(1)
        looked.set()

    async with open_bells(tmp_path, clock) as one, open_bells(tmp_path, clock) as other:
        answering = asyncio.ensure_future(answer_bells(other, clock, look))
        with listener(tmp_path) as witness:
            await clock.sleep(0)
            one.ring_for_work()
            async with asyncio.timeout(TIMEOUT):
                await looked.wait()
            other.close()
            assert witness.recv(16) == WORK, "the first ring"
            with pytest.raises(BlockingIOError):
                witness.recv(16)
        answering.cancel()
    assert len(looks) == 1


async def test_a_ring_during_a_look_is_answered_by_the_next_look(tmp_path: Path) -> None:
    clock, looks, begun, goes_on = FakeClock(auto=True), list[int](), asyncio.Event(), asyncio.Event()

    async def look() -> None:
        looks.append(1)
        begun.set()
        await goes_on.wait()

    async with open_bells(tmp_path, clock) as one, open_bells(tmp_path, clock) as other:
        answering = asyncio.ensure_future(answer_bells(other, clock, look))
        await clock.sleep(0)
        async with asyncio.timeout(TIMEOUT):
            for number in (1, 2):
                one.ring_for_work()
                await other.called(number - 1)
                await begun.wait()
            assert len(looks) == 1
            begun.clear()
            goes_on.set()
            await begun.wait()
        answering.cancel()
    assert len(looks) == 2


async def test_a_ring_between_two_looks_is_not_waited_for_and_without_rings_one_looks_anyway(tmp_path: Path) -> None:
    clock = FakeClock()
    async with open_bells(tmp_path, clock) as one, open_bells(tmp_path, clock) as other:
        before = other.calls
        one.ring_for_work()
        async with asyncio.timeout(TIMEOUT):
            await other.called(before)
            await other.called_within(POLL_S, before)  # its clock stands still
    assert clock.slept == []
    (tmp_path / "bells").rmdir()
    (tmp_path / "bells").write_text("no folder can be here")
    clock = FakeClock(auto=True)
    async with open_bells(tmp_path, clock) as bells:
        bells.ring_for_work()
        await bells.heard()
    assert clock.slept == [POLL_S]


async def test_bells_ring_where_the_path_is_too_long_for_a_socket_and_hang_only_while_heard(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 120)
    async with open_bells(home, SystemClock()) as one, open_bells(home, SystemClock()) as other:
        called = asyncio.ensure_future(other.called(0))
        await asyncio.sleep(0)
        one.ring_for_work()
        async with asyncio.timeout(TIMEOUT):
            await called
        assert all(bell.name.startswith(ProcessIdentity.current().bell) for bell in (home / "bells").iterdir())
        assert not ProcessIdentity.current().surely_dead(home / "memory.db")
    assert list((home / "bells").iterdir()) == []
    assert not ProcessIdentity.current().surely_dead(home / "memory.db")


async def test_a_bell_that_refuses_is_reported_once_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with listener(tmp_path):
        pass  # its process is dead
    clock = FakeClock()
    bells = Bells(tmp_path, clock)
    bells.ring()
    bells.close()
    async with asyncio.timeout(TIMEOUT):
        await bells.missed.wait(clock, 10)
    bells.ring()
    bells.close()
    again = asyncio.ensure_future(bells.missed.wait(clock, 10))
    await clock.sleepers()
    assert not again.done()
    again.cancel()
    assert (tmp_path / "bells" / "other").exists()
