"""Plays of several daemons under kills: instances, caps of a day, and stops."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill import caps, instances, stop

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


async def test_nothing_is_visible_after_a_stop(tmp_path: Path) -> None:
    verdict = await stop.run(tmp_path, rounds=8, kills=4, seed=chance.SEED)
    assert verdict.after_stop_visible == 0, (str(verdict), *verdict.details)
    assert (verdict.rounds, verdict.kills) == (8, 4)
