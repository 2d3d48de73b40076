"""Replies with a file, the daemon killed at each commit and each request between the question and the file.

`python -m tests.kill.files` prints the figure: `points=… lost=0 doubled=0`. A reply whose file is not in its thread, or
not whole, is lost; one with more than one file, or more than one message of words, is doubled.
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
from tests.kill.loop import Crowd, Nursery, kill, nursery, until_dead
from tests.kill.mind import LINES
from tests.kill.scenes import Scene, played
from tests.kill.verdict import until_settled

SHARING: Final = frozenset(
    f"{label}@{moment}"
    for label in ("files.getUploadURLExternal", "files.completeUploadExternal", "Outbox._update")
    for moment in ("before", "after")
)
"""Points that no reply without a file passes, and the one at which it is known to be there."""
_PERSON: Final = "U0ADA"
_STILL: Final = """
    SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
    """
_SCENE: Final = Scene("file", (("please send it as a file", _STILL),), person=_PERSON)


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """The points that a daemon was killed at, and the replies whose file is missing or there more than once."""

    points: int
    lost: int
    doubled: int

    def __str__(self) -> str:
        return f"points={self.points} lost={self.lost} doubled={self.doubled}"


async def run(home: Path, *, most: int, seed: int) -> FileVerdict:
    """Kill a daemon at so many points: those of the sharing first, then others that the dice choose."""
    retries = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))
    async with serve_workspace(retries=retries) as workspace, nursery(home, workspace) as daemons:
        crowd, hit = Crowd(workspace, seed), set[str]()
        for place in (await _places(home, daemons, crowd, Random(seed)))[:most]:
            if await played(_SCENE, home, daemons, crowd, home / "passed", crash=place):
                hit.add(place)
        last = await daemons.spawn()
        await until_settled(home, workspace, crowd.said)
        verdict = _judge(workspace, crowd.said, len(hit))
        kill(last)
        await until_dead(last)
    return verdict


async def _places(home: Path, daemons: Nursery, crowd: Crowd, dice: Random) -> Sequence[str]:
    file = home / "passed-file"
    await played(_SCENE, home, daemons, crowd, passed=file)
    found = sorted(set(file.read_text(encoding="utf-8").split()))
    others = [place for place in found if place not in SHARING]
    return [*(place for place in found if place in SHARING), *dice.sample(others, len(others))]


def _judge(workspace: WorkspaceServer, said: Sequence[WorkspaceMessage], points: int) -> FileVerdict:
    state = workspace.workspace.state
    lost = doubled = 0
    for one in said:
        timeline = state.timeline(one.channel)
        below = [timeline.get(ts) for ts in timeline.replies(one.ts)]
        mine = [post for post in below if post is not None and post.author == state.app.user]
        whole = [state.files[file].content for post in mine for file in post.files]
        lost += not any(content.count(b"line_") == LINES for content in whole) or len(mine) < len(("words", "file"))
        doubled += len(whole) > 1 or len(mine) > len(("words", "file"))
    return FileVerdict(points, lost, doubled)


def main() -> None:
    """Run from the command line; exit code 1 where a file is missing, or there twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="files-"))
    verdict = asyncio.run(run(home, most=options.points, seed=options.seed))
    print(f"{verdict} seed={options.seed} home={home}")
    sys.exit(bool(verdict.lost or verdict.doubled))


if __name__ == "__main__":
    main()
