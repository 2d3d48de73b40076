"""Daemons are stopped for longer than their lease while another one goes on (P26).

`python -m tests.kill pause --kills 40` prints the figure and every message that is there twice. It is run by hand: a
process that is stopped in the very instant between its last look at the lease and its request's first byte can't be
fenced by Slack alone, so a rare 1 is possible, and no test can demand a 0 at every run.
"""

import asyncio
import os
import random
import signal
from pathlib import Path

from tests.kill.loop import stage
from tests.kill.verdict import Outcome, until_settled

LEASE = 0.8


async def run(home: Path, *, kills: int = 40, seed: int) -> Outcome:
    """Pause one of two daemons past its lease, so many times, while users post; then judge the outcome."""
    dice = random.Random(seed)
    async with stage(home, seed) as on:
        pair = [await on.daemons.spawn(pace=pace, lease=LEASE) for pace in (0.0, 0.01)]
        on.crowd.speak()
        await until_settled(home, on.workspace, on.crowd.said)
        for number in range(kills):
            paused = pair[number % 2]
            for _ in range(3):
                on.crowd.speak()
            await asyncio.sleep(dice.uniform(0, 0.05))
            os.kill(paused, signal.SIGSTOP)
            await asyncio.sleep(LEASE * 1.3)  # real time: the paused process is real
            os.kill(paused, signal.SIGCONT)
        outcome = await on.settle(kills, pid=pair[0])
        await on.daemons.end(pair[1])
    return outcome
