"""`soul queue inbox`, `outbox`, `jobs`, `feedback` and `notes`: messages, posts, background work, ratings, notes."""

from collections.abc import Sequence
from typing import Final

import click

from daemon.cli.listing import Card, Here, acts_on_each, ago, lists, shows
from daemon.cli.options import audience_in, limit_option, state_option
from daemon.cli.words import Hidden, plain
from daemon.core.errors import StoreError
from daemon.core.notes import NoteBudget, NoteKind, SharedMessage
from daemon.core.perception import Audience, AudienceKind
from daemon.core.text import one_line, shortened
from daemon.memory.admin.queue_admin import (
    INBOX_STATES,
    JOB_STATES,
    OUTBOX_STATES,
    SETTLED_MESSAGES,
    SETTLED_POSTS,
    Admin,
    JobAdmin,
    Retried,
)
from daemon.memory.admin.replies import list_feedback
from daemon.memory.records import Row
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.messages import NoteStore
from daemon.shared.events import send_as_admin

_SHOWN: Final = 60  # characters of what was wrong, and of the reply


_MESSAGE: Final = (
    "id, state, reason, author, name, place, audience, conversation, source, attempts, revision, received_ms, "
    "settled_ms, answered_by, body"
)
_POST: Final = (
    "seq, id, state, reason, conversation, part, last, recipient, reply_to, audience, platform_ts, attempts, "
    "created_ms, settled_ms, body, faults, lease_until, nod"
)
_JOB: Final = "seq, kind, conversation, state, reason, attempts, faults, not_before, created_ms, settled_ms"


def _without_body(rows: Sequence[Row]) -> list[Row]:
    return [{**one, "body": ""} for one in rows]


@click.group("inbox")
def inbox() -> None:
    """List, show, retry or drop messages that arrived."""


@inbox.command("list")
@state_option("messages", INBOX_STATES)
@limit_option("messages, newest first")
@lists(_MESSAGE, "id state", ago("received_ms"), "FROM=author TRIES=attempts reason")
async def list_messages(here: Here, state: str | None, limit: int) -> list[Row]:
    """List the newest messages without their words: the body is empty."""
    return _without_body(await here.admin(Admin).messages(state, limit))


@inbox.command("show")
@click.argument("name", metavar="ID")
@shows(_MESSAGE, Card("body"))
async def show_message(here: Here, name: str) -> Row:
    """Show one message with its words. ID may be just its ts."""
    return await here.admin(Admin).message(name)


@inbox.command("retry")
@click.option("--force", is_flag=True, help="Even an answered message, which then gets a second answer.")
@acts_on_each("[ID]", states=SETTLED_MESSAGES, found=lambda here, *asked: here.admin(Admin).messages(*asked))
async def retry_messages(here: Here, name: str, force: bool) -> str:
    """Have messages answered that have no answer (dead, ignored, stale or dropped), or whose daemon died.

    Give their ids, or choose many: `--state dead --since 6h`.
    """
    before = await here.admin(Admin).retry_message(name, force=force)
    return f"{before['id']} was {before['state']} and waits for an answer again."


@inbox.command("drop")
@acts_on_each("ID")
async def drop_messages(here: Here, name: str) -> str:
    """Leave messages without an answer for good."""
    before = await here.admin(Admin).drop_message(name)
    return f"{before['id']} was {before['state']} and stays without an answer."


@click.group("outbox")
def outbox() -> None:
    """List, show, retry or drop posts: the parts of replies on their way to the channel."""


@outbox.command("list")
@state_option("posts", OUTBOX_STATES)
@limit_option("posts, newest first")
@lists(_POST, "NO=seq KEY=id state", ago("created_ms"), "TO=recipient TRIES=attempts reason")
async def list_posts(here: Here, state: str | None, limit: int) -> list[Row]:
    """List the newest posts without their words: the body is empty."""
    return _without_body(await here.admin(Admin).posts(state, limit))


@outbox.command("show")
@click.argument("name", metavar="KEY")
@shows(_POST, Card("body"))
async def show_post(here: Here, name: str) -> Row:
    """Show one post with its words. KEY may be its number; `nod` is the emoji of a reaction in place of words."""
    return await here.admin(Admin).post(name)


@outbox.command("retry")
@click.option("--yes", is_flag=True, help="Send an unknown post without looking; it may then be there twice.")
@acts_on_each("[KEY]", states=SETTLED_POSTS, found=lambda here, *asked: here.admin(Admin).posts(*asked))
async def retry_posts(here: Here, name: str, yes: bool) -> str:
    """Send posts that were not delivered (unknown, dead, expired or dropped), or that rest between two tries.

    Give their keys, or choose many: `--state dead --since 6h`. A post that may have been sent is looked up in Slack's
    history first, and sent only if it is not there.
    """
    if await here.admin(Admin).retry_post(name, blindly=yes) is Retried.SENT_AGAIN:
        return f"{name} will be sent."
    return f"{name} may have been sent already: it is looked up first, and sent only if it is not there."


