"""Two daemons on one file that score what is over at the same moment score each expectation once."""

import asyncio
from pathlib import Path

import pytest

from daemon.core.expectations import Check
from daemon.memory.database import open_database
from daemon.memory.expectations.settling import DuePredictions
from tests.fakes import FakeClock
from tests.store.expecting import HOUR_MS, Expecter, prediction
from tests.store.parts import Stores, look

CHECKS = (Check("silence"), Check("reply", who="U9"), Check("mention", words=("never",)))


async def test_two_daemons_score_each_expectation_once(stores: Stores, clock: FakeClock, path: Path) -> None:
    soul = Expecter(stores, clock=clock)
    await soul.expects(*[prediction(check, until_ms=clock.now_ms() + HOUR_MS) for check in CHECKS])
    await clock.advance(3_600)
    async with open_database(path, clock) as beside, asyncio.TaskGroup() as group:
        other = DuePredictions(beside, clock, soul.worker)
        runs = [group.create_task(due.fall_due()) for due in (soul.due, other) * 3]
    assert sum(run.result() for run in runs) == len(CHECKS)
    assert look(path, "SELECT scored, hits, squared FROM prediction_sums") == [(3, 1, pytest.approx(1.32))]
