"""Plays of several daemons under kills: instances, caps of a day, reminders on each clock, and stops."""

import datetime as dt
from pathlib import Path

import pytest

from tests import chance
from tests.kill import caps, clocks, instances, stop
from tests.kill.clocks import Years

KILLS = 9


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
@pytest.mark.parametrize("apart", [False, True], ids=["beside each other", "in units that see no processes of others"])
async def test_nothing_is_lost_doubled_or_freed_that_a_living_daemon_holds(tmp_path: Path, *, apart: bool) -> None:
    if apart and (why_not := instances.may_be_apart()):
        pytest.skip(f"DAEMONS THAT SEE NO PROCESSES OF EACH OTHER ARE NOT TRIED: {why_not}")
    ends = await instances.run(tmp_path, kills=KILLS, seed=chance.SEED, pause=(0.1, 0.8), apart=apart)
    print(ends)
    assert ends.outcome.faultless, (ends, *ends.outcome.ends)
    assert ends.freed_alive == 0
    assert ends.noticed, "who was at work when it was killed is found dead by the others"


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_no_cap_is_passed_wherever_a_daemon_is_killed(tmp_path: Path) -> None:
    bills = await caps.run(tmp_path, cap=8.0, kills=2, bursts=1, seed=chance.SEED)
    print(bills)
    assert bills.faultless, bills
    assert bills.spent > 0


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_a_daemon_that_forgets_what_others_reserved_passes_a_cap(tmp_path: Path) -> None:
    bills = await caps.run(tmp_path, cap=0.5, kills=0, bursts=1, seed=chance.SEED, careless=True)
    print(bills)
    assert bills.overspend > 0


# 40 days with the end of a leap February, summer time that begins in New York and Berlin and ends in Adelaide
_SPRING = int(dt.datetime(2028, 2, 25, 0, 0, 30, tzinfo=dt.UTC).timestamp()) * 1000
_ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu")


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_each_reminder_comes_once_at_its_local_minute_whatever_restarts_and_dies(tmp_path: Path) -> None:
    kills = 2
    years = Years(40, _SPRING, _ZONES, movers=2, kills=kills, restarts=10, seed=chance.SEED)
    found = await clocks.run(tmp_path / "memory.db", years)
    print(found)
    assert found.faultless, found
    assert found.due > 300
    assert (found.kills, found.moves > 0) == (kills, True)


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_zones_without_daylight_saving_would_be_seen(tmp_path: Path) -> None:
    years = Years(40, _SPRING, _ZONES[:2], movers=0, kills=0, restarts=0, careless=True)
    found = await clocks.run(tmp_path / "memory.db", years)
    assert found.late > 0 or found.wrong_minute > 0, found


async def test_nothing_is_visible_after_a_stop(tmp_path: Path) -> None:
    verdict = await stop.run(tmp_path, rounds=8, kills=4, seed=chance.SEED)
    assert verdict.after_stop_visible == 0, (str(verdict), *verdict.details)
    assert (verdict.rounds, verdict.kills) == (8, 4)
