"""A duty is one daemon's at a time; another takes over from one that died, and what was asked for is not lost."""

import fcntl
from pathlib import Path

import pytest

from daemon.memory.database import Database
from daemon.memory.queues.alarms import LEASE_MS, LOOK_S, Duty
from daemon.memory.queues.catch_up import CatchUpStore
from tests.fakes import FakeClock, StillClock
from tests.processes import OtherProcess, without_locks
from tests.store.parts import Stores, look, poke

HOUR_S = 3600.0


@pytest.fixture
def duty(database: Database, clock: FakeClock) -> Duty:
    return Duty(database, clock, "pruning", every_s=HOUR_S)


async def waits(duty: Duty) -> float:
    async with duty.turn() as wait:
        return wait


async def test_a_duty_is_due_at_once_and_then_as_often_as_is_set(duty: Duty, clock: FakeClock) -> None:
    assert await waits(duty) == 0
    assert await waits(duty) == pytest.approx(HOUR_S, abs=1)
    await clock.sleep(HOUR_S)
    with pytest.raises(RuntimeError):
        async with duty.turn():
            raise RuntimeError
    assert await waits(duty) == 0, "what failed is due again"
    await clock.sleep(100 * HOUR_S)
    assert await waits(duty) == 0
    clock.set_back(100 * HOUR_S)
    assert await waits(duty) <= HOUR_S, "a clock that was ahead does not put it off for ever"


async def test_another_daemon_does_not_do_what_one_is_at(database: Database, path: Path) -> None:
    duty = Duty(database, StillClock(), "pruning", every_s=HOUR_S)  # no lease ends while one looks
    with OtherProcess(path) as other:
        async with duty.turn() as ours:
            assert ours == 0
            poke(path, "UPDATE duties SET lease_owner = ?", other.name)  # as if it were the other's
            async with duty.turn() as wait:
                assert wait == LOOK_S
        assert look(path, "SELECT lease_owner FROM duties") == [(other.name,)], "what was taken over is not given back"


async def test_a_duty_of_a_killed_daemon_is_taken_over_at_once(duty: Duty, path: Path) -> None:
    with OtherProcess(path) as other:
        async with duty.turn():
            poke(path, "UPDATE duties SET lease_owner = ?", other.name)
        assert await waits(duty) == LOOK_S, "it is alive"
    assert await waits(duty) == 0


async def test_a_duty_of_a_daemon_without_a_lock_is_taken_over_in_time(
    duty: Duty, path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", without_locks)
    with OtherProcess(path) as other:
        async with duty.turn():
            poke(path, "UPDATE duties SET lease_owner = ?", other.name)
    assert await waits(duty) == LOOK_S
    await clock.sleep(LEASE_MS / 1000)
    assert await waits(duty) == 0


async def test_a_gap_is_read_once_and_once_more_when_another_came_meanwhile(stores: Stores) -> None:
    log = CatchUpStore(stores.database, stores.clock)

    async def waits_for(soul: str) -> float:
        async with log.turn(soul, "T1") as wait:
            return wait

    assert await waits_for("minoan") == LOOK_S, "no one asked"
    await log.ask("minoan", "T1")
    assert await waits_for("other") == LOOK_S
    async with log.turn("minoan", "T1") as wait:
        assert wait == 0
        await log.ask("minoan", "T1")
    assert [await waits_for("minoan"), await waits_for("minoan")] == [0, LOOK_S]


async def test_the_lease_of_a_clock_far_ahead_binds_no_one_and_one_of_seconds_does(duty: Duty, path: Path) -> None:
    later = f"UPDATE duties SET lease_owner = '{OtherProcess(path).name}', lease_until = lease_until + ?"
    for ahead_ms, waited in ((30_000, LOOK_S), (86_400_000, 0)):
        poke(path, "UPDATE duties SET lease_owner = '', lease_until = 0, due_ms = 0")
        async with duty.turn():
            poke(path, later, ahead_ms)
        assert await waits(duty) == waited, ahead_ms
