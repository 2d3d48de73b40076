"""A small sample of the outage that `./scripts/bench gap` measures: nothing missed or doubled, at Slack's rate."""

from pathlib import Path

import pytest

from bench.gap import measure_gap


@pytest.mark.slow
async def test_an_outage_in_many_rooms_and_threads_loses_and_doubles_nothing(tmp_path: Path) -> None:
    seen = await measure_gap(tmp_path, rooms=30, threads=30, words=20, seed=0)
    print(f"missed={seen.missed} doubled={seen.doubled} most_calls_a_minute={seen.most_calls_a_minute}")
    assert (seen.missed, seen.doubled, seen.inversions, seen.refused_calls) == (0, 0, 0, 0)
    assert seen.most_calls_a_minute <= 50
    assert seen.minutes >= 1
