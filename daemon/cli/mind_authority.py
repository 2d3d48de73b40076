"""`soul mind authority`: how much each function of a mind may do by itself."""

from typing import Final

import click

from daemon.cli.daemons_clock import daemons_clock
from daemon.cli.database_access import os_user, with_database
from daemon.cli.options import json_option, limit_option
from daemon.cli.output import say, say_json, table
from daemon.cli.thoughts import require_soul
from daemon.core.authority import Function, Level
from daemon.core.config import load_settings
from daemon.core.timetable import moment
from daemon.memory.admin.authority_admin import AuthorityChanges
from daemon.memory.database import Database
from daemon.memory.stream.authority import FunctionLevel, LevelChange, level_changes, levels_in_words

_HEADER: Final = ("FUNCTION", "LEVEL", "SINCE", "BY", "REFUSED", "WHY")
_CHANGES: Final = ("WHEN", "FUNCTION", "BEFORE", "LEVEL", "BY", "WHY")
_MEANS: Final = {
    Level.KEPT: "0 kept",
    Level.PROPOSED: "1 proposed",
    Level.CHECKED: "2 checked",
    Level.OWN: "3 its own",
}


@click.group("authority", invoke_without_command=True)
@click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
@json_option
@click.pass_context
def command(context: click.Context, *, soul: str, as_json: bool) -> None:
    """Show the level of each function of a mind, and how its newest parts fared (docs/MIND.md).

    0: kept with the thought, without effect. 1: proposed, see `soul approvals`. 2: in effect within the checks of the
    house. 3: the soul's own.

    \b
    JSON keys: function, level, why, since_ms, by, parts, refused. `since_ms` is 0 where nothing was decided yet.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings()

    async def look(database: Database) -> tuple[FunctionLevel, ...]:
        await require_soul(settings, database, soul)
        return await levels_in_words(database, soul or settings.name)

    found = with_database(settings, look)
    if as_json:
        say_json(found)
        return
    table(_HEADER, [_row(one) for one in found])


@command.command("set")
@click.argument("function", type=click.Choice([str(one) for one in Function]))
@click.argument("level", type=click.IntRange(min(Level), max(Level)))
@click.option("--why", required=True, help="The reason, which stays on record.")
@click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
def set_(function: str, level: int, why: str, soul: str) -> None:
    """Give a function a level. A soul never rises by itself."""
    settings, name, asked = load_settings(), Function(function), Level(level)
    clock, whose = daemons_clock(settings), soul or settings.name

    async def work(database: Database) -> Level:
        await require_soul(settings, database, soul)
        return await AuthorityChanges(database, clock, os_user()).set(whose, name, asked, why)

    before = with_database(settings, work)
    say(f"{function} of {whose} is on level {_MEANS[asked]}; before: {_MEANS[before]}.")


@command.command("history")
@click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
@click.option("--function", type=click.Choice([str(one) for one in Function]), help="Only of this one.")
@limit_option("of the newest changes, oldest first")
@json_option
def history(soul: str, function: str | None, limit: int, as_json: bool) -> None:
    """Show which function went to which level, when, by whom and why: an admin, or the house where it fell.

    \b
    JSON keys: at_ms, function, before, level, by, why.
    """
    settings = load_settings()

    async def look(database: Database) -> tuple[LevelChange, ...]:
        await require_soul(settings, database, soul)
        return await level_changes(database, soul or settings.name, function or "", limit)

    found = with_database(settings, look)
    if as_json:
        say_json(found)
        return
    if not found:
        say("No level was changed yet.")
        return
    table(_CHANGES, [_change(one) for one in found])


def _change(one: LevelChange) -> tuple[str, ...]:
    before, level = _MEANS[Level(one.before)], _MEANS[Level(one.level)]
    return (moment(one.at_ms), one.function, before, level, one.by, one.why)


def _row(one: FunctionLevel) -> tuple[str, ...]:
    since = moment(one.since_ms) if one.since_ms else ""
    return (one.function, _MEANS[Level(one.level)], since, one.by, f"{one.refused} of {one.parts}", one.why)
