"""`soul run`: the daemon itself, until SIGTERM or Ctrl-C."""

import asyncio

import click

from daemon.app import run_daemon
from daemon.cli.output import say
from daemon.core import long_lived
from daemon.core.config import Settings, forget_secrets, load_settings
from daemon.core.secrecy import close_process


@click.command("run")
def run_command() -> None:
    """Run the daemon: in Slack, or in a local workspace when no Slack tokens are set.

    The first SIGTERM or Ctrl-C finishes the work in progress; a second one stops at once.
    """
    close_process()
    settings = load_settings()
    forget_secrets()
    long_lived.begin()
    asyncio.run(run_daemon(settings, announce=say, doctor=_failing_checks))


def _failing_checks(settings: Settings) -> tuple[str, ...]:
    from daemon.cli.doctor import failing_checks  # once an hour, in a thread

    return failing_checks(settings)