@outbox.command("drop")
@acts_on_each("KEY")
async def drop_posts(here: Here, name: str) -> str:
    """Never send posts that wait, rest between two tries, or were not delivered."""
    before = await here.admin(Admin).drop_post(name)
    visible = f"\nA part of it is visible already, as {before['platform_ts']}." if before["platform_ts"] else ""
    doubt = "\nIt may have been sent already." if before["state"] in ("sending", "unknown") else ""
    return f"{before['id']} was {before['state']} and won't be sent again.{visible}{doubt}"


@click.group("jobs")
def jobs() -> None:
    """List, retry or drop background jobs, such as summaries and what is known of people."""


@jobs.command("list")
@state_option("jobs", JOB_STATES)
@limit_option("jobs, newest first")
@lists(_JOB, "NO=seq kind state", ago("created_ms"), "TRIES=attempts conversation reason")
async def list_jobs(here: Here, state: str | None, limit: int) -> Sequence[Row]:
    """List the newest jobs."""
    return await here.admin(JobAdmin).jobs(state, limit)


@jobs.command("retry")
@acts_on_each("[NO]", "seq", states=("dead",), found=lambda here, *asked: here.admin(JobAdmin).jobs(*asked))
async def retry_jobs(here: Here, name: int) -> str:
    """Do dead jobs again: those given by number, or all with `--state dead --since SPAN`."""
    before = await here.admin(JobAdmin).retry(name)
    return f"{before['seq']} ({before['kind']}) will be done again."


@jobs.command("drop")
@acts_on_each("NO", "seq")
async def drop_jobs(here: Here, name: int) -> str:
    """Never do dead jobs."""
    before = await here.admin(JobAdmin).drop(name)
    return f"{before['seq']} ({before['kind']}) won't be done."


@click.command("feedback")
@limit_option("words on replies, newest first")
@click.option("--bad", "bad_only", is_flag=True, help="Only of replies that were called bad.")
@lists(
    "key, soul, conversation, author, value, how, why, given_ms, reply, memories",
    ago("given_ms", "GIVEN"),
    "value BY=how PERSON=author soul",
    ("MEMORIES", lambda row: len(row["memories"])),
    ("WHAT WAS WRONG", lambda row: shortened(one_line(row["why"]), _SHOWN) or "-"),
    ("REPLY", lambda row: shortened(one_line(row["reply"]), _SHOWN)),
)
async def feedback(here: Here, limit: int, bad_only: bool) -> list[Row]:
    """Show which replies people called good or bad, and what they said was wrong.

    `how` is button or reaction; `memories` are the ids of what had surfaced to the reply, for which the word counts.
    """
    return await list_feedback(here.database, limit, bad_only=bad_only)


_NOTE: Final = "id, kind, sender, addressee, conversation, state, reason, how, created_ms, delivered_ms, answered_ms"


@click.group("notes")
def notes_command() -> None:
    """Show the notes that souls send each other and what people ask sessions, or send one."""


@notes_command.command("list")
@limit_option("notes, newest first")
@lists(
    *(_NOTE, "id kind"),
    ("FROM", lambda row: (row["kind"] is NoteKind.ANSWER and row["called"]) or row["sender"]),
    ("TO", lambda row: (row["kind"] is not NoteKind.ANSWER and row["called"]) or row["addressee"]),
    *("state", ago("created_ms"), ("REASON", lambda row: row["reason"] or "-")),
)
async def list_(here: Here, limit: int) -> Sequence[SharedMessage]:
    """List the newest notes, without their words."""
    return await (await _notes(here)).newest(limit)


@notes_command.command("show")
@click.argument("name", metavar="ID")
@shows(f"{_NOTE}, heard_in, audience, hops, answers, letters, words", Card("words"), words=True)
async def show(here: Here, name: str) -> Row:
    """Show one note: from where it comes, where it is perceived, and what became of it.

    The words are empty without --words, and those that not the whole workspace may know without --private.
    """
    found = await (await _notes(here)).note(name)
    if found is None:
        raise StoreError(f"there is no note {name[:80]}", hint="list them with `soul queue notes list`")
    return {**plain(found), "letters": len(found.words), "words": Hidden(name, found.words)}


@notes_command.command("send")
@click.argument("soul")
@click.argument("words")
@click.option("--audience", metavar="KIND:ID", help="Who may know it: workspace:T…, channel:C… or dm:D….")
@shows(_NOTE, "{id} is on its way to {addressee}.")
async def send(here: Here, soul: str, words: str, audience: str | None) -> SharedMessage:
    """Send a note to a soul that a daemon hosts. Its answer is a note to the operator: `soul queue notes list`."""
    readers = audience_in(audience) if audience is not None else None
    notes, workspace = await _notes(here), await here.database.read(workspace_of_file)
    return await send_as_admin(
        notes,
        workspace,
        soul,
        words,
        audience=readers or Audience(AudienceKind.WORKSPACE, workspace),
        budget=NoteBudget(here.settings.pair_hourly),
    )


async def _notes(here: Here) -> NoteStore:
    return NoteStore(here.database, here.clock, await here.workspace())
