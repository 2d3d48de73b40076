"""A soul awakens, the daemon killed at each commit on the way to its first thought.

`python -m tests.kill.waking` prints the figure: `points=… lost=0 doubled=0 shown=0`. A soul that never thinks its first
thought is lost, one that thinks it twice doubled; one of which anybody sees anything is shown.
"""

import argparse
import asyncio
import sys
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from daemon.memory.database.driver import sqlite3
from tests.kill.loop import SOUL, Nursery, alive, kill, nursery, until_dead
from tests.kill.scenes import LEASE
from tests.kill.verdict import count

_ON_THE_WAY: Final = ("Awakenings", "Conversations.claim_chosen", "Reservations.reserve", "Commits.commit", "settle@")
_PATIENCE: Final = 60.0  # seconds
_LAST_MOMENT: Final = 3.0  # seconds
_SETTINGS: Final = {"cycle_tokens_hour": 10_000_000, "cycle_tokens_day": 10_000_000}  # what dies counts as spent
_SOUL: Final = f'name = "{SOUL}"\ndisplay_name = "Soul"\nmind = "cycle"\n\n[cycle]\nenabled = true\n'
_AWAKE: Final = """
    SELECT EXISTS (SELECT 1 FROM awakenings WHERE woke_ms IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))
    """
_FIRST: Final = "SELECT count(*) FROM thoughts WHERE occasion = 'awakening'"
_ANEW: Final = ("DELETE FROM awakenings", "DELETE FROM ticks", "DELETE FROM thoughts", "DELETE FROM tick_counts")


@dataclass(frozen=True, slots=True)
class WakingVerdict:
    """The points that a daemon was killed at, and how many first thoughts went wrong."""

    points: int
    lost: int
    doubled: int
    shown: int

    def __str__(self) -> str:
        return f"points={self.points} lost={self.lost} doubled={self.doubled} shown={self.shown}"

    @property
    def faults(self) -> int:
        """All of them."""
        return self.lost + self.doubled + self.shown


async def run(home: Path, *, most: int, seed: int) -> WakingVerdict:
    """Kill a daemon at so many points on the way to a first thought, chosen by chance; another one takes over."""
    retries = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))
    async with serve_workspace(retries=retries) as workspace, nursery(home, workspace) as daemons:
        (home / "souls" / SOUL / "soul.toml").write_text(_SOUL, encoding="utf-8")
        (home / "souls" / SOUL / "awakening.md").write_text("You are.", encoding="utf-8")
        await _played(home, daemons)
        places = sorted({one for one in _passed(home).read_text("utf-8").split() if one.startswith(_ON_THE_WAY)})
        hit, lost, doubled = 0, 0, 0
        for place in Random(seed).sample(places, min(most, len(places))):
            _begin_anew(home)
            hit += await _played(home, daemons, crash=place)
            lost += not count(home, _AWAKE)
            doubled += max(0, count(home, _FIRST) - 1)
        return WakingVerdict(hit, lost, doubled, _posts(workspace) + count(home, "SELECT count(*) FROM outbox"))


async def _played(home: Path, daemons: Nursery, crash: str = "") -> bool:
    """Have a daemon awaken its soul, and crash at a point; gives whether it did. Another one goes on then."""
    pid = await daemons.spawn(crash=crash, passed=str(_passed(home)), lease=LEASE, settings=_SETTINGS)
    await _until_awake(home, pid)
    if crash and alive(pid):  # it may die a moment after the condition holds
        with suppress(TimeoutError):
            await asyncio.wait_for(until_dead(pid), _LAST_MOMENT)
    died = not alive(pid)
    kill(pid)
    await until_dead(pid)
    if died:
        pid = await daemons.spawn(lease=LEASE, settings=_SETTINGS)
        await _until_awake(home, pid)
        kill(pid)
        await until_dead(pid)
    return died


async def _until_awake(home: Path, pid: int) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while alive(pid):
                await asyncio.sleep(0.01)  # a file has no events to wait on
                with suppress(sqlite3.OperationalError):  # the first daemon is still creating the tables
                    if count(home, _AWAKE):
                        return


def _passed(home: Path) -> Path:
    return home / "passed-waking"


def _begin_anew(home: Path) -> None:
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        for statement in _ANEW:
            connection.execute(statement)


def _posts(workspace: WorkspaceServer) -> int:
    state = workspace.workspace.state
    everything = (post for channel in state.channels for post in state.timeline(channel).everything())
    return sum(post.author == state.app.user for post in everything)


def main() -> None:
    """Run from the command line; exit code 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="waking-"))
    verdict = asyncio.run(run(home, most=options.points, seed=options.seed))
    print(f"{verdict} seed={options.seed} home={home}")
    sys.exit(bool(verdict.faults))


if __name__ == "__main__":
    main()
