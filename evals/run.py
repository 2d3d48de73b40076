"""Plays many scenarios, some at once, within bounds of money and time; what was played outlives an interruption."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

import msgspec

from daemon.core.value import Value
from evals.environment import Model
from evals.house import Launch, launch_process
from evals.play import Limits, play
from evals.scenario import Scenario
from evals.script import scripted
from evals.seen import Played
from evals.spending import BoundReached, Spending


class Rehearsal(StrEnum):
    """Which of the scenarios' own samples answer instead of a model."""

    NONE = ""
    RIGHT = "right"
    WRONG = "wrong"


class Order(Value):
    """What to play: each scenario so many times, `jobs` at once, within `seconds` and the money of `spending`."""

    scenarios: Sequence[Scenario]
    model: Model
    repeat: int = 1
    jobs: int = 1
    seconds: float = 3600.0
    turn_seconds: float = 240.0
    spending: Spending = msgspec.field(default_factory=Spending)
    rehearsal: Rehearsal = Rehearsal.NONE


@dataclass(slots=True)
class Run:
    """A run: `plays` grows with each scenario; `stopped` says why it ended before all were played."""

    order: Order
    tell: Callable[[str], None]
    launch: Launch = launch_process
    plays: list[Played] = field(default_factory=list)
    stopped: str = ""

    async def play(self) -> None:
        """Play everything; ends by itself when a bound is reached, and when it is cancelled."""
        waiting = [
            (scenario, number) for number in range(1, self.order.repeat + 1) for scenario in self.order.scenarios
        ]
        waiting.reverse()
        try:
            async with asyncio.timeout(self.order.seconds), asyncio.TaskGroup() as group:
                for _ in range(min(self.order.jobs, len(waiting))):
                    group.create_task(self._work(waiting))
        except TimeoutError:
            self.stopped = f"the time is over (--max-minutes {self.order.seconds / 60:g})"
        except asyncio.CancelledError:
            self.stopped = "interrupted"
        places = {scenario.name: number for number, scenario in enumerate(self.order.scenarios)}
        self.plays.sort(key=lambda one: (one.repeat, places[one.scenario.name]))

    async def _work(self, waiting: list[tuple[Scenario, int]]) -> None:
        """Play what waits, one after the other, until nothing does or the money is used up."""
        while waiting and not self.stopped:
            try:
                self.order.spending.check()
            except BoundReached as bound:
                self.stopped = bound.message
                return
            scenario, repeat = waiting.pop()
            played = await self._one(scenario, repeat)
            self.plays.append(played)
            self.tell(_line(played))

    async def _one(self, scenario: Scenario, repeat: int) -> Played:
        order = self.order
        perform = partial(play, scenario, repeat=repeat, launch=self.launch, keep=self.plays.append)
        limits = Limits(order.turn_seconds, order.spending)
        if order.rehearsal is Rehearsal.NONE:
            return await perform(model=order.model, limits=limits)
        async with scripted(scenario, order.model, wrong=order.rehearsal is Rehearsal.WRONG) as (model, script):
            return await perform(model=model, limits=limits, on_turn=script.begin)


def exit_code(run: Run) -> int:
    """0: every check passed, 1: some did not, 2: not everything could be played.

    In a rehearsal with wrong samples a scenario has to fail in just the categories that its samples name.
    """
    if run.stopped or any(play.broke_off for play in run.plays):
        return 2
    if run.order.rehearsal is Rehearsal.WRONG:
        return int(any(missed_faults(play) for play in run.plays))
    return int(not all(play.passed for play in run.plays))


def missed_faults(played: Played) -> tuple[str, ...]:
    """The categories in which wrong samples had to score as wrong and did not."""
    failed = {check.category for check in played.all_checks if not check.passed}
    wanted = {category for turn in played.scenario.turns if turn.wrong for category in turn.wrong.fails}
    return tuple(sorted(wanted - failed))


def _line(played: Played) -> str:
    failed = [check for check in played.all_checks if not check.passed]
    if played.broke_off:
        verdict = f"broke off: {played.broke_off}"
    else:
        verdict = "passed" if not failed else f"{len(failed)} of {len(played.all_checks)} checks failed"
    return f"{played.scenario.name}: {verdict} ({played.seconds:.0f} s)"
