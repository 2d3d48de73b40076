"""The clock by which commands that read or set times of a mind live: that of the daemon."""

import asyncio

import click

from daemon.channels.terminal import printable
from daemon.core.clock import SystemClock
from daemon.core.config import Settings
from daemon.core.ports.clock import Clock


def daemons_clock(settings: Settings) -> Clock:
    """The machine's clock; in a rehearsal (`SOUL_REHEARSAL_CLOCK`) that of the local workspace, if it can be reached.

    Outside of a rehearsal nothing is asked over the network. Not to be called while an event loop runs.
    """
    if not settings.rehearsal_clock:
        return SystemClock()
    from daemon.app.rehearsal_clock import clock_at_hand  # slow to import

    clock = asyncio.run(clock_at_hand(settings))
    if clock is None:
        note = f"note: no local workspace says its time at {settings.slack_api_url}, so the machine's time counts"
        click.echo(printable(note), err=True)
        return SystemClock()
    return clock
