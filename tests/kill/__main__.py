"""Plays in which daemons are killed, by hand: `python -m tests.kill NAME` prints the figure; with -h its options."""

import argparse
import asyncio
import inspect
import logging
import random
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

from tests.kill import caps, instances, joined, loop, pause, points, stop, whole_mind
from tests.kill.verdict import Figure

PLAYS: Final[Mapping[str, Callable[..., Coroutine[Any, Any, Figure]]]] = {
    "loop": loop.run,
    "whole_mind": whole_mind.run,
    "instances": instances.run,
    "files": points.files,
    "nods": points.nods,
    "ticks": points.ticks,
    "waking": points.waking,
    "joined": joined.every_point,
    "stop": stop.run,
    "caps": caps.run,
    "pause": pause.run,
}


def main() -> None:
    """Play one; exit code 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = parser.add_subparsers(dest="play", required=True)
    for name, play in PLAYS.items():
        options = names.add_parser(name, description=play.__doc__)
        for one in inspect.signature(play).parameters.values():
            if one.name == "seed":
                options.add_argument("--seed", type=int, default=random.randrange(10**6))
            elif one.default is False:
                options.add_argument(f"--{one.name}", action="store_true")
            elif isinstance(one.default, (int, float)):
                options.add_argument(f"--{one.name}", type=type(one.default), default=one.default)
    given = vars(parser.parse_args())
    name = given.pop("play")
    logging.disable(logging.CRITICAL)  # of requests that end with the daemon which made them
    home = Path(tempfile.mkdtemp(prefix=f"kill-{name}-"))
    print(f"{given} home={home}", flush=True)
    found = asyncio.run(PLAYS[name](home, **given))
    print(*found.details, found, sep="\n")
    sys.exit(not found.faultless)


if __name__ == "__main__":
    main()
