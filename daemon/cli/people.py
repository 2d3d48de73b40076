"""`soul people`: what the soul knows of people, where that may be heard, and how it came to be."""

from dataclasses import asdict, replace

import click

from daemon.cli.database_access import with_database
from daemon.cli.output import age, facts, say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.memory.database import Database
from daemon.memory.knowledge.user_models import ModelVersion, UserModel, list_models, model_history

_MOST = 1_000  # models of one person: one for each room they talked in


@click.group("people")
def command() -> None:
    """List or show what the soul knows of people, and how it changed.

    \b
    JSON keys: soul, person, audience, version, name, notes, whispers, visits, interactions, seen_ms, modelled_to,
    updated_ms; in `history`: soul, audience, version, notes, whispers, change, trace_id, made_ms. `list` leaves notes
    and whispers empty: what is known is shown by `show` alone.
    """


@command.command("list")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, last seen first."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(limit: int, as_json: bool) -> None:
    """List whom the soul knows, once for each audience that it met them before."""
    found = with_database(load_settings(), lambda database: list_models(database, limit))
    if as_json:
        say_json([_plain(replace(one, notes=(), whispers="")) for one in found])
        return
    now = SystemClock().now_ms()
    rows = [
        (
            one.person,
            one.name,
            str(one.audience),
            age(now, one.seen_ms),
            str(one.visits),
            str(one.interactions),
            str(len(one.notes)),
            one.soul,
        )
        for one in found
    ]
    table(("PERSON", "NAME", "AUDIENCE", "SEEN", "VISITS", "MESSAGES", "NOTES", "SOUL"), rows)


@command.command("show")
@click.argument("person", metavar="PERSON")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(person: str, as_json: bool) -> None:
    """Show what is known of one person, for each audience apart. PERSON is the Slack id, U…"""

    async def work(database: Database) -> tuple[UserModel, ...]:
        return await list_models(database, _MOST, person=person)

    found = with_database(load_settings(), work)
    if not found:
        raise StoreError(f"nobody called {person} is known", hint="see `soul people list`; a person is named by id")
    if as_json:
        say_json([_plain(one) for one in found])
        return
    for number, one in enumerate(found):
        if number:
            say()
        facts({name: value for name, value in _plain(one).items() if name not in ("notes", "whispers")})
        _say_known(one.notes, one.whispers)


@command.command("history")
@click.argument("person", metavar="PERSON")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def history(person: str, limit: int, as_json: bool) -> None:
    """Show how the notes about one person changed, version by version."""
    found = with_database(load_settings(), lambda database: model_history(database, person, limit))
    if as_json:
        say_json([_plain(one) for one in found])
        return
    now = SystemClock().now_ms()
    for one in found:
        say(f"{one.soul}: {one.audience} version {one.version}, {age(now, one.made_ms)} ago")
        for line in _told(one):
            say(f"  {line}")


def _plain(one: UserModel | ModelVersion) -> dict[str, object]:
    return {**asdict(one), "audience": str(one.audience)}


def _say_known(notes: tuple[str, ...], whispers: str) -> None:
    for line in notes:
        say(f"- {line}")
    for line in whispers.splitlines():
        say(f"~ {line}")


def _told(one: ModelVersion) -> list[str]:
    """A change in lines: added, corrected and retired ones; or that it was let go, or that no line was changed."""
    lines = [f"+ {line}" for line in _items(one.change.get("added"))]
    lines += [f"- {line}" for line in _items(one.change.get("retired"))]
    lines += [f"* {' -> '.join(map(str, _items(pair)))}" for pair in _items(one.change.get("corrected"))]
    if "scrubbed" in one.change:
        lines.append("(its words were taken back)")
    if "unlearned" in one.change:
        lines.append(f"(let go of what was learned from words taken back: {one.change['unlearned']} lines)")
    return lines or ["(the whispers alone)"]


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
