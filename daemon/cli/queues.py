"""`soul queue inbox`, `outbox`, `jobs`, `feedback` and `notes`: messages, posts, background work, ratings, notes."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Final, TypeVar

import click

from daemon.cli.listing import (
    RowListing,
    WordsShown,
    WordsWanted,
    ago,
    facts,
    json_of,
    say,
    say_json,
    show_row,
    with_admin,
    with_database,
    with_jobs,
    words_of,
    words_options,
)
from daemon.cli.options import Selection, audience_in, limit_option, many_options, state_option
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.notes import NoteBudget, NoteKind, SharedMessage
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import SystemClock
from daemon.core.text import one_line, shortened
from daemon.memory.admin.job_admin import JOB_STATES, JobAdmin, JobRow
from daemon.memory.admin.queue_admin import (
    INBOX_STATES,
    OUTBOX_STATES,
    SETTLED_MESSAGES,
    SETTLED_POSTS,
    Admin,
    InboxRow,
    OutboxRow,
    Retried,
)
from daemon.memory.admin.replies import JudgedReply, list_feedback
from daemon.memory.database import Database
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.messages import NoteStore
from daemon.shared.events import send_as_admin

_SHOWN: Final = 60  # characters of what was wrong, and of the reply
_TRIES: Final = ("TRIES", "attempts")
_MESSAGES: Final = RowListing[InboxRow](
    InboxRow, "id", "state", ago("received_ms"), ("FROM", "author"), _TRIES, "reason"
)
_POSTS: Final = RowListing[OutboxRow](
    OutboxRow, ("NO", "seq"), ("KEY", "id"), "state", ago("created_ms"), ("TO", "recipient"), _TRIES, "reason"
)
_JOBS: Final = RowListing[JobRow](
    JobRow, ("NO", "seq"), "kind", "state", ago("created_ms"), _TRIES, "conversation", "reason"
)
_FEEDBACK: Final = RowListing[JudgedReply](
    JudgedReply,
    ago("given_ms", "GIVEN"),
    "value",
    ("BY", "how"),
    ("PERSON", "author"),
    "soul",
    ("MEMORIES", lambda one, _: len(one.memories)),
    ("WHAT WAS WRONG", lambda one, _: shortened(one_line(one.why), _SHOWN) or "-"),
    ("REPLY", lambda one, _: shortened(one_line(one.reply), _SHOWN)),
)


@click.group("inbox")
def inbox() -> None:
    """List, show, retry or drop messages that arrived."""


@inbox.command("list")
@state_option("messages", INBOX_STATES)
@limit_option("messages, newest first")
@_MESSAGES.option
def list_messages(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest messages without their words: the body is empty."""
    found = with_admin(lambda admin: admin.messages(state, limit))
    _MESSAGES.show([replace(one, body="") for one in found], as_json=as_json)


@inbox.command("show")
@click.argument("name", metavar="ID")
@json_of(InboxRow)
def show_message(name: str, as_json: bool) -> None:
    """Show one message with its words. ID may be just its ts."""
    show_row(asdict(with_admin(lambda admin: admin.message(name))), as_json=as_json)


@inbox.command("retry")
@click.argument("names", metavar="[ID]...", nargs=-1)
@many_options(SETTLED_MESSAGES)
@click.option("--force", is_flag=True, help="Even an answered message, which then gets a second answer.")
def retry_messages(names: tuple[str, ...], state: str | None, since: str | None, force: bool) -> None:
    """Have messages answered that have no answer (dead, ignored, stale or dropped), or whose daemon died.

    Give their ids, or choose many: `--state dead --since 6h`.
    """
    chosen = Selection.of(names, state, since)

    async def work(admin: Admin) -> None:
        for name in chosen.names or [one.id for one in reversed(await admin.messages(*chosen.query))]:
            before = await admin.retry_message(name, force=force)
            say(f"{before.id} was {before.state} and waits for an answer again.")

    with_admin(work)


