"""Starts daemons with an HTTP API quickly: everything is imported once, each daemon is a fork.

Orders come as lines on stdin, each a home; the answer is the child's pid. A child writes its URL to `url` in its home.
A signal of the test ends it.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.fakes import TurnableClock
from tests.http.daemons import HttpDaemon, settings_for
from tests.models import FakeModel


async def _live(home: Path) -> None:
    inhabited = await HttpDaemon(settings_for(home), TurnableClock(), FakeModel(), "no-espeak").ready()
    draft = home / "url.draft"
    draft.write_text(inhabited.channel.url)
    draft.rename(home / "url")
    await asyncio.Event().wait()


def _be_born(home: Path) -> None:
    """The child: it must never come back into the parent's loop."""
    try:
        asyncio.run(_live(home))
    finally:
        os._exit(70)


def main() -> None:
    """Serve orders until stdin ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # dead children are reaped at once
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            _be_born(Path(line.strip()))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
