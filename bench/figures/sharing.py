"""Four processes count in two shared contexts through two daemons, under kills: lost steps, conflicts and waits."""

import asyncio
import json
import random
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.household import Household, household, make_file
from bench.plan import Bench
from bench.report import Row
from daemon.core.ports.services import SystemClock
from tests.shared.counting_at_doors import KEYS, counted

_COUNTERS: Final = 4
_WORST_MS: Final = 500
_JOURNALS: Final = ("truncate", "wal")
_ROOT: Final = Path(__file__).parents[2]
_LIVES_S: Final = (0.5, 2.0)
_SEED: Final = 11


@dataclass
class Tally:
    """What the counters of one run did together."""

    conflicts: int = 0
    waits: list[float] = field(default_factory=list)

    def take(self, line: bytes) -> None:
        """Add what one of them printed."""
        said = json.loads(line)
        self.conflicts += said["conflicts"]
        self.waits += said["waits"]


async def measure(bench: Bench) -> list[Row]:
    """Steps that are missing, and waits, in both journal modes; the same under kills, and without the version check."""
    times, rows = bench.size(200, 30), list[Row]()
    for journal in _JOURNALS:
        rows += await _by_update(journal, times)
        rows += await _at_doors(journal, times)
        rows.append(await _under_kills(journal, times, bench.size(20, 4)))
    return [*rows, await _unchecked(times)]


async def _by_update(journal: str, times: int) -> list[Row]:
    """Each process opens memory.db anew for each `update`."""
    with tempfile.TemporaryDirectory() as folder:
        make_file(Path(folder) / "memory.db", journal)
        tally, began = Tally(), SystemClock().monotonic()
        running = [await _program("counting", folder, str(times)) for _ in range(_COUNTERS)]
        for one in running:
            tally.take((await one.communicate())[0])
        taken, found = SystemClock().monotonic() - began, counted(Path(folder))["counter"]
    name = f"update by {_COUNTERS} processes, {times} each, {journal}"
    return [_counts(name, {"counter": found}, times), *_waits(name, tally, taken)]


async def _at_doors(journal: str, times: int) -> list[Row]:
    async with household(journal) as house:
        tally, began = Tally(), SystemClock().monotonic()
        running = [await _counter(house, f"c{number}", times) for number in range(_COUNTERS)]
        for one in running:
            tally.take((await one.communicate())[0])
        taken, found = SystemClock().monotonic() - began, counted(house.home)
    name = f"two keys through two daemons, {times} each, {journal}"
    return [_counts(name, found, times), *_waits(name, tally, taken)]


async def _under_kills(journal: str, times: int, kills: int) -> Row:
    """Daemons and counters are killed by turns and begun anew; in the end the counters count to the end."""
    dice, clock = random.Random(_SEED), SystemClock()  # noqa: S311 - a repeatable play
    async with household(journal) as house:
        running = {f"c{number}": await _counter(house, f"c{number}", times) for number in range(_COUNTERS)}
        for number in range(kills):
            await clock.sleep(dice.uniform(*_LIVES_S))
            if number % 2:
                await house.kill_one()
                await house.start()
                continue
            name = dice.choice(sorted(running))
            if running[name].returncode is None:
                running[name].kill()
            await running[name].communicate()
            running[name] = await _counter(house, name, times)
        for one in running.values():
            await one.communicate()
        found = counted(house.home)
    return _counts(f"the same under {kills} kill -9 of daemons and counters, {journal}", found, times)


async def _unchecked(times: int) -> Row:
    async with household("wal") as house:
        running = [await _counter(house, f"c{number}", times, "--unchecked") for number in range(_COUNTERS)]
        for one in running:
            await one.communicate()
        found = counted(house.home)
    missing = len(KEYS) * _COUNTERS * times - sum(found.values())
    return Row("steps lost without the version check", "", missing, at_least=1, note="so that there have to be some")


def _counts(name: str, found: dict[str, int], times: int) -> Row:
    expected = _COUNTERS * times
    wrong, counts = sum(abs(expected - one) for one in found.values()), "/".join(str(one) for one in found.values())
    return Row(f"{name}: steps lost or doubled", "", wrong, at_most=0, note=f"expected={expected} found={counts}")


def _waits(name: str, tally: Tally, taken: float) -> list[Row]:
    steps = len(tally.waits)
    return [
        Row(f"{name}: conflicts a step", "", tally.conflicts / steps, note=f"{steps / taken:.0f} steps/s"),
        Row(f"{name}: worst wait", "ms", max(tally.waits), at_most=_WORST_MS),
    ]


async def _counter(house: Household, name: str, times: int, *more: str) -> Process:
    return await _program("counting_at_doors", str(house.doors), name, str(times), *more)


async def _program(name: str, *given: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"tests.shared.{name}", *given), cwd=_ROOT, stdout=PIPE
    )
