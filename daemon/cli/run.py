"""`soul run`: the daemon itself, until SIGTERM or Ctrl-C; and `soul chat`."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr

import click

from daemon.app import run_chat, run_daemon
from daemon.channels.terminal import TerminalChannel, check_user
from daemon.cli.listing import os_user, say, with_database
from daemon.core import concurrency as long_lived
from daemon.core.config import Settings, forget_secrets, load_settings
from daemon.core.errors import ConfigError, SchemaMismatch, StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.secrecy import close_process
from daemon.memory.admin.overview import Overview, survey


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
    from daemon.cli.checks import failing_checks  # once an hour, in a thread

    return failing_checks(settings)


@click.command("chat")
@click.option("--as", "person", metavar="NAME", help="Your name; default: your user name on this machine.")
def chat_command(person: str | None) -> None:
    """Talk to the soul in the terminal, until Ctrl-D.

    In a pipe each line is answered before the next is read, and only replies are printed. At a terminal the log goes to
    `chat.log` in the data folder, unless a log level is set.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigError("there is no input to read", hint="run it in a terminal or in a pipe: echo hello | soul chat")
    close_process()
    settings = load_settings()
    forget_secrets()
    name = check_user(person or os_user())
    _refuse_second_chat(settings)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    channel = TerminalChannel(
        settings.name,
        name,
        SystemClock(),
        source=sys.stdin.fileno(),
        output=sys.stdout,
        interactive=interactive,
    )
    quiet = settings.model_fields_set.isdisjoint({"log_level", "debug"})
    if quiet:
        settings = settings.model_copy(update={"log_level": "minimal"})
    with _log_to_file(settings) if quiet and interactive and sys.stderr.isatty() else nullcontext():
        asyncio.run(run_chat(settings, channel, say if interactive else _quiet))


def _quiet(_: str) -> None: ...


@contextmanager
def _log_to_file(settings: Settings) -> Iterator[None]:
    """Log to `chat.log` in the data folder instead of between the lines of the conversation."""
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = (settings.home / "chat.log").open("w", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{settings.home} can't be written: {error.strerror}", hint="set SOUL_HOME to a writable folder"
        ) from error
    with log, redirect_stderr(log):
        yield


def _refuse_second_chat(settings: Settings) -> None:
    """Raise ConfigError for a second chat: two on one memory.db would take each other's messages."""
    if not settings.database_path.exists():
        return
    now = SystemClock().now_ms()
    try:
        seen: Overview = with_database(settings, lambda database: survey(database, now, now))
    except SchemaMismatch:
        return  # the chat migrates it, or refuses it with the reason
    for other in seen.daemons:
        if other.kind == TerminalChannel.name and other.soul == settings.name and other.alive:
            raise ConfigError(
                f"another `soul chat` is open (process {other.pid} on {other.host})",
                hint="end that one first, or set SOUL_HOME to another data folder",
            )
