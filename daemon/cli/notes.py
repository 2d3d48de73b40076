"""`soul queue notes`: the notes that souls send each other, and what people ask sessions."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Final, TypeVar

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import RowListing, ago, json_of
from daemon.cli.options import audience_in, limit_option
from daemon.cli.output import facts, say, say_json
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.notes import NoteBudget, NoteKind, SharedMessage
from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import Database
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.messages import NoteStore
from daemon.shared.messages import send_as_admin

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
