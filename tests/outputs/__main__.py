"""`python -m tests.outputs --outputs 10000 --seed 1` prints the figures and what was wrong; exit code 1 for any.

`--without CHECK` switches one of the daemon's checks off: a run that then finds nothing proves nothing.
"""

import argparse
import asyncio
import sys
from contextlib import nullcontext

from tests.outputs.play import CHECKS, OutputCount, play, without

_PRINTED = 5


def _progress(count: OutputCount) -> None:
    sys.stderr.write(f"{count}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", choices=CHECKS)
    options = parser.parse_args()
    with without(options.without) if options.without else nullcontext():
        count = asyncio.run(play(options.outputs, options.seed, _progress))
    for faults in (count.crashes, count.shown, count.not_permitted, count.missed):
        for fault in faults[:_PRINTED]:
            print(fault[:9_000])
    print(f"{count} seed={options.seed}")
    sys.exit(bool(count.faults))


if __name__ == "__main__":
    main()
