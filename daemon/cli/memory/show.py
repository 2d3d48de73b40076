"""`soul memory show`: one memory, and what it is linked with."""

from dataclasses import asdict

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import json_of, names_of
from daemon.cli.output import facts, say, say_json
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.config import load_settings
from daemon.memory.admin.remembered import RememberedThing, remembered_thing
from daemon.memory.database import Database


@click.command("show")
@click.argument("name", metavar="ID")
@words_options
@json_of((*names_of(RememberedThing, ("links",)), "letters", "links [{origin, relation, target, quote}]"))
def show_command(name: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show one memory: who may hear it, how far it is trusted, what it is made from.

    Text and quotes are empty without --words, and those of direct messages and private rooms without --private; what
    the soul wrote into its journal is never shown.
    """

    async def read(database: Database) -> tuple[RememberedThing, WordsShown]:
        found = await database.read(lambda transaction: remembered_thing(transaction, name))
        quoted = [one.target for one in found.links if one.quote]
        return found, await words_of(database, wanted, "memory show", [*([name] if found.text else ()), *quoted])

    found, shown = with_database(load_settings(), read)
    text = shown.of(name, found.text)
    links = [{**asdict(one), "quote": shown.of(one.target, one.quote)} for one in found.links]
    plain = {**asdict(found), "letters": len(found.text), "text": text, "links": links}
    if as_json:
        say_json(plain)
        return
    facts({key: value for key, value in plain.items() if key != "links"})
    for one in links:
        said = f": {one['quote']}" if one["quote"] else ""
        say(f"{one['origin']} {one['relation']} {one['target']}{said}")
    shown.say_what_is_missing()
