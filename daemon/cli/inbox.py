"""`soul inbox`: messages that arrived, and what became of them."""

from dataclasses import asdict, replace

import click

from daemon.cli.database_access import with_admin
from daemon.cli.output import age, facts, say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.memory.admin.queue_admin import INBOX_STATES, Admin


@click.group("inbox")
def command() -> None:
    """List, show, retry or drop messages that arrived.

    \b
    JSON keys: id, state, reason, author, name, place, audience, conversation, source, attempts, revision, received_ms,
    settled_ms, answered_by, body. `list` leaves the body empty: what people said is shown by `show` alone.
    """


@command.command("list")
@click.option("--state", type=click.Choice(INBOX_STATES), help="Only messages in this state.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest messages without their words."""
    found = with_admin(load_settings(), lambda admin: admin.messages(state, limit))
    if as_json:
        say_json([replace(one, body="") for one in found])
        return
    now = SystemClock().now_ms()
    rows = [(one.id, one.state, age(now, one.received_ms), one.author, str(one.attempts), one.reason) for one in found]
    table(("ID", "STATE", "AGE", "FROM", "TRIES", "REASON"), rows)


@command.command("show")
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, as_json: bool) -> None:
    """Show one message with its words. ID may be its ts alone."""
    found = with_admin(load_settings(), lambda admin: admin.message(name))
    if as_json:
        say_json(found)
        return
    values = asdict(found)
    body = values.pop("body")
    facts(values)
    say(f"\n{body}")


@command.command("retry")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Even if it was answered; it gets a second answer.")
def retry(names: tuple[str, ...], force: bool) -> None:
    """Have messages answered that were not (dead, ignored, stale or dropped)."""

    async def work(admin: Admin) -> None:
        for name in names:
            before = await admin.retry_message(name, force=force)
            say(f"{before.id} was {before.state} and waits for an answer again.")

    with_admin(load_settings(), work)


@command.command("drop")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def drop(names: tuple[str, ...]) -> None:
    """Leave messages without an answer for good."""

    async def work(admin: Admin) -> None:
        for name in names:
            before = await admin.drop_message(name)
            say(f"{before.id} was {before.state} and stays without an answer.")

    with_admin(load_settings(), work)
