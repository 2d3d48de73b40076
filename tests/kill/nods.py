"""Messages that are answered by a nod, the daemon killed at each commit and each request between the two.

`python -m tests.kill.nods` prints the figure: `points=… lost=0 doubled=0`. A message without the reaction is lost; one
that is thought about once more after its nod is stored, or bears words below it as well, is doubled.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.model import WorkspaceMessage
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.kill.loop import SOUL, Crowd, Nursery, nursery
from tests.kill.scenes import Scene, played
from tests.kill.verdict import count

NODDING: Final = frozenset(
    f"{label}@{moment}"
    for label in ("Commits.commit", "reactions.add", "Outbox._update")
    for moment in ("before", "after")
)
"""Points between the thought and the moment at which its nod is known to be there."""
NOD: Final = "thumbsup"
_PERSON: Final = "U0ADA"
_STILL: Final = """
    SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
    """
_SCENE: Final = Scene("nod", (("thank you", _STILL),), person=_PERSON)
_THOUGHTS: Final = "SELECT count(*) FROM thoughts"
_SOUL: Final = f"""\
name = "{SOUL}"
display_name = "Soul"
mind = "cycle"

[presence]
nod = "{NOD}"
"""


@dataclass(frozen=True, slots=True)
class NodVerdict:
    """The points that a daemon was killed at, the messages without a nod, and those with more than that."""

    points: int
    lost: int
    doubled: int

    def __str__(self) -> str:
        return f"points={self.points} lost={self.lost} doubled={self.doubled}"


async def run(home: Path, *, most: int, seed: int) -> NodVerdict:
    """Kill a daemon at so many points: those of the nod first, then others that the dice choose."""
    retries = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))
    async with serve_workspace(retries=retries) as workspace, nursery(home, workspace) as daemons:
        (home / "souls" / SOUL / "soul.toml").write_text(_SOUL)
        crowd, hit = Crowd(workspace, seed), set[str]()
        for place in (await _places(home, daemons, crowd, Random(seed)))[:most]:
            if await played(_SCENE, home, daemons, crowd, home / "passed", crash=place):
                hit.add(place)
        await played(_SCENE, home, daemons, crowd, home / "passed")
        return _judge(workspace, crowd.said, len(hit), count(home, _THOUGHTS))


async def _places(home: Path, daemons: Nursery, crowd: Crowd, dice: Random) -> Sequence[str]:
    file = home / "passed-nod"
    await played(_SCENE, home, daemons, crowd, passed=file)
    found = sorted(set(file.read_text(encoding="utf-8").split()))
    others = [place for place in found if place not in NODDING]
    return [*(place for place in found if place in NODDING), *dice.sample(others, len(others))]


def _judge(workspace: WorkspaceServer, said: Sequence[WorkspaceMessage], points: int, thoughts: int) -> NodVerdict:
    state = workspace.workspace.state
    lost = doubled = 0
    for one in said:
        timeline = state.timeline(one.channel)
        message = timeline.get(one.ts)
        lost += message is None or [reaction.name for reaction in message.reactions] != [NOD]
        below = [timeline.get(ts) for ts in timeline.replies(one.ts)]
        doubled += any(post is not None and post.author == state.app.user for post in below)
    return NodVerdict(points, lost, doubled + abs(thoughts - len(said)))


def main() -> None:
    """Run from the command line; exit code 1 where a nod is missing, or there is more than that."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="nods-"))
    verdict = asyncio.run(run(home, most=options.points, seed=options.seed))
    print(f"{verdict} seed={options.seed} home={home}")
    sys.exit(bool(verdict.lost or verdict.doubled))


if __name__ == "__main__":
    main()
