"""Two thousand replies, each posted in every way while Slack refuses a call: none may end without a word."""

import random
from collections import Counter
from typing import Final

from bench.plan import Bench
from bench.refusals import CODES, Case, Outcome, Way, cases, generated, trial
from bench.report import Row

_SEED: Final = 1
_SHOWN: Final = 5  # failures that are printed


async def measure(bench: Bench) -> list[Row]:
    """Replies that neither stand whole nor were refused for good, over all codes and ways of posting."""
    choice = random.Random(_SEED)  # noqa: S311  # not for secrets
    replies = [generated(choice) for _ in range(bench.size(2_000, 100))]
    ends, silent = Counter[Outcome](), list[Case]()
    async with trial() as one:
        for case in cases(replies):
            end = await one.outcome(case)
            ends[end] += 1
            if end is Outcome.SILENT:
                silent.append(case)
    for case in silent[:_SHOWN]:
        bench.tell(
            f"silent: {case.way}, {case.method} refused {case.times} times with {case.code}: {case.reply[:60]!r}"
        )
    bench.tell(f"dead_in_silence={len(silent)}")
    name = f"{len(replies)} replies, {len(CODES)} codes, {len(Way)} ways"
    return [
        Row(f"{name}: dead in silence", "", len(silent), at_most=0, note=f"of {ends.total()}"),
        Row(f"{name}: whole", "", ends[Outcome.WHOLE]),
        Row(f"{name}: refused for good, which the courier tells", "", ends[Outcome.REFUSED]),
        Row(f"{name}: waits for the admin, who is told", "", ends[Outcome.WAITING]),
    ]
