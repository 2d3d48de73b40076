"""`soul chat`: the same mind, store and cycle as in Slack, with the terminal as its channel."""

import asyncio
import sys

import click

from daemon.app import run_chat
from daemon.channels.terminal import TerminalChannel, check_person
from daemon.cli.opening import os_user, with_database
from daemon.clock import SystemClock
from daemon.config import Settings, load_settings
from daemon.errors import ConfigError, SchemaMismatch
from daemon.memory.overview import Overview, survey


@click.command("chat")
@click.option("--as", "person", metavar="NAME", help="Who you are; default: your name on this machine.")
def command(person: str | None) -> None:
    """Talk to the soul here in the terminal, until Ctrl-D.

    In a pipe each line is answered before the next is read, and nothing but the replies is printed.
    """
    settings = load_settings()
    if "log_level" not in settings.model_fields_set:
        settings = settings.model_copy(update={"log_level": "minimal"})
    name = check_person(person or os_user())
    _refuse_a_second(settings)
    channel = TerminalChannel(
        settings.name,
        name,
        SystemClock(),
        source=sys.stdin.fileno(),
        output=sys.stdout,
        interactive=sys.stdin.isatty() and sys.stdout.isatty(),
    )
    asyncio.run(run_chat(settings, channel))


def _refuse_a_second(settings: Settings) -> None:
    """Two chats on one memory.db would take each other's messages. Raises ConfigError."""
    if not settings.database_path.exists():
        return
    now = SystemClock().now_ms()
    try:
        seen: Overview = with_database(settings, lambda database: survey(database, now, now))
    except SchemaMismatch:
        return  # to be migrated first, or refused with the reason
    for other in seen.daemons:
        if other.kind == TerminalChannel.name and other.soul == settings.name and other.alive:
            raise ConfigError(
                f"another `soul chat` is open (process {other.pid} on {other.host})",
                hint="end that one first, or set SOUL_HOME to another folder",
            )
