"""`python -m tests outputs 10000 --seed 1` plays a long random run, and prints its figures and what was wrong.

`fuzz` counts payloads, `initiative` steps, `outputs` outputs of a model; exit code 1 where anything was wrong.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.chance import SEED
from tests.fuzz import play as fuzz
from tests.initiative import play as initiative
from tests.outputs import play as outputs

_SHOWN = 20  # faults


async def _played(what: str, number: int, seed: int) -> tuple[object, Sequence[str]]:
    tell = partial(print, file=sys.stderr, flush=True)
    if what == "fuzz":
        sent = await fuzz.play(number, seed)
        return sent.line, [*sent.crashes, *sent.from_others]
    if what == "outputs":
        count = await outputs.play(number, seed, tell)
        return count, count.faults
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:  # a copy may be under way as a daemon dies
        verdict = await initiative.play(Path(home), number, seed, tell)
    return verdict, verdict.faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__)
    parser.add_argument("what", choices=("fuzz", "initiative", "outputs"))
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    figures, faults = asyncio.run(_played(given.what, given.number, given.seed))
    print(*(one[:2_000] for one in faults[:_SHOWN]), sep="\n")
    print(f"{figures} seed={given.seed}")
    sys.exit(bool(faults))
