"""Three daemons on one memory.db, of which one after the other is killed at a random moment; the others go on.

`python -m tests.kill instances --kills 300 --apart` prints the figure. `--apart` puts them into two units that see no
processes of each other, as containers do.
"""

import asyncio
import dataclasses
import random
import shutil
import subprocess
import time
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.core.concurrency import alongside
from daemon.local_slack.server import serve_workspace
from daemon.local_slack.sockets import Retries
from daemon.memory.database.sqlite import sqlite3
from tests.kill.loop import APART, PATIENT, Crowd, nursery
from tests.kill.verdict import Figure, Outcome, judge, until_settled

_INSTANCES: Final = 3
_MESSAGES: Final = 3  # between two kills, at most
_POLL_S: Final = 0.05
_STANDSTILL_S: Final = 60.0
_LEASE_S: Final = 10.0  # longer than a busy machine lets a living daemon stand still; `pause.py` stops them for longer
# All that a daemon holds as long as it lives, and that others may take when it is dead.
_HOLDERS: Final = """
    SELECT lease_owner FROM conversations UNION SELECT lease_owner FROM jobs WHERE state IN ('ready', 'running')
    UNION SELECT lease_owner FROM outbox WHERE state IN ('pending', 'sending') UNION SELECT lease_owner FROM duties
    UNION SELECT process FROM awareness WHERE until_ms IS NULL UNION SELECT id FROM presence
    """


@dataclass
class Ends(Figure):
    """How the kills ended.

    `freed_alive`: how often a living daemon was held for dead. `noticed`: how many of the killed were found dead by
    another. `takeovers`: for how many seconds the dead held on what they had held, of those that were seen to.
    """

    outcome: Outcome
    freed_alive: int
    noticed: int
    takeovers: tuple[float, ...]

    @property
    def takeover_s_max(self) -> float:
        """The seconds until the last thing of a dead daemon was free, at most."""
        return max(self.takeovers, default=0.0)

    @property
    def faultless(self) -> bool:
        """Whether nothing was lost, doubled or torn, and no living daemon was held for dead."""
        return self.outcome.faultless and not self.freed_alive

    @property
    def details(self) -> tuple[str, ...]:
        """Those of the outcome."""
        return self.outcome.details

    def __str__(self) -> str:
        return f"{self.outcome} freed_alive={self.freed_alive} takeover_s_max={self.takeover_s_max:.1f}"


class Lives:
    """Which daemons of some units died when, and until when others saw what the dead had held."""

    def __init__(self, home: Path, units: int) -> None:
        self.files = tuple(home / f"lives-{unit}" for unit in range(units))
        self._home = home
        self._killed: dict[str, float] = {}
        self._held: dict[str, float] = {}

    def killed(self, pid: int, unit: int, at: float) -> None:
        """Note a kill that is done; it began `at` this moment."""
        self._killed |= dict.fromkeys(self._lived(pid, unit), at)

    async def watch(self) -> None:
        """Look who holds something, until cancelled."""
        while True:
            self.hold()
            await asyncio.sleep(_POLL_S)  # a file has no events to wait on

    def hold(self) -> bool:
        """Look whether the dead hold anything still."""
        held = self._holders() & self._killed.keys()
        self._held |= dict.fromkeys(held, time.monotonic())
        return bool(held)

    async def until_it_holds(self, pid: int, unit: int) -> None:
        """Wait until a living daemon holds something, as each does that has begun its work."""
        while not self._holders().intersection(self._lived(pid, unit)):  # noqa: ASYNC110 - as above
            await asyncio.sleep(_POLL_S)

    def ends(self, outcome: Outcome) -> Ends:
        """What became of the kills so far."""
        said = [line for file in self.files for line in _lines(file) if line[0] == "dead"]
        early = [one for _, one, at in said if float(at) < self._killed.get(one, float("inf"))]
        takeovers = tuple(until - self._killed[one] for one, until in self._held.items())
        return Ends(outcome, len(early), len({one for _, one, _ in said} & self._killed.keys()), takeovers)

    def _lived(self, pid: int, unit: int) -> list[str]:
        lived = [one for word, one, _ in _lines(self.files[unit]) if word == "lives"]
        return [one for one in lived if one.startswith(f"{pid}-") and one not in self._killed]

    def _holders(self) -> set[str]:
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self._home / "memory.db")) as connection:
            return {row[0] for row in connection.execute(_HOLDERS)}
        return set()


def _lines(file: Path) -> list[tuple[str, str, str]]:
    with suppress(FileNotFoundError):
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        return [(word, one, at) for word, one, at in lines]
    return []


def may_be_apart() -> str:
    """Why no daemons can be put into units of their own here; empty where they can."""
    if shutil.which(APART[0]) is None:
        return "there is no unshare here"
    tried = subprocess.run([*APART, "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else f"no PID namespaces here: {tried.stderr.decode(errors='replace').strip()}"


async def run(
    home: Path, *, kills: int = 300, seed: int, pause: tuple[float, float] = (0.2, 2.0), apart: bool = False
) -> Ends:
    """Kill one after the other, with a random pause, while users post; then let the last ones live and judge."""
    dice, units = random.Random(seed), 2 if apart else 1
    async with AsyncExitStack() as stack:
        retries = Retries(deadline=0.5, schedule=PATIENT)
        workspace = await stack.enter_async_context(serve_workspace(retries=retries))
        nests = [await stack.enter_async_context(nursery(home, workspace, apart=apart)) for _ in range(units)]
        crowd, lives = Crowd(workspace, seed), Lives(home, units)

        async def spawn(unit: int) -> tuple[int, int]:
            return unit, await nests[unit].spawn(pace=dice.choice((0.0, 0.01)), lease=_LEASE_S, lives=lives.files[unit])

        living = [await spawn(number % units) for number in range(_INSTANCES)]
        await stack.enter_async_context(alongside(lives.watch()))
        for number in range(kills):
            for _ in range(dice.randint(0, _MESSAGES)):
                await asyncio.sleep(dice.uniform(*pause) / _MESSAGES)
                crowd.speak()
            await asyncio.sleep(dice.uniform(*pause) / _MESSAGES)
            unit, pid = living.pop(dice.randrange(_INSTANCES))
            if number % 2:  # the others die as it comes, some before they began
                await lives.until_it_holds(pid, unit)
            began = time.monotonic()
            await nests[unit].end(pid)
            lives.killed(pid, unit, began)
            living.append(await spawn(unit))
        await until_settled(home, workspace, crowd.said)
        await _until_free(lives)
        ends = lives.ends(judge(home, workspace, crowd.said, kills))
        for unit, pid in living:
            await nests[unit].end(pid)
        integrity = judge(home, workspace, crowd.said, kills).integrity
        return dataclasses.replace(ends, outcome=dataclasses.replace(ends.outcome, integrity=integrity))


async def _until_free(lives: Lives) -> None:
    """Wait until the dead hold nothing; what they still hold after a minute makes the figure what it is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_STANDSTILL_S):
            while lives.hold():  # noqa: ASYNC110 - a file has no events
                await asyncio.sleep(_POLL_S)
