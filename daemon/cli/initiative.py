"""`soul mind initiative`: the people and channels to which a soul may write unasked, and the record of it."""

from typing import Final

import click

from daemon.cli.listing import RowListing, at, daemons_clock, os_user, say, with_database
from daemon.cli.options import limit_option
from daemon.cli.thoughts import require_soul
from daemon.core.config import load_settings
from daemon.core.initiative import QuietHours
from daemon.memory.admin.initiative_admin import (
    InvitationChanges,
    ListedInvitation,
    SaidUnasked,
    list_invitations,
    said_unasked,
)
from daemon.memory.database import Database

_INVITED: Final = RowListing[ListedInvitation](
    *(ListedInvitation, "who", "state", "how", ("BY", "granted_by"), at("until_ms", "UNTIL")),
    *(("TODAY", lambda one, _: f"{one.sent_today} of {one.day_limit}"), at("next_ms", "NEXT")),
    nothing="The soul knows nobody yet.",
)
_LOG: Final = RowListing[SaidUnasked](
    *(SaidUnasked, at("at_ms", "AT"), "who", ("TO", "person"), "conversation"),
    ("WHY", lambda one, _: "promised" if one.promised else "invited"),
    ("UNWANTED", lambda one, _: "yes" if one.unwanted else ""),
    nothing="The soul has said nothing unasked yet.",
)

_soul_option = click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")


@click.group("initiative", invoke_without_command=True)
@_soul_option
@_INVITED.option
@click.pass_context
def initiative_command(context: click.Context, *, soul: str, as_json: bool) -> None:
    """Show to whom a soul may write unasked (docs/MIND.md), or decide it for a channel's threads. Times are UTC.

    Without a command it lists them. `state` is unasked, invited, declined or paused; `how` phrase, click, admin or
    empty; `day_limit` is for a person, or for each thread of a channel. `until_ms` is null without a pause, `next_ms`
    where nothing may be said before a decision or an answer.
    """
    if context.invoked_subcommand is None:
        _list(soul, as_json=as_json)


@initiative_command.command("list")
@_soul_option
@_INVITED.option
def list_(*, soul: str, as_json: bool) -> None:
    """List the people whom a soul knows, and the channels about which was decided."""
    _list(soul, as_json=as_json)


def _list(soul: str, *, as_json: bool) -> None:
    settings = load_settings()
    now = daemons_clock(settings).now_ms()

    async def read(database: Database) -> tuple[ListedInvitation, ...]:
        await require_soul(settings, database, soul)
        quiet = QuietHours.parse(settings.quiet_hours)
        return await list_invitations(database, soul or settings.name, now, quiet)

    _INVITED.show(with_database(settings, read), as_json=as_json)


def _deciding(name: str, help_: str, *, allows: bool) -> click.Command:
    """Make a command that decides for a person or a channel."""

    @click.argument("who", metavar="WHO")
    @_soul_option
    def decide(*, who: str, soul: str) -> None:
        settings = load_settings()
        clock, whose = daemons_clock(settings), soul or settings.name

        async def work(database: Database) -> None:
            await require_soul(settings, database, soul)
            changes = InvitationChanges(database, clock, os_user())
            await (changes.allow(whose, who) if allows else changes.deny(whose, who))

        with_database(settings, work)
        said = "may say something unasked in threads of" if allows else "says nothing unasked any more to"
        say(f"{whose} {said} {who}{'' if allows else ', but for what it promised'}.")

    return click.command(name, help=help_)(decide)


initiative_command.add_command(
    _deciding(
        "allow",
        "Let a soul say something unasked in those threads of a channel in which it has taken part. WHO is the id of "
        "the channel. For themselves people decide alone, by writing `follow up on`.",
        allows=True,
    )
)
initiative_command.add_command(
    _deciding(
        "deny",
        "Let a soul say nothing unasked to a person or in a channel but what it promised. WHO is the id of either.",
        allows=False,
    )
)


@initiative_command.command("log")
@_soul_option
@limit_option("of the newest, oldest first")
@_LOG.option
def log(*, soul: str, limit: int, as_json: bool) -> None:
    """List what a soul said unasked and when, without words.

    `who` had given the invitation, a person or a channel; `unwanted`: they said so.
    """
    settings = load_settings()

    async def read(database: Database) -> tuple[SaidUnasked, ...]:
        await require_soul(settings, database, soul)
        return await said_unasked(database, soul or settings.name, limit)

    _LOG.show(with_database(settings, read), as_json=as_json)
