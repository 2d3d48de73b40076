"""Goals that fall due, the daemon killed at each commit and request between the message and the thought about its goal.

`python -m tests.kill.ticks` prints the figure: `points=… lost=0 doubled=0 shown=0 uncounted=0 torn=0`. A goal that is
never thought about is lost, one that is thought about twice doubled; a thought of the soul's own that anybody sees is
shown, one that no budget knows of uncounted; a hole in the chain of thoughts is torn. With `--promised` words about
each goal are promised: they are posted once, or else lost or doubled.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.kill.loop import SOUL, Crowd, Nursery, nursery
from tests.kill.mind import KEPT
from tests.kill.scenes import Scene, played
from tests.kill.verdict import count, faults_of

OF_THE_GOAL: Final = "Commits.commit(due)"
"""What is passed for a goal alone."""
TWICE: Final = ("Conversations.claim_chosen", "Reservations.reserve", "chat.postMessage", "Outbox._update", "settle@")
"""What is passed for a message, and again for its goal."""

_PERSON: Final = "U0ADA"
_DONE: Final = """
    SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
    AND NOT EXISTS (SELECT 1 FROM goals WHERE state = 'open')
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('pending', 'sending'))
    AND (SELECT count(*) FROM goals) = (SELECT count(*) FROM inbox WHERE modality = 'words')
    """
_SETTINGS: Final = {  # what dies counts as spent
    "cycle_tokens_hour": 10_000_000,
    "cycle_tokens_day": 10_000_000,
    "quiet_hours": "",
}
_PLANNED: Final = Scene("ticks", (("plan it", _DONE),), person=_PERSON, settings=_SETTINGS)
_PROMISED: Final = Scene("promises", (("promise it", _DONE),), person=_PERSON, settings=_SETTINGS)
_SOUL: Final = f"""\
name = "{SOUL}"
display_name = "Soul"
mind = "cycle"

[presence]
nod = "thumbsup"

[cycle]
enabled = true
"""
_ALONE: Final = "SELECT count(*) FROM thoughts WHERE occasion = 'due'"
_PAID: Final = """
    SELECT (SELECT count(*) FROM llm_calls WHERE tick = 1) + (SELECT count(*) FROM reservations WHERE tick = 1)
    """


@dataclass(frozen=True, slots=True)
class TickVerdict:
    """The points that a daemon was killed at, and what went wrong with how many goals."""

    points: int
    lost: int
    doubled: int
    shown: int
    uncounted: int
    torn: int

    def __str__(self) -> str:
        faults = (
            f"lost={self.lost} doubled={self.doubled} shown={self.shown} uncounted={self.uncounted} torn={self.torn}"
        )
        return f"points={self.points} {faults}"

    @property
    def faults(self) -> int:
        """All of them."""
        return self.lost + self.doubled + self.shown + self.uncounted + self.torn


async def run(home: Path, *, most: int, seed: int, promised: bool = False) -> TickVerdict:
    """Kill a daemon at so many points: those on the way to a thought of its own first, then others by chance."""
    retries = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))
    async with serve_workspace(retries=retries) as workspace, nursery(home, workspace) as daemons:
        (home / "souls" / SOUL / "soul.toml").write_text(_SOUL)
        crowd, hit, scene = Crowd(workspace, seed), set[str](), _PROMISED if promised else _PLANNED
        for place in (await _places(scene, home, daemons, crowd, Random(seed)))[:most]:
            if await played(scene, home, daemons, crowd, home / "passed", crash=place):
                hit.add(place)
        await played(scene, home, daemons, crowd, home / "passed")
        found = _judge(home, workspace, len(crowd.said), len(hit))
        return _of_promises(found, workspace, len(crowd.said)) if promised else found


async def _places(scene: Scene, home: Path, daemons: Nursery, crowd: Crowd, dice: Random) -> Sequence[str]:
    file = home / "passed-ticks"
    await played(scene, home, daemons, crowd, passed=file)
    found = sorted(set(file.read_text(encoding="utf-8").split()))
    alone = [place for place in found if place.startswith(OF_THE_GOAL)]
    second = [f"{place}:2" for place in found if place.startswith(TWICE)]
    others = [place for place in found if place not in alone]
    return [*alone, *dice.sample(second, len(second)), *dice.sample(others, len(others))]


def _judge(home: Path, workspace: WorkspaceServer, said: int, points: int) -> TickVerdict:
    state = workspace.workspace.state
    goals, alone = count(home, "SELECT count(*) FROM goals WHERE state = 'done'"), count(home, _ALONE)
    everything = (post for channel in state.channels for post in state.timeline(channel).everything())
    posts = sum(post.author == state.app.user for post in everything)
    return TickVerdict(
        points,
        lost=said - goals,
        doubled=max(0, alone - said),
        shown=posts,
        uncounted=max(0, alone - count(home, _PAID)),
        torn=len(faults_of(home)),
    )


def _of_promises(found: TickVerdict, workspace: WorkspaceServer, said: int) -> TickVerdict:
    """The same, where each message is answered by a promise and words that keep it."""
    state = workspace.workspace.state
    everything = [post for channel in state.channels for post in state.timeline(channel).everything()]
    kept = sum(post.author == state.app.user and post.text.strip() == KEPT for post in everything)
    return replace(
        found,
        lost=found.lost + max(0, said - kept),
        doubled=found.doubled + max(0, kept - said),
        shown=max(0, found.shown - 2 * said),
    )


def main() -> None:
    """Run from the command line; exit code 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--promised", action="store_true")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="ticks-"))
    verdict = asyncio.run(run(home, most=options.points, seed=options.seed, promised=options.promised))
    print(f"{verdict} seed={options.seed} home={home}")
    sys.exit(bool(verdict.faults))


if __name__ == "__main__":
    main()
