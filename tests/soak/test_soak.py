"""Days in the life of a workspace in fast time; `scripts/bench soak` plays a quarter of a year."""

from pathlib import Path

from tests.chance import dice
from tests.soak.play import Plan, soak


async def test_two_days_with_every_trouble_lose_double_and_end_nothing_in_silence(tmp_path: Path) -> None:
    plan = Plan(people=12, days=2, messages=24, troubles=6, seed=dice("soak").randrange(10**6))
    soaked = await soak(tmp_path, plan, print)
    print(plan, soaked.troubles, *soaked.verdict.faults, sep="\n")
    assert str(soaked.verdict) == "lost=0 doubled=0 silent_ends=0 dead_daemons=0"
    assert soaked.verdict.answered_bots == 0
    assert len(soaked.troubles) == 12
