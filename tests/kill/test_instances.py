"""Of three daemons on one memory.db any may be killed: the others go on, and free nothing of one that lives."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill.instances import may_be_apart, run

KILLS = 9


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
@pytest.mark.parametrize("apart", [False, True], ids=["beside each other", "in units that see no processes of others"])
async def test_nothing_is_lost_doubled_or_freed_that_a_living_daemon_holds(tmp_path: Path, *, apart: bool) -> None:
    if apart and (why_not := may_be_apart()):
        pytest.skip(f"DAEMONS THAT SEE NO PROCESSES OF EACH OTHER ARE NOT TRIED: {why_not}")
    ends = await run(tmp_path, kills=KILLS, seed=chance.SEED, pause=(0.1, 0.8), apart=apart)
    print(ends)
    assert ends.outcome.faultless, (ends, *ends.outcome.ends)
    assert ends.freed_alive == 0
    assert ends.noticed, "who was at work when it was killed is found dead by the others"
