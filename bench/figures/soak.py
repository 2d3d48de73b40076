"""A quarter of a year of a workspace in fast time, judged by the promises alone; a line for each week."""

import tempfile
from pathlib import Path
from typing import Final

from bench.plan import Bench
from bench.report import Row, Sheet
from tests.soak.play import Plan, Soaked, soak

_SEED: Final = 20_260_401
_MIB: Final = 2**20


async def measure(bench: Bench) -> list[Row | Sheet]:
    """The broken promises, and the sizes of memory, file and backups over the weeks."""
    plan = Plan(
        people=bench.size(200, 40),
        days=bench.size(91, 7),
        messages=bench.size(40, 40),
        troubles=bench.size(1, 2),
        seed=_SEED,
    )
    with tempfile.TemporaryDirectory(prefix="bench-soak-") as home:
        soaked = await soak(Path(home), plan, bench.tell)
    bench.tell(f"{soaked.verdict}; troubles: {soaked.troubles}")
    for fault in soaked.verdict.faults:
        bench.tell(fault)
    return [*_rows(plan, soaked), _curves(soaked)]


def _rows(plan: Plan, soaked: Soaked) -> list[Row]:
    where, verdict = f"{plan.days} days of {plan.people} people", soaked.verdict
    return [
        Row(f"{where}, messages lost", "", verdict.lost, at_most=0),
        Row(f"{where}, messages doubled", "", verdict.doubled, at_most=0),
        Row(f"{where}, silent ends", "", verdict.silent_ends, at_most=0),
        Row(f"{where}, dead daemons", "", verdict.dead_daemons, at_most=0),
        Row(f"{where}, bots answered", "", verdict.answered_bots, at_most=0),
        Row(f"{where}, messages answered", "", verdict.answered),
        Row(f"{where}, messages that got an apology or the line about an absence", "", verdict.covered),
        Row(f"{where}, troubles", "", sum(soaked.troubles.values())),
    ]


def _curves(soaked: Soaked) -> Sheet:
    lines = tuple(
        (
            str(week.day),
            str(week.said),
            f"{week.memory / _MIB:.0f}",
            f"{week.file / _MIB:.1f}",
            f"{week.backups / _MIB:.1f}",
            str(week.copies),
        )
        for week in soaked.weeks
    )
    head = ("day", "messages", "memory, MiB", "file, MiB", "backups, MiB", "copies")
    return Sheet("The weeks", head, lines, "Memory is that of the daemon and of the workspace with all its messages.")
