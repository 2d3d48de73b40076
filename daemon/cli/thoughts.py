"""`soul mind thoughts`: the stream of thought."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import RowListing, at, json_of
from daemon.cli.options import limit_option
from daemon.cli.output import facts, say, say_json
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.memory.admin.schedule_admin import find_conversation
from daemon.memory.database import Database
from daemon.memory.records import object_or_nothing
from daemon.memory.stream.listing import ListedThought, list_thoughts, thought_named

_LOOKED_FOR_S: Final = 1.0
_MOST_AT_ONCE: Final = 1_000
_THOUGHTS: Final = RowListing[ListedThought](
    *(ListedThought, at("at_ms", "WHEN"), "id", "occasion", "process", "conversation"),
    *(("SPOKE", lambda one, _: "yes" if one.spoke else "no"), ("DID", lambda one, _: _did(one))),
    ("REFUSED", lambda one, _: len(one.refused)),
    without=("seq",),
    nothing='There are no thoughts yet. A soul has them whose soul.toml says `mind = "cycle"`.',
)


@click.group("thoughts", invoke_without_command=True)
@click.option("--conversation", default="", metavar="C", help="Only of this one: its id, or any unique part of it.")
@click.option(
    "--soul", "soul", default="", help="Of which soul; default: the conversation's, else the one of SOUL_NAME."
)
@limit_option("of the newest thoughts, oldest first")
@words_options
@click.option("-f", "--follow", is_flag=True, help="Go on with new thoughts until Ctrl-C.")
@_THOUGHTS.option
@click.pass_context
def thoughts_command(
    context: click.Context,
    *,
    conversation: str,
    soul: str,
    limit: int,
    wanted: WordsWanted,
    follow: bool,
    as_json: bool,
) -> None:
    """Show the stream of thought of a soul whose mind is `cycle`: what it thought when, why, and what came of it.

    Times are UTC. With --follow, JSON is one object a line.

    `input` and `output` are empty without --words, those that not the whole workspace may know without --private, and
    those that were erased.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings()

    async def look(database: Database) -> None:
        which = await soul_and_conversation(settings, database, soul, conversation)
        if follow:
            async for one in followed(database, SystemClock(), *which, limit):
                _say_each((one,), await words_of(database, wanted, "mind thoughts", [one.id]), as_json=as_json)
            return
        found = await list_thoughts(database, *which, limit)
        shown = await words_of(database, wanted, "mind thoughts", [one.id for one in found])
        if _THOUGHTS.show(found, as_json=as_json, plain=lambda one: plain(one, shown)):
            for one in found:
                if one.id in shown.ids:
                    say(f"\n{one.id}")
                    _say_words(one, shown)
            shown.say_what_is_missing()

    with suppress(KeyboardInterrupt):
        with_database(settings, look)


@thoughts_command.command("show")
@click.argument("name", metavar="ID")
@words_options
@json_of(ListedThought, ("seq",))
def show(name: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show one thought: what it was given and what it held."""

    async def read(database: Database) -> tuple[ListedThought, WordsShown]:
        return await thought_named(database, name), await words_of(database, wanted, "mind thoughts show", [name])

    found, shown = with_database(load_settings(), read)
    values = plain(found, shown)
    if as_json:
        say_json(values)
        return
    did = ", ".join(f"{field}: {number}" for field, number in found.did.items())
    refused = ", ".join(f"{one['field']}: {one['reason']}" for one in found.refused)
    words = ("input", "output")
    facts({key: value for key, value in values.items() if key not in words} | {"did": did, "refused": refused})
    for key in words:
        if values[key]:
            say(f"\n{key}\n{json.dumps(values[key], ensure_ascii=False, indent=2)}")
    shown.say_what_is_missing()


async def followed(
    database: Database, clock: Clock, soul: str, conversation: str, limit: int
) -> AsyncIterator[ListedThought]:
    """The newest thoughts, oldest first, and then each new one, until cancelled. Raises StoreError."""
    last = 0
    found = await list_thoughts(database, soul, conversation, limit)
    while True:
        for one in found:
            yield one
            last = one.seq
        await clock.sleep(_LOOKED_FOR_S)
        found = await list_thoughts(database, soul, conversation, _MOST_AT_ONCE, after=last)


def plain(thought: ListedThought, shown: WordsShown) -> dict[str, object]:
    """A thought as JSON values; the words as far as they may be shown."""
    values = asdict(thought)
    values.pop("seq")
    for key in ("input", "output"):
        text = shown.of(thought.id, str(values.pop(key)))
        values[key] = object_or_nothing(text) if text else ""
    return values


def _say_each(found: Sequence[ListedThought], shown: WordsShown, *, as_json: bool) -> None:
    for one in found:
        if as_json:
            click.echo(json.dumps(plain(one, shown)))
        else:
            say("  ".join(_THOUGHTS.cells(one, SystemClock().now_ms())))
            _say_words(one, shown)


def _did(one: ListedThought) -> int:
    return sum(number for number in one.did.values() if isinstance(number, int))


def _say_words(one: ListedThought, shown: WordsShown) -> None:
    text = shown.of(one.id, one.output)
    output = object_or_nothing(text)
    for name, key in (("thought", "inner_speech"), ("said", "external_speech")):
        if output.get(key):
            say(f"    {name}: {output[key]}")


async def soul_and_conversation(
    settings: Settings, database: Database, soul: str, conversation: str
) -> tuple[str, str]:
    """The soul and the conversation's id that two options name; empty is the id where the option is.

    Without a soul it is the one of the conversation, else the one of SOUL_NAME. Raises StoreError.
    """
    await require_soul(settings, database, soul)
    if not conversation:
        return soul or settings.name, ""
    where = await database.read(lambda transaction: find_conversation(transaction, conversation))
    return soul or where.soul, str(where)


async def require_soul(settings: Settings, database: Database, name: str) -> None:
    """Raises StoreError for a soul that is neither hosted here nor ever thought."""
    known = {settings.name, *settings.souls}
    if not name or name in known or await list_thoughts(database, name, "", 1):
        return
    raise StoreError(f"no soul {name[:40]!r} is known here", hint=f"hosted are: {', '.join(sorted(known))}")
