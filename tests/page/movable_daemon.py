"""`python -m daemon run` on a clock that moves ahead by the seconds in each line of its standard input."""

import asyncio
import sys

from daemon.app import run_daemon
from daemon.cli.output import say
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from tests.fakes import TurnableClock


async def _run(clock: TurnableClock) -> None:
    loop = asyncio.get_running_loop()

    def turn() -> None:
        line = sys.stdin.readline()
        if line:
            clock.turn(float(line))
        else:
            loop.remove_reader(sys.stdin)

    loop.add_reader(sys.stdin, turn)
    await run_daemon(load_settings(), announce=say)


if __name__ == "__main__":
    shared = TurnableClock()
    for name in ("now_ms", "monotonic", "sleep"):  # the daemon and its local Slack create clocks in several places
        setattr(SystemClock, name, getattr(shared, name))
    asyncio.run(_run(shared))
