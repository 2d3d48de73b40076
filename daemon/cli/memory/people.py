"""`soul memory people`: the soul's knowledge of users, per audience, its history, and its amount."""

from dataclasses import asdict, replace
from typing import Any, Final

import click

from daemon.cli.listing import (
    RowListing,
    WordsShown,
    WordsWanted,
    age,
    ago,
    facts,
    json_of,
    names_of,
    say,
    say_json,
    with_database,
    words_of,
    words_options,
)
from daemon.cli.options import limit_option
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.lineage import model_id
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.remembered import RememberedPerson, facts_about, remembered_people
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.knowledge.user_models import ModelVersion, UserModel, list_models, model_history

_MOST = 1_000  # user models of one user: one per audience
_NO_WORDS: dict[str, Any] = {"notes": (), "whispers": ""}
_MODELS: Final = RowListing[UserModel](
    *(UserModel, "person", "name", "audience", ago("seen_ms", "SEEN"), "visits"),
    *(("MESSAGES", "interactions"), ("NOTES", lambda one, _: len(one.notes)), "soul"),
)
_COUNTS: Final = RowListing[RememberedPerson](
    (*names_of(RememberedPerson), "lines [{id, text}]"),
    *("person", "messages", "facts", "records", ago("last_ms", "LAST")),
)


@click.group("people")
def people_command() -> None:
    """List, show or count what the soul knows about users, and how it changed.

    `list` leaves notes and whispers empty, and so do `show` and `history`, with `change`, without --words, and without
    --private for direct messages and private rooms.
    """


@people_command.command("list")
@limit_option("entries, last seen first")
@_MODELS.option
def list_(limit: int, as_json: bool) -> None:
    """List the users whom the soul knows, once per audience."""
    found = with_database(load_settings(), lambda database: list_models(database, limit))
    _MODELS.show(found, as_json=as_json, plain=lambda one: _plain(replace(one, **_NO_WORDS)))


@people_command.command("show")
@click.argument("person", metavar="PERSON")
@words_options
@json_of(UserModel)
def show(person: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show what the soul knows about one user, per audience. PERSON is a Slack id, U…"""

    async def read(database: Database) -> tuple[list[UserModel], WordsShown]:
        models = await list_models(database, _MOST, person=person)
        names = [_name(one, person) for one in models for _ in one.notes + (one.whispers,) * bool(one.whispers)]
        shown = await words_of(database, wanted, "memory people show", names)
        return [one if _name(one, person) in shown.ids else replace(one, **_NO_WORDS) for one in models], shown

    found, shown = with_database(load_settings(), read)
    if not found:
        raise StoreError(f"the soul knows no user {person}", hint="see `soul memory people list`; give the id")
    if as_json:
        say_json([_plain(one) for one in found])
        return
    for number, one in enumerate(found):
        if number:
            say()
        facts({name: value for name, value in _plain(one).items() if name not in ("notes", "whispers")})
        _say_known(one.notes, one.whispers)
    shown.say_what_is_missing()


@people_command.command("history")
@click.argument("person", metavar="PERSON")
@limit_option("versions, newest first")
@words_options
@json_of(ModelVersion)
def history(person: str, limit: int, wanted: WordsWanted, as_json: bool) -> None:
    """Show how the notes about one user changed, version by version."""

    async def read(database: Database) -> tuple[list[ModelVersion], WordsShown]:
        versions = await model_history(database, person, limit)
        shown = await words_of(database, wanted, "memory people history", [_name(one, person) for one in versions])
        bare = {**_NO_WORDS, "change": {}}
        return [one if _name(one, person) in shown.ids else replace(one, **bare) for one in versions], shown

    found, shown = with_database(load_settings(), read)
    if as_json:
        say_json([_plain(one) for one in found])
        return
    now = SystemClock().now_ms()
    for one in found:
        say(f"{one.soul}: {one.audience} version {one.version}, {age(now, one.made_ms)} ago")
        for line in _change_lines(one) if _name(one, person) in shown.ids else ():
            say(f"  {line}")
    shown.say_what_is_missing()


@people_command.command("count")
@limit_option("users, the one who spoke last first")
@words_options
@_COUNTS.option
def count(limit: int, wanted: WordsWanted, as_json: bool) -> None:
    """Show how much is remembered of each user; with --words also what is believed about them.

    `records` are those about them, of all kinds; `lines` the facts that hold. Texts are empty without --words, and
    those of direct messages and private rooms without --private.
    """

    async def unit(transaction: Transaction) -> tuple[tuple[RememberedPerson, ...], list[Fact]]:
        people = await remembered_people(transaction, limit)
        return people, await facts_about(transaction, [one.person for one in people])

    async def read(database: Database) -> tuple[tuple[RememberedPerson, ...], list[Fact], WordsShown]:
        people, found = await database.read(unit)
        return people, found, await words_of(database, wanted, "memory people count", [one.id for one in found])

    people, found, shown = with_database(load_settings(), read)

    def plain(one: RememberedPerson) -> dict[str, object]:
        return {**asdict(one), "lines": _lines(one.person, found, shown)}

    if not _COUNTS.show(people, as_json=as_json, plain=plain):
        return
    for fact in found:
        if text := shown.of(fact.id, fact.text):
            say(f"{fact.person} {fact.id}: {text}")
    if wanted.words:
        shown.say_what_is_missing()


def _name(one: UserModel | ModelVersion, person: str) -> str:
    return model_id(one.soul, "*", person, one.audience)


def _plain(one: UserModel | ModelVersion) -> dict[str, object]:
    return {**asdict(one), "audience": str(one.audience)}


def _say_known(notes: tuple[str, ...], whispers: str) -> None:
    for line in notes:
        say(f"- {line}")
    for line in whispers.splitlines():
        say(f"~ {line}")


def _change_lines(one: ModelVersion) -> list[str]:
    lines = [f"+ {line}" for line in _items(one.change.get("added"))]
    lines += [f"- {line}" for line in _items(one.change.get("retired"))]
    lines += [f"* {' -> '.join(map(str, _items(pair)))}" for pair in _items(one.change.get("corrected"))]
    if "scrubbed" in one.change:
        lines.append("(the messages behind it were deleted)")
    if "unlearned" in one.change:
        lines.append(f"({one.change['unlearned']} lines forgotten: the messages behind them were deleted)")
    return lines or ["(only the whispers)"]


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _lines(person: str, found: list[Fact], shown: WordsShown) -> list[dict[str, str]]:
    return [{"id": one.id, "text": shown.of(one.id, one.text)} for one in found if one.person == person]
