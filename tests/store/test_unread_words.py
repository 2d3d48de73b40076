"""Words that were to be learned from and were passed over are queued again, and not for ever."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.memory.database import open_database
from daemon.memory.knowledge.user_models import note_to_look_through
from daemon.memory.queues.jobs import UnreadWords
from tests.fakes import FakeClock
from tests.unit.subprocess_parts import DM, IN_DM, WORKER, SubprocessBench

HOUR = 3600.0


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[SubprocessBench]:
    clock = FakeClock(auto=True)
    async with open_database(tmp_path / "memory.db", clock) as database:
        made = SubprocessBench(database, clock)
        await made.open(DM, IN_DM)
        await made.say("U1", "I keep bees on the roof", "lovely")
        await database.write(lambda transaction: note_to_look_through(transaction, DM, {"U1": 1}))
        yield made


async def looks(bench: SubprocessBench, least: int = 1) -> int:
    return await UnreadWords(bench.database, bench.clock, WORKER).sweep(least)


async def die(bench: SubprocessBench) -> None:
    await bench._run(f"UPDATE jobs SET state = 'dead', settled_ms = {bench.clock.now_ms()} WHERE state = 'ready'")


async def test_they_are_queued_once_and_only_for_who_has_said_enough_or_asked(bench: SubprocessBench) -> None:
    assert await looks(bench, least=2) == 0
    await bench._run(
        "INSERT INTO shown_facts (soul, workspace, person, facts, shown_ms)"
        f" VALUES ('ada', 'T1', 'U1', '[]', {bench.clock.now_ms() + 1})"
    )
    assert await looks(bench, least=2) == 1
    assert await looks(bench) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE looked_through SET up_to = 1",
        "DELETE FROM turns WHERE speaker = 'person'",
        "INSERT INTO remembering (soul, workspace, person, paused_ms) VALUES ('ada', 'T1', 'U1', 1)",
        "UPDATE turns SET passing = 1",
    ],
)
async def test_what_was_read_is_gone_or_not_to_be_kept_is_not_queued(bench: SubprocessBench, statement: str) -> None:
    await bench._run(statement)
    assert await looks(bench) == 0


async def test_words_behind_a_failed_look_are_tried_again_each_day_three_times_in_all(bench: SubprocessBench) -> None:
    found = []
    for _ in range(5):
        found.append(await looks(bench))
        await die(bench)
        assert await looks(bench) == 0
        await bench.clock.advance(25 * HOUR)
    assert found == [1, 1, 1, 0, 0]


async def test_a_look_that_failed_by_a_clock_far_ahead_keeps_nothing_waiting(bench: SubprocessBench) -> None:
    assert await looks(bench) == 1
    await die(bench)
    bench.clock.set_back(400 * 24 * HOUR)
    assert await looks(bench) == 1
