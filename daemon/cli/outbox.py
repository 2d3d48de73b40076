"""`soul queue outbox`: posts to be sent, sent, and not delivered."""

from dataclasses import asdict, replace

import click

from daemon.cli.database_access import with_admin
from daemon.cli.options import Selection, json_option, limit_option, many_options, state_option
from daemon.cli.output import age, say, show_row, show_rows
from daemon.memory.admin.queue_admin import OUTBOX_STATES, SETTLED_POSTS, Admin, Retried


@click.group("outbox")
def command() -> None:
    """List, show, retry or drop posts: the parts of replies on their way to the channel.

    \b
    JSON keys: seq, id, state, reason, conversation, part, last, recipient, reply_to, audience, platform_ts, attempts,
    created_ms, settled_ms, body, faults, lease_until, nod. `list` leaves the body empty; only `show` prints a post's
    words. nod is the emoji of a reaction that is the answer, empty for words.
    """


@command.command("list")
@state_option("posts", OUTBOX_STATES)
@limit_option("posts, newest first")
@json_option
def list_(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest posts without their words."""
    found = with_admin(lambda admin: admin.posts(state, limit))
    show_rows(
        [replace(one, body="") for one in found],
        ("NO", "KEY", "STATE", "AGE", "TO", "TRIES", "REASON"),
        lambda one, now: (
            *(one.seq, one.id, one.state, age(now, one.created_ms)),
            *(one.recipient, one.attempts, one.reason),
        ),
        as_json=as_json,
    )


@command.command("show")
@click.argument("name", metavar="KEY")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show one post with its words. KEY may be its number."""
    show_row(asdict(with_admin(lambda admin: admin.post(name))), as_json=as_json)


@command.command("retry")
@click.argument("names", metavar="[KEY]...", nargs=-1)
@many_options(SETTLED_POSTS)
@click.option("--yes", is_flag=True, help="Send an unknown post without looking; it may then be there twice.")
def retry(names: tuple[str, ...], state: str | None, since: str | None, yes: bool) -> None:
    """Send posts that were not delivered (unknown, dead, expired or dropped), or that rest between two tries.

    Give their keys, or choose many: `--state dead --since 6h`. A post that may have been sent is looked up in Slack's
    history first, and sent only if it is not there.
    """
    chosen = Selection.of(names, state, since)

    async def work(admin: Admin) -> None:
        for name in chosen.names or [one.id for one in reversed(await admin.posts(*chosen.query))]:
            if await admin.retry_post(name, blindly=yes) is Retried.SENT_AGAIN:
                say(f"{name} will be sent.")
            else:
                say(f"{name} may have been sent already: it is looked up first, and sent only if it is not there.")

    with_admin(work)


@command.command("drop")
@click.argument("names", metavar="KEY...", nargs=-1, required=True)
def drop(names: tuple[str, ...]) -> None:
    """Never send posts that wait, rest between two tries, or were not delivered."""

    async def work(admin: Admin) -> None:
        for name in names:
            before = await admin.drop_post(name)
            visible = f"\nA part of it is visible already, as {before.platform_ts}." if before.platform_ts else ""
            doubt = "\nIt may have been sent already." if before.state in ("sending", "unknown") else ""
            say(f"{before.id} was {before.state} and won't be sent again.{visible}{doubt}")

    with_admin(work)
