"""Sends odd and foreign payloads: `python -m tests.fuzz --payloads 5000 --seed 1`; exit code 1 where one got in."""

import argparse
import asyncio
import sys

from tests.chance import SEED
from tests.fuzz.play import play

_SHOWN = 20  # faults that are printed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--payloads", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    counted = asyncio.run(play(options.payloads, options.seed))
    print(f"{counted.line} seed={options.seed}")
    for fault in [*counted.crashes, *counted.from_others][:_SHOWN]:
        print(f"  {fault[:500]}")
    return 1 if counted.crashes or counted.from_others else 0


if __name__ == "__main__":
    sys.exit(main())
