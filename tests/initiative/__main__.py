"""`python -m tests.initiative --steps 1000 --seed 1` prints the figures and what was wrong; exit code 1 for any.

A thousand steps take five to eight minutes; how far they are is said on stderr.
"""

import argparse
import asyncio
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.initiative.play import play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tell = partial(print, file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:  # a copy may be under way as a daemon dies
        verdict = asyncio.run(play(Path(home), options.steps, options.seed, tell))
    print(*verdict.faults, sep="\n")
    print(f"{verdict} seed={options.seed}")
    sys.exit(bool(verdict.faults))


if __name__ == "__main__":
    main()
