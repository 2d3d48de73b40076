"""`soul mind show`, `history` and `values`: the documents of a mind."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Final

import click

from daemon.cli.listing import (
    WordsShown,
    WordsWanted,
    daemons_clock,
    json_of,
    say,
    say_json,
    table,
    with_database,
    words_of,
    words_options,
)
from daemon.cli.options import audience_in, limit_option
from daemon.cli.thoughts import require_soul
from daemon.core.config import Settings, load_settings
from daemon.core.errors import SoulError
from daemon.core.timetable import moment
from daemon.memory.database import Database
from daemon.memory.mind.documents import MindDocument, rows_of_soul
from daemon.memory.mind.listing import ListedPart, document_history, document_parts
from daemon.memory.mind.self_model import OwnText, SoulValue, own_text, values_in_force
from daemon.soul import find_souls_directory, load_soul

_HEADER: Final = ("WHEN", "DOCUMENT", "AUDIENCE", "THOUGHT", "ACT", "WHAT")
_OF_WORDS: Final = ("part", "attribute", "words", "why")
_FIXED: Final = frozenset({"current_state", "recent_growth", "prediction_accuracy_note", "uncertainties", "text"})
_NOTHING: Final = 'Nothing is held yet: it comes with thoughts, once soul.toml says `mind = "cycle"`.'

audience_option = click.option("--audience", default="", metavar="A", help="Only of this one, as dm:D123.")
soul_option = click.option("--soul", default="", help="Of which soul; default: the one of SOUL_NAME.")

Read = Callable[[Database, str], Awaitable[Sequence[ListedPart]]]


@click.command("show")
@audience_option
@soul_option
@words_options
@json_of(ListedPart)
def show(*, audience: str, soul: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show what a soul whose mind is `cycle` holds of itself and of its world, part by part, oldest first.

    Times are UTC. Entities, attributes and texts are empty without --words, those that not the whole workspace may know
    without --private.
    """
    which = _audience(audience)
    now = daemons_clock(load_settings()).now_ms()
    _list(soul, wanted, "mind show", lambda database, name: document_parts(database, name, which, now), as_json=as_json)


@click.command("history")
@audience_option
@soul_option
@limit_option("of the newest changes, oldest first")
@words_options
@json_of(ListedPart)
def history(*, audience: str, soul: str, limit: int, wanted: WordsWanted, as_json: bool) -> None:
    """Show how a soul's documents changed: of itself, its world, its values and its own text. Times are UTC."""
    which = _audience(audience)
    _list(
        soul,
        wanted,
        "mind history",
        lambda database, name: document_history(database, name, which, limit),
        as_json=as_json,
    )


@click.command("values")
@soul_option
@words_options
@json_of(("values [value, meaning, active, thought]", "text", "draft"))
def values(*, soul: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show the values of a soul, those that it no longer holds among them, and its own text about itself.

    A value without a thought is of soul.toml alone. What the soul wrote itself is empty without --words.
    """
    settings = load_settings()
    name = soul or settings.name

    async def read(database: Database) -> tuple[tuple[SoulValue, ...], OwnText, WordsShown]:
        await require_soul(settings, database, soul)
        rows = await database.read(lambda unit: rows_of_soul(unit, name, MindDocument.VALUES))
        own = own_text(await database.read(lambda unit: rows_of_soul(unit, name, MindDocument.IDENTITY)))
        held = values_in_force(values_of(settings, name), rows)
        ids = [*(one.thought for one in held if one.thought), *own.thoughts]
        return held, own, await words_of(database, wanted, "mind values", ids)

    held, own, shown = with_database(settings, read)
    seeds = values_of(settings, name)
    listed = [_plain_value(one, one.name in seeds, shown) for one in held]
    may_show = all(one in shown.ids for one in own.thoughts)
    text, draft = (own.text, own.draft) if may_show else ("", "")
    if as_json:
        say_json({"values": listed, "text": text, "draft": draft})
        return
    if not listed:
        say("It holds no values yet: none stands in its soul.toml, and it adopted none.")
    for one in listed:
        meaning = f": {one['meaning']}" if one["meaning"] else ""
        say(f"{one['value'] or '(not shown)'}{meaning}{'' if one['active'] else ' (no longer held)'}")
    of_draft = "Its draft of it" if text else "Its draft of a text about itself"
    for what, said in (("Its own text about itself", text), (of_draft, draft)):
        if said:
            say(f"\n{what}:\n{said}")
    shown.say_what_is_missing()


def _audience(text: str) -> str:
    return str(audience_in(text)) if text else ""


def values_of(settings: Settings, name: str) -> tuple[str, ...]:
    """Return the values of a soul's soul.toml. Raises SoulError if it can't be read."""
    return load_soul(find_souls_directory(settings.souls_dir, settings.home, name), name).values


def values_of_each(settings: Settings, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    found = dict[str, tuple[str, ...]]()
    for name in names:
        with suppress(SoulError):
            found[name] = values_of(settings, name)
    return found


def _list(soul: str, wanted: WordsWanted, command: str, read: Read, *, as_json: bool) -> None:
    settings = load_settings()

    async def look(database: Database) -> tuple[Sequence[ListedPart], WordsShown]:
        await require_soul(settings, database, soul)
        found = await read(database, soul or settings.name)
        return found, await words_of(database, wanted, command, [one.thought for one in found])

    found, shown = with_database(settings, look)
    listed = [_plain(one, shown) for one in found]
    if as_json:
        say_json(listed)
        return
    if not listed:
        say(_NOTHING)
    else:
        table(_HEADER, [_cells(one) for one in listed])
    shown.say_what_is_missing()


def _plain(one: ListedPart, shown: WordsShown) -> Mapping[str, object]:
    plain = asdict(one)
    for name in _OF_WORDS:
        if name != "part" or one.part not in _FIXED:
            plain[name] = shown.of(one.thought, str(plain[name]))
    return plain


def _plain_value(one: SoulValue, seeded: bool, shown: WordsShown) -> Mapping[str, object]:
    name = one.name if seeded else shown.of(one.thought, one.name)
    meaning = shown.of(one.thought, one.meaning) if one.thought else ""
    return {"value": name, "meaning": meaning, "active": one.active, "thought": one.thought}


def _cells(one: Mapping[str, object]) -> tuple[str, ...]:
    what = " ".join(str(one[name]) for name in ("part", "attribute") if one[name])
    when, why = moment(int(str(one["at_ms"]))), f" (why: {one['why']})" if one["why"] else ""
    said = ": ".join(filter(None, (what, str(one["words"])))) + why
    return when, str(one["document"]), str(one["audience"]), str(one["thought"]), str(one["act"]), said
