"""`soul memory people`: how much is remembered of whom."""

from dataclasses import asdict

import click

from daemon.cli.database_access import with_database
from daemon.cli.options import json_option, limit_option
from daemon.cli.output import age, say, say_json, show_rows
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.config import load_settings
from daemon.memory.admin.remembered import RememberedPerson, facts_about, remembered_people
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import Fact


@click.command("people")
@limit_option("users, the one who spoke last first")
@words_options
@json_option
def command(limit: int, wanted: WordsWanted, as_json: bool) -> None:
    """Show how much is remembered of each user; with --words also what is believed about them.

    \b
    JSON keys: person, messages, facts (that hold), records (about them, of all kinds), last_ms,
    lines [{id, text}] (the facts that hold). Texts are empty without --words, and those of direct messages and private
    rooms without --private.
    """

    async def unit(transaction: Transaction) -> tuple[tuple[RememberedPerson, ...], list[Fact]]:
        people = await remembered_people(transaction, limit)
        return people, await facts_about(transaction, [one.person for one in people])

    async def read(database: Database) -> tuple[tuple[RememberedPerson, ...], list[Fact], WordsShown]:
        people, found = await database.read(unit)
        return people, found, await words_of(database, wanted, "memory people", [one.id for one in found])

    people, found, shown = with_database(load_settings(), read)
    if as_json:
        say_json([{**asdict(one), "lines": _lines(one.person, found, shown)} for one in people])
        return
    show_rows(
        people,
        ("PERSON", "MESSAGES", "FACTS", "RECORDS", "LAST"),
        lambda one, now: (one.person, one.messages, one.facts, one.records, age(now, one.last_ms)),
        as_json=False,
    )
    for fact in found:
        if text := shown.of(fact.id, fact.text):
            say(f"{fact.person} {fact.id}: {text}")
    if wanted.words:
        shown.say_what_is_missing()


def _lines(person: str, found: list[Fact], shown: WordsShown) -> list[dict[str, str]]:
    return [{"id": one.id, "text": shown.of(one.id, one.text)} for one in found if one.person == person]
