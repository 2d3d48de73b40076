"""`soul mind authority`: the levels of a mind's functions."""

from typing import Final

import click

from daemon.cli.listing import RowListing, at, daemons_clock, os_user, say, with_database
from daemon.cli.options import limit_option
from daemon.cli.thoughts import require_soul
from daemon.core.authority import Function, Level
from daemon.core.config import load_settings
from daemon.memory.admin.initiative_admin import AuthorityChanges
from daemon.memory.database import Database
from daemon.memory.stream.authority import FunctionLevel, LevelChange, level_changes, levels_in_words

_MEANS: Final = {
    Level.KEPT: "0 kept",
    Level.PROPOSED: "1 proposed",
    Level.CHECKED: "2 checked",
}
_LEVEL: Final = ("LEVEL", lambda one, _: _MEANS[Level(one.level)])
_FUNCTIONS: Final = RowListing[FunctionLevel](
    *(FunctionLevel, "function", _LEVEL, at("since_ms", "SINCE"), "by"),
    *(("REFUSED", lambda one, _: f"{one.refused} of {one.parts}"), "why"),
)
_CHANGES: Final = RowListing[LevelChange](
    *(LevelChange, at("at_ms", "WHEN"), "function", ("BEFORE", lambda one, _: _MEANS[Level(one.before)])),
    *(_LEVEL, "by", "why"),
    nothing="No level was changed yet.",
)


@click.group("authority", invoke_without_command=True)
@click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
@_FUNCTIONS.option
@click.pass_context
def mind_authority_command(context: click.Context, *, soul: str, as_json: bool) -> None:
    """Show the level of each function of a mind, and how its newest parts fared (docs/MIND.md).

    0: kept with the thought, without effect. 1: proposed, see `soul approvals`. 2: in effect within the checks of the
    daemon. `since_ms` is 0 where nothing was decided yet.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings()

    async def look(database: Database) -> tuple[FunctionLevel, ...]:
        await require_soul(settings, database, soul)
        return await levels_in_words(database, soul or settings.name)

    _FUNCTIONS.show(with_database(settings, look), as_json=as_json)


@mind_authority_command.command("set")
@click.argument("function", type=click.Choice([str(one) for one in Function]))
@click.argument("level", type=int)
@click.option("--why", required=True, help="The reason, which stays on record.")
@click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
def set_(function: str, level: int, why: str, soul: str) -> None:
    """Give a function a level. A soul never rises by itself."""
    if level not in list(Level):
        raise click.UsageError(f"there is no level {level}: set 0, 1 or 2, which does what level 3 did")
    settings, name, asked = load_settings(), Function(function), Level(level)
    clock, whose = daemons_clock(settings), soul or settings.name

    async def work(database: Database) -> Level:
        await require_soul(settings, database, soul)
        return await AuthorityChanges(database, clock, os_user()).set(whose, name, asked, why)

    before = with_database(settings, work)
    say(f"{function} of {whose} is on level {_MEANS[asked]}; before: {_MEANS[before]}.")


@mind_authority_command.command("history")
@click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
@click.option("--function", type=click.Choice([str(one) for one in Function]), help="Only of this one.")
@limit_option("of the newest changes, oldest first")
@_CHANGES.option
def history(soul: str, function: str | None, limit: int, as_json: bool) -> None:
    """Show which function went to which level, when, by whom and why: an admin, or the house where it fell."""
    settings = load_settings()

    async def look(database: Database) -> tuple[LevelChange, ...]:
        await require_soul(settings, database, soul)
        return await level_changes(database, soul or settings.name, function or "", limit)

    _CHANGES.show(with_database(settings, look), as_json=as_json)
