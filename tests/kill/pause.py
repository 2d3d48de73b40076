"""Daemons are stopped for longer than their lease while another one goes on (P26).

`python -m tests.kill.pause --pauses 40` prints the figure and every message that is there twice. It is run by hand: a
process that is stopped in the very instant between its last look at the lease and its request's first byte can't be
fenced by Slack alone, so a rare 1 is possible, and no test can demand a 0 at every run.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.server import serve_workspace
from tests.kill.loop import Crowd, kill, nursery, until_dead
from tests.kill.verdict import Outcome, judge, key_of, replies, until_settled

LEASE = 0.8


async def run(home: Path, *, pauses: int, seed: int) -> Outcome:
    """Pause one of two daemons past its lease, again and again, while users post; then judge the outcome."""
    dice = random.Random(seed)
    async with (
        serve_workspace(retries=Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))) as workspace,
        nursery(home, workspace) as daemons,
    ):
        crowd = Crowd(workspace, seed)
        pair = [await daemons.spawn(pace=pace, lease=LEASE) for pace in (0.0, 0.01)]
        crowd.speak()
        await until_settled(home, workspace, crowd.said)
        for number in range(pauses):
            paused = pair[number % 2]
            for _ in range(3):
                crowd.speak()
            await asyncio.sleep(dice.uniform(0, 0.05))
            os.kill(paused, signal.SIGSTOP)
            await asyncio.sleep(LEASE * 1.3)  # real time: the paused process is real
            os.kill(paused, signal.SIGCONT)
        await until_settled(home, workspace, crowd.said)
        outcome = judge(home, workspace, crowd.said, pauses)
        for pid in pair:
            kill(pid)
            await until_dead(pid)
        posts = replies(workspace)
        seen = Counter(key_of(post) for post in posts)
        for post in posts:
            if seen[key_of(post)] > 1 or not key_of(post):
                print(post)
    return outcome


def main() -> None:
    """Run from the command line; exit code 1 when a message was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pauses", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="pause-"))
    print(f"seed={options.seed} home={home}")
    outcome = asyncio.run(run(home, pauses=options.pauses, seed=options.seed))
    print(str(outcome).replace("kills", "pauses"))
    sys.exit(not outcome.faultless)


if __name__ == "__main__":
    main()
