"""`soul memory people`: the soul's knowledge of users, per audience, its history, and its amount."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from daemon.cli.listing import Here, Hidden, Row, age, ago, facts, lists, names_of, plain, say, shows
from daemon.cli.options import limit_option
from daemon.core.errors import StoreError
from daemon.core.lineage import model_id
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.remembered import RememberedPerson, facts_about, remembered_people
from daemon.memory.database import Transaction
from daemon.memory.knowledge.user_models import ModelVersion, UserModel, list_models, model_history

_MOST = 1_000  # user models of one user: one per audience


@click.group("people")
def people_command() -> None:
    """List, show or count what the soul knows about users, and how it changed.

    `list` leaves notes and whispers empty, and so do `show` and `history`, with `change`, without --words, and without
    --private for direct messages and private rooms.
    """


@people_command.command("list")
@limit_option("entries, last seen first")
@lists(
    *(UserModel, "person", "name", "audience", ago("seen_ms", "SEEN"), "visits"),
    *(("MESSAGES", "interactions"), ("NOTES", "known"), "soul"),
)
async def list_(here: Here, limit: int) -> list[Row]:
    """List the users whom the soul knows, once per audience."""
    found = await list_models(here.database, limit)
    return [{**plain(one), "known": len(one.notes), "notes": [], "whispers": ""} for one in found]


def _worded(one: UserModel | ModelVersion, person: str) -> Row:
    name = model_id(one.soul, "*", person, one.audience)
    return {**plain(one), "notes": Hidden(name, one.notes, []), "whispers": Hidden(name, one.whispers)}


def _print_models(found: Sequence[Row]) -> None:
    for number, one in enumerate(found):
        if number:
            say()
        facts(one, without=("notes", "whispers"))
        for line in [*(f"- {line}" for line in one["notes"]), *(f"~ {line}" for line in one["whispers"].splitlines())]:
            say(line)


@people_command.command("show")
@click.argument("person", metavar="PERSON")
@shows(UserModel, _print_models, words=True)
async def show(here: Here, person: str) -> list[Row]:
    """Show what the soul knows about one user, per audience. PERSON is a Slack id, U…"""
    found = await list_models(here.database, _MOST, person=person)
    if not found:
        raise StoreError(f"the soul knows no user {person}", hint="see `soul memory people list`; give the id")
    return [_worded(one, person) for one in found]


def _print_versions(found: Sequence[Row]) -> None:
    now = SystemClock().now_ms()
    for one in found:
        say(f"{one['soul']}: {one['audience']} version {one['version']}, {age(now, one['made_ms'])} ago")
        for line in _change_lines(one["change"]) if one["shown"] else ():
            say(f"  {line}")


@people_command.command("history")
@click.argument("person", metavar="PERSON")
@limit_option("versions, newest first")
@shows(ModelVersion, _print_versions, words=True)
async def history(here: Here, person: str, limit: int) -> list[Row]:
    """Show how the notes about one user changed, version by version."""
    return [
        {**_worded(one, person), "change": Hidden(name, one.change, {}), "shown": Hidden(name, "yes")}
        for one in await model_history(here.database, person, limit)
        for name in [model_id(one.soul, "*", person, one.audience)]
    ]


def _change_lines(change: Mapping[str, Any]) -> list[str]:
    lines = [f"+ {line}" for line in _items(change.get("added"))]
    lines += [f"- {line}" for line in _items(change.get("retired"))]
    lines += [f"* {' -> '.join(map(str, _items(pair)))}" for pair in _items(change.get("corrected"))]
    if "scrubbed" in change:
        lines.append("(the messages behind it were deleted)")
    if "unlearned" in change:
        lines.append(f"({change['unlearned']} lines forgotten: the messages behind them were deleted)")
    return lines or ["(only the whispers)"]


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


@people_command.command("count")
@limit_option("users, the one who spoke last first")
@lists(
    (*names_of(RememberedPerson), "lines [{id, text}]"),
    *("person", "messages", "facts", "records", ago("last_ms", "LAST")),
    below=lambda row: [f"{row['person']} {one['id']}: {one['text']}" for one in row["lines"] if one["text"]],
    words=True,
)
async def count(here: Here, limit: int) -> list[Row]:
    """Show how much is remembered of each user; with --words also what is believed about them.

    `records` are those about them, of all kinds; `lines` the facts that hold. Texts are empty without --words, and
    those of direct messages and private rooms without --private.
    """

    async def unit(transaction: Transaction) -> list[Row]:
        people = await remembered_people(transaction, limit)
        known = await facts_about(transaction, [one.person for one in people])
        lines = [(one.person, {"id": one.id, "text": Hidden(one.id, one.text)}) for one in known]
        return [{**plain(one), "lines": [line for who, line in lines if who == one.person]} for one in people]

    return await here.database.read(unit)
