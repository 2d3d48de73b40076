"""`soul people`: what the soul knows about users, per audience, and how it changed."""

from dataclasses import asdict, replace

import click

from daemon.cli.database_access import with_database
from daemon.cli.options import json_option, limit_option
from daemon.cli.output import age, facts, say, say_json, show_rows
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.memory.knowledge.user_models import ModelVersion, UserModel, list_models, model_history

_MOST = 1_000  # user models of one user: one per audience


@click.group("people")
def command() -> None:
    """List or show what the soul knows about users, and how it changed.

    \b
    JSON keys: soul, person, audience, version, name, notes, whispers, visits, interactions, seen_ms, modelled_to,
    updated_ms; in `history`: soul, audience, version, notes, whispers, change, trace_id, made_ms. `list` leaves notes
    and whispers empty; only `show` prints them.
    """


@command.command("list")
@limit_option("entries, last seen first")
@json_option
def list_(limit: int, as_json: bool) -> None:
    """List the users whom the soul knows, once per audience."""
    found = with_database(load_settings(), lambda database: list_models(database, limit))
    if as_json:
        say_json([_plain(replace(one, notes=(), whispers="")) for one in found])
        return
    show_rows(
        found,
        ("PERSON", "NAME", "AUDIENCE", "SEEN", "VISITS", "MESSAGES", "NOTES", "SOUL"),
        lambda one, now: (
            *(one.person, one.name, one.audience, age(now, one.seen_ms)),
            *(one.visits, one.interactions, len(one.notes), one.soul),
        ),
        as_json=False,
    )


@command.command("show")
@click.argument("person", metavar="PERSON")
@json_option
def show(person: str, as_json: bool) -> None:
    """Show what the soul knows about one user, per audience. PERSON is a Slack id, U…"""
    found = with_database(load_settings(), lambda database: list_models(database, _MOST, person=person))
    if not found:
        raise StoreError(f"the soul knows no user {person}", hint="see `soul people list`; give the id")
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
@limit_option("versions, newest first")
@json_option
def history(person: str, limit: int, as_json: bool) -> None:
    """Show how the notes about one user changed, version by version."""
    found = with_database(load_settings(), lambda database: model_history(database, person, limit))
    if as_json:
        say_json([_plain(one) for one in found])
        return
    now = SystemClock().now_ms()
    for one in found:
        say(f"{one.soul}: {one.audience} version {one.version}, {age(now, one.made_ms)} ago")
        for line in _change_lines(one):
            say(f"  {line}")


def _plain(one: UserModel | ModelVersion) -> dict[str, object]:
    return {**asdict(one), "audience": str(one.audience)}


def _say_known(notes: tuple[str, ...], whispers: str) -> None:
    for line in notes:
        say(f"- {line}")
    for line in whispers.splitlines():
        say(f"~ {line}")


def _change_lines(one: ModelVersion) -> list[str]:
    """One line per added, retired or corrected note, and for what was deleted with a user's messages."""
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
