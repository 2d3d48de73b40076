"""`soul queue notes`: the notes that souls send each other, and what people ask sessions."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Final, TypeVar

import click

from daemon.cli.database_access import with_database
from daemon.cli.options import audience_in, json_option, limit_option
from daemon.cli.output import age, facts, say, say_json, show_rows
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.notes import NoteBudget, NoteKind, SharedMessage
from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import Database
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.messages import NoteStore
from daemon.shared.bells import open_bells
from daemon.shared.messages import send_as_admin

T = TypeVar("T")

_KEYS: Final = (
    "id",
    "kind",
    "sender",
    "addressee",
    "conversation",
    "state",
    "reason",
    "how",
    "created_ms",
    "delivered_ms",
    "answered_ms",
)


@click.group("notes")
def command() -> None:
    """Show the notes that souls send each other and what people ask sessions, or send one."""


@command.command("list")
@limit_option("notes, newest first")
@json_option
def list_(limit: int, as_json: bool) -> None:
    """List the newest notes, without their words.

    JSON keys: id, kind, sender, addressee, conversation, state, reason, how, created_ms, delivered_ms, answered_ms.
    """
    found = _with_notes(lambda store, _, __: store.newest(limit))
    if as_json:
        say_json([_plain(one) for one in found])
        return
    show_rows(
        found,
        ("id", "kind", "from", "to", "state", "age", "reason"),
        lambda one, now: (
            one.id,
            one.kind,
            one.called if one.kind is NoteKind.ANSWER and one.called else one.sender,
            one.called if one.kind is not NoteKind.ANSWER and one.called else one.addressee,
            one.state,
            age(now, one.created_ms),
            one.reason or "-",
        ),
        as_json=False,
    )


@command.command("show")
@click.argument("name", metavar="ID")
@words_options
@json_option
def show(name: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show one note: from where it comes, where it is perceived, and what became of it.

    \b
    JSON keys: id, kind, sender, addressee, conversation, state, reason, how, created_ms, delivered_ms, answered_ms,
    heard_in, audience, hops, answers, letters, words. The words are empty without --words, and those that not the whole
    workspace may know without --private.
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


@command.command("send")
@click.argument("soul")
@click.argument("words")
@click.option("--audience", metavar="KIND:ID", help="Who may know it: workspace:T…, channel:C… or dm:D….")
@json_option
def send(soul: str, words: str, audience: str | None, as_json: bool) -> None:
    """Send a note to a soul that a daemon hosts. Its answer is a note to the operator: `soul queue notes list`.

    JSON keys: id, kind, sender, addressee, conversation, state, reason, how, created_ms, delivered_ms, answered_ms.
    """
    readers, settings = audience_in(audience) if audience is not None else None, load_settings()

    async def sent(store: NoteStore, _: Database, workspace: str) -> SharedMessage:
        async with open_bells(settings.home.absolute(), SystemClock()) as bells:
            note = await send_as_admin(
                store,
                workspace,
                soul,
                words,
                audience=readers or Audience(AudienceKind.WORKSPACE, workspace),
                budget=NoteBudget(settings.pair_hourly),
            )
            bells.ring_for_work()
            return note

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
