"""Two daemons, fifty conversations at once, kills: no cap of the day is passed, and a careless daemon would pass it."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill.caps import run


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_no_cap_is_passed_wherever_a_daemon_is_killed(tmp_path: Path) -> None:
    bills = await run(tmp_path, cap=8.0, kills=2, bursts=1, seed=chance.SEED)
    print(bills)
    assert bills.faultless, bills
    assert bills.spent > 0


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_a_daemon_that_forgets_what_others_reserved_passes_a_cap(tmp_path: Path) -> None:
    bills = await run(tmp_path, cap=0.5, kills=0, bursts=1, seed=chance.SEED, careless=True)
    print(bills)
    assert bills.overspend > 0
