"""`soul outbox`: replies on their way out, and those that did not get there."""

from dataclasses import asdict, replace

import click

from daemon.cli.database_access import with_admin
from daemon.cli.output import age, facts, say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.memory.admin.queue_admin import OUTBOX_STATES, Admin, Retried


@click.group("outbox")
def command() -> None:
    """List, show, retry or drop replies on their way out.

    \b
    JSON keys: seq, id, state, reason, conversation, part, last, recipient, reply_to, audience, platform_ts, attempts,
    created_ms, settled_ms, body. `list` leaves the body empty: what was said is shown by `show` alone.
    """


@command.command("list")
@click.option("--state", type=click.Choice(OUTBOX_STATES), help="Only posts in this state.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest posts without their words."""
    found = with_admin(load_settings(), lambda admin: admin.posts(state, limit))
    if as_json:
        say_json([replace(one, body="") for one in found])
        return
    now = SystemClock().now_ms()
    rows = [
        (str(one.seq), one.id, one.state, age(now, one.created_ms), one.recipient, str(one.attempts), one.reason)
        for one in found
    ]
    table(("NO", "KEY", "STATE", "AGE", "TO", "TRIES", "REASON"), rows)


@command.command("show")
@click.argument("name", metavar="KEY")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, as_json: bool) -> None:
    """Show one post with its words. KEY may be its number."""
    found = with_admin(load_settings(), lambda admin: admin.post(name))
    if as_json:
        say_json(found)
        return
    values = asdict(found)
    body = values.pop("body")
    facts(values)
    say(f"\n{body}")


@command.command("retry")
@click.argument("names", metavar="KEY...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Send an unknown one again without looking: it may then be there twice.")
def retry(names: tuple[str, ...], yes: bool) -> None:
    """Send posts that were given up (unknown, dead, expired or dropped).

    An unknown post may have been sent already: Slack's history is looked at first, and it is sent only if it is absent.
    """

    async def work(admin: Admin) -> None:
        for name in names:
            if await admin.retry_post(name, blindly=yes) is Retried.SENT_AGAIN:
                say(f"{name} will be sent.")
            else:
                say(f"{name} may have been sent already: it is looked up first, and sent only if it is not there.")

    with_admin(load_settings(), work)


@command.command("drop")
@click.argument("names", metavar="KEY...", nargs=-1, required=True)
def drop(names: tuple[str, ...]) -> None:
    """Never send posts that are waiting or were given up."""

    async def work(admin: Admin) -> None:
        for name in names:
            before = await admin.drop_post(name)
            say(f"{before.id} was {before.state} and won't be sent.")
            if before.platform_ts:
                say(f"A part of it is visible already, as {before.platform_ts}.")

    with_admin(load_settings(), work)
