"""`soul inbox`: messages that arrived and their states."""

from dataclasses import asdict, replace

import click

from daemon.cli.database_access import for_each, with_admin
from daemon.cli.options import json_option, limit_option, names_argument, state_option
from daemon.cli.output import Columns, age, show_row, show_rows
from daemon.memory.admin.queue_admin import INBOX_STATES, Admin, Arrived

_COLUMNS: Columns[Arrived] = {
    "ID": lambda one, _: one.id,
    "STATE": lambda one, _: one.state,
    "AGE": lambda one, now: age(now, one.received_ms),
    "FROM": lambda one, _: one.author,
    "TRIES": lambda one, _: one.attempts,
    "REASON": lambda one, _: one.reason,
}


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
    show_rows([replace(one, body="") for one in found], _COLUMNS, as_json=as_json)


@command.command("show")
@click.argument("name", metavar="ID")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show one message with its words. ID may be just its ts."""
    show_row(asdict(with_admin(lambda admin: admin.message(name))), as_json=as_json)


@command.command("retry")
@names_argument("ID")
@click.option("--force", is_flag=True, help="Even an answered message, which then gets a second answer.")
def retry(names: tuple[str, ...], force: bool) -> None:
    """Have messages answered that have no answer (dead, ignored, stale or dropped)."""

    async def change(admin: Admin, name: str) -> str:
        before = await admin.retry_message(name, force=force)
        return f"{before.id} was {before.state} and waits for an answer again."

    with_admin(lambda admin: for_each(admin, names, change))


@command.command("drop")
@names_argument("ID")
def drop(names: tuple[str, ...]) -> None:
    """Leave messages without an answer for good."""

    async def change(admin: Admin, name: str) -> str:
        before = await admin.drop_message(name)
        return f"{before.id} was {before.state} and stays without an answer."

    with_admin(lambda admin: for_each(admin, names, change))
