"""Reminders of people everywhere, over the days in which clocks change, with two daemons, restarts and kills."""

import datetime as dt
from pathlib import Path

import pytest

from tests import chance
from tests.kill.clocks import Years, run

# 40 days with the end of a leap February, summer time that begins in New York and Berlin and ends in Adelaide
_SPRING = int(dt.datetime(2028, 2, 25, 0, 0, 30, tzinfo=dt.UTC).timestamp()) * 1000
_ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu")


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_each_reminder_comes_once_at_its_local_minute_whatever_restarts_and_dies(tmp_path: Path) -> None:
    kills = 2
    years = Years(40, _SPRING, _ZONES, movers=2, kills=kills, restarts=10, seed=chance.SEED)
    found = await run(tmp_path / "memory.db", years)
    print(found)
    assert found.faultless, found
    assert found.due > 300
    assert (found.kills, found.moves > 0) == (kills, True)


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_zones_without_daylight_saving_would_be_seen(tmp_path: Path) -> None:
    years = Years(40, _SPRING, _ZONES[:2], movers=0, kills=0, restarts=0, careless=True)
    found = await run(tmp_path / "memory.db", years)
    assert found.late > 0 or found.wrong_minute > 0, found