@inbox.command("drop")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def drop_messages(names: tuple[str, ...]) -> None:
    """Leave messages without an answer for good."""

    async def work(admin: Admin) -> None:
        for name in names:
            before = await admin.drop_message(name)
            say(f"{before.id} was {before.state} and stays without an answer.")

    with_admin(work)


@click.group("outbox")
def outbox() -> None:
    """List, show, retry or drop posts: the parts of replies on their way to the channel."""


@outbox.command("list")
@state_option("posts", OUTBOX_STATES)
@limit_option("posts, newest first")
@_POSTS.option
def list_posts(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest posts without their words: the body is empty."""
    found = with_admin(lambda admin: admin.posts(state, limit))
    _POSTS.show([replace(one, body="") for one in found], as_json=as_json)


@outbox.command("show")
@click.argument("name", metavar="KEY")
@json_of(OutboxRow)
def show_post(name: str, as_json: bool) -> None:
    """Show one post with its words. KEY may be its number; `nod` is the emoji of a reaction in place of words."""
    show_row(asdict(with_admin(lambda admin: admin.post(name))), as_json=as_json)


@outbox.command("retry")
@click.argument("names", metavar="[KEY]...", nargs=-1)
@many_options(SETTLED_POSTS)
@click.option("--yes", is_flag=True, help="Send an unknown post without looking; it may then be there twice.")
def retry_posts(names: tuple[str, ...], state: str | None, since: str | None, yes: bool) -> None:
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


@outbox.command("drop")
@click.argument("names", metavar="KEY...", nargs=-1, required=True)
def drop_posts(names: tuple[str, ...]) -> None:
    """Never send posts that wait, rest between two tries, or were not delivered."""

    async def work(admin: Admin) -> None:
        for name in names:
            before = await admin.drop_post(name)
            visible = f"\nA part of it is visible already, as {before.platform_ts}." if before.platform_ts else ""
            doubt = "\nIt may have been sent already." if before.state in ("sending", "unknown") else ""
            say(f"{before.id} was {before.state} and won't be sent again.{visible}{doubt}")

    with_admin(work)


@click.group("jobs")
def jobs() -> None:
    """List, retry or drop background jobs, such as summaries and what is known of people."""


@jobs.command("list")
@state_option("jobs", JOB_STATES)
@limit_option("jobs, newest first")
@_JOBS.option
def list_jobs(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest jobs."""
    _JOBS.show(with_jobs(lambda admin: admin.jobs(state, limit)), as_json=as_json)


@jobs.command("retry")
@click.argument("numbers", metavar="[NO]...", nargs=-1, type=int)
@many_options(("dead",))
def retry_jobs(numbers: tuple[int, ...], state: str | None, since: str | None) -> None:
    """Do dead jobs again: those given by number, or all with `--state dead --since SPAN`."""
    chosen = Selection.of(numbers, state, since)

    async def work(admin: JobAdmin) -> None:
        for number in chosen.names or [one.seq for one in reversed(await admin.jobs(*chosen.query))]:
            before = await admin.retry(number)
            say(f"{before.seq} ({before.kind}) will be done again.")

    with_jobs(work)


@jobs.command("drop")
@click.argument("numbers", metavar="NO...", nargs=-1, required=True, type=int)
def drop_jobs(numbers: tuple[int, ...]) -> None:
    """Never do dead jobs."""

    async def work(admin: JobAdmin) -> None:
        for number in numbers:
            before = await admin.drop(number)
            say(f"{before.seq} ({before.kind}) won't be done.")

    with_jobs(work)


@click.command("feedback")
@limit_option("words on replies, newest first")
@click.option("--bad", "bad_only", is_flag=True, help="Only of replies that were called bad.")
@_FEEDBACK.option
def feedback(limit: int, bad_only: bool, as_json: bool) -> None:
    """Show which replies people called good or bad, and what they said was wrong.

    `how` is button or reaction; `memories` are the ids of what had surfaced to the reply, for which the word counts.
    """
    found = with_database(load_settings(), partial(list_feedback, limit=limit, bad_only=bad_only))
    _FEEDBACK.show(found, as_json=as_json)


T = TypeVar("T")

_KEYS: Final = (
    *("id", "kind", "sender", "addressee", "conversation", "state", "reason", "how"),
    *("created_ms", "delivered_ms", "answered_ms"),
)
_MORE: Final = ("heard_in", "audience", "hops", "answers", "letters", "words")
_NOTES: Final = RowListing[SharedMessage](
    *(_KEYS, "id", "kind"),
    ("FROM", lambda one, _: (one.kind is NoteKind.ANSWER and one.called) or one.sender),
    ("TO", lambda one, _: (one.kind is not NoteKind.ANSWER and one.called) or one.addressee),
    *("state", ago("created_ms"), ("REASON", lambda one, _: one.reason or "-")),
)


@click.group("notes")
def notes_command() -> None:
    """Show the notes that souls send each other and what people ask sessions, or send one."""


@notes_command.command("list")
@limit_option("notes, newest first")
@_NOTES.option
def list_(limit: int, as_json: bool) -> None:
    """List the newest notes, without their words."""
    _NOTES.show(_with_notes(lambda store, _, __: store.newest(limit)), as_json=as_json, plain=_plain)


@notes_command.command("show")
@click.argument("name", metavar="ID")
@words_options
@json_of((*_KEYS, *_MORE))
def show(name: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show one note: from where it comes, where it is perceived, and what became of it.

    The words are empty without --words, and those that not the whole workspace may know without --private.
    """

    async def read(store: NoteStore, database: Database, _: str) -> tuple[SharedMessage, WordsShown]:
        found = await store.note(name)
        if found is None:
            raise StoreError(f"there is no note {name[:80]}", hint="list them with `soul queue notes list`")
        return found, await words_of(database, wanted, "queue notes show", [name])

    found, shown = _with_notes(read)
    plain = _plain(found) | {
        "heard_in": found.heard_in,
        "audience": str(found.audience),
        "hops": found.hops,
        "answers": found.answers,
        "letters": len(found.words),
        "words": shown.of(name, found.words),
    }
    if as_json:
        say_json(plain)
        return
    facts({key: value for key, value in plain.items() if key != "words"})
    if plain["words"]:
        say(f"\n{plain['words']}")
    shown.say_what_is_missing()


@notes_command.command("send")
@click.argument("soul")
@click.argument("words")
@click.option("--audience", metavar="KIND:ID", help="Who may know it: workspace:T…, channel:C… or dm:D….")
@json_of(_KEYS)
def send(soul: str, words: str, audience: str | None, as_json: bool) -> None:
    """Send a note to a soul that a daemon hosts. Its answer is a note to the operator: `soul queue notes list`."""
    readers, settings = audience_in(audience) if audience is not None else None, load_settings()

    async def sent(store: NoteStore, _: Database, workspace: str) -> SharedMessage:
        return await send_as_admin(
            store,
            workspace,
            soul,
            words,
            audience=readers or Audience(AudienceKind.WORKSPACE, workspace),
            budget=NoteBudget(settings.pair_hourly),
        )

    note = _with_notes(sent)
    if as_json:
        say_json(_plain(note))
    else:
        say(f"{note.id} is on its way to {note.addressee}.")


def _with_notes(work: Callable[[NoteStore, Database, str], Awaitable[T]]) -> T:
    async def worked(database: Database) -> T:
        workspace = await database.read(workspace_of_file)
        if not workspace:
            raise StoreError("memory.db knows no workspace yet", hint="start the daemon once with `soul run`")
        return await work(NoteStore(database, SystemClock(), workspace), database, workspace)

    return with_database(load_settings(), worked)


def _plain(note: SharedMessage) -> dict[str, object]:
    fields = asdict(note)
    return {key: fields[key] for key in _KEYS}
