"""Three daemons on one memory.db under kills, in one unit and in two that see no processes of each other (P42)."""

import tempfile
from pathlib import Path
from typing import Final

from bench.plan import Bench
from bench.report import Row
from tests.kill.instances import may_be_apart, run

_SEED: Final = 20_261_123
_PAUSE_S: Final = (0.5, 3.5)
_TAKEOVER_S: Final = 15


async def measure(bench: Bench) -> list[Row]:
    """What is lost, doubled, torn or freed too early, and how long the dead hold on; about ten minutes each."""
    rows, kills = list[Row](), bench.size(300, 30)
    for apart in (False, True):
        where = "that see no processes of each other" if apart else "beside each other"
        if apart and (why_not := may_be_apart()):
            bench.tell(f"instances {where} are not measured: {why_not}")
            continue
        with tempfile.TemporaryDirectory() as home:
            ends = await run(Path(home), kills=kills, seed=_SEED, pause=_PAUSE_S, apart=apart)
        bench.tell(f"{where}: {ends}")
        outcome, name = ends.outcome, f"three daemons {where}, {kills} kill -9"
        corrupt = len(outcome.torn) + (outcome.integrity != "ok")
        rows += [
            Row(f"{name}: lost", "", outcome.lost, at_most=0, note=f"of {outcome.events} messages"),
            Row(f"{name}: doubled", "", outcome.duplicated, at_most=0),
            Row(f"{name}: corrupt", "", corrupt, at_most=0),
            Row(f"{name}: freed of the living", "", ends.freed_alive, at_most=0),
            Row(f"{name}: held on by the dead, worst", "s", ends.takeover_s_max, at_most=_TAKEOVER_S),
        ]
    return rows
