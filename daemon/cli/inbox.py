"""`soul queue inbox`: messages that arrived and their states."""

from dataclasses import asdict, replace

import click

from daemon.cli.database_access import with_admin
from daemon.cli.options import Selection, json_option, limit_option, many_options, state_option
from daemon.cli.output import age, say, show_row, show_rows
from daemon.memory.admin.queue_admin import INBOX_STATES, SETTLED_MESSAGES, Admin


@click.group("inbox")
def command() -> None:
    """List, show, retry or drop messages that arrived.

    \b
    JSON keys: id, state, reason, author, name, place, audience, conversation, source, attempts, revision, received_ms,
    settled_ms, answered_by, body. `list` leaves the body empty; only `show` prints a message's words.
    """


@command.command("list")
@state_option("messages", INBOX_STATES)
@limit_option("messages, newest first")
@json_option
def list_(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest messages without their words."""
    found = with_admin(lambda admin: admin.messages(state, limit))
    show_rows(
        [replace(one, body="") for one in found],
        ("ID", "STATE", "AGE", "FROM", "TRIES", "REASON"),
        lambda one, now: (one.id, one.state, age(now, one.received_ms), one.author, one.attempts, one.reason),
        as_json=as_json,
    )


@command.command("show")
@click.argument("name", metavar="ID")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show one message with its words. ID may be just its ts."""
    show_row(asdict(with_admin(lambda admin: admin.message(name))), as_json=as_json)


@command.command("retry")
@click.argument("names", metavar="[ID]...", nargs=-1)
@many_options(SETTLED_MESSAGES)
@click.option("--force", is_flag=True, help="Even an answered message, which then gets a second answer.")
def retry(names: tuple[str, ...], state: str | None, since: str | None, force: bool) -> None:
    """Have messages answered that have no answer (dead, ignored, stale or dropped), or whose daemon died.

    Give their ids, or choose many: `--state dead --since 6h`.
    """
    chosen = Selection.of(names, state, since)

    async def work(admin: Admin) -> None:
        for name in chosen.names or [one.id for one in reversed(await admin.messages(*chosen.query))]:
            before = await admin.retry_message(name, force=force)
            say(f"{before.id} was {before.state} and waits for an answer again.")

    with_admin(work)


@command.command("drop")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def drop(names: tuple[str, ...]) -> None:
    """Leave messages without an answer for good."""

    async def work(admin: Admin) -> None:
        for name in names:
            before = await admin.drop_message(name)
            say(f"{before.id} was {before.state} and stays without an answer.")

    with_admin(work)
