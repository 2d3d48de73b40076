"""`soul run`: the daemon itself, until SIGTERM or Ctrl-C."""

import asyncio

import click

from daemon.app import run_daemon
from daemon.cli.output import say
from daemon.core.config import load_settings


@click.command("run")
def command() -> None:
    """Run the daemon: in Slack, or in a workspace of its own when no Slack tokens are set.

    The first SIGTERM or Ctrl-C finishes what is under way, a second one cuts it short.
    """
    asyncio.run(run_daemon(load_settings(), announce=say))
