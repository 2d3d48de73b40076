"""`soul mind show`, `history`, `values`, `authority` and `initiative`: what a mind holds, and what it may do."""

from collections.abc import Iterable
from functools import partial
from typing import Final

import click

from daemon.cli.listing import Here, acts, at, lists, say, shows
from daemon.cli.options import also_as_list, audience_in, limit_option, soul_option
from daemon.cli.words import Hidden
from daemon.core.authority import Function, Level
from daemon.core.initiative import QuietHours
from daemon.memory.admin.initiative_admin import (
    AuthorityChanges,
    InvitationChanges,
    list_invitations,
    said_unasked,
)
from daemon.memory.mind.documents import MindDocument, rows_of_soul
from daemon.memory.mind.listing import document_history, document_parts
from daemon.memory.mind.self_model import own_text, values_in_force
from daemon.memory.records import Row
from daemon.memory.stream.authority import level_changes, levels_in_words
from daemon.soul import find_souls_directory, load_soul

_FIXED: Final = frozenset({"current_state", "recent_growth", "prediction_accuracy_note", "uncertainties", "text"})
_audience_option = click.option("--audience", default="", metavar="A", help="Only of this one, as dm:D123.")


_PART: Final = (
    "soul, workspace, audience, document, part, attribute, act, words, why, thought, conversation, at_ms, "
    "until_ms, in_force"
)


def _in_words(row: Row) -> str:
    what = " ".join(filter(None, (row["part"], row["attribute"])))
    return ": ".join(filter(None, (what, row["words"]))) + (f" (why: {row['why']})" if row["why"] else "")


_parts = partial(
    lists,
    *(_PART, at("at_ms", "WHEN"), "document audience thought act", ("WHAT", _in_words)),
    nothing='Nothing is held yet: it comes with thoughts, once soul.toml says `mind = "cycle"`.',
    words=True,
)


def _rows(found: Iterable[Row]) -> list[Row]:
    """Return parts whose words may be shown only with --words; a part with a fixed name is none of the words."""
    return [
        {
            **one,
            **{name: Hidden(one["thought"], one[name]) for name in ("attribute", "words", "why")},
            "part": one["part"] if one["part"] in _FIXED else Hidden(one["thought"], one["part"]),
        }
        for one in found
    ]


@click.command("show")
@_audience_option
@soul_option
@_parts()
async def show(here: Here, *, audience: str, soul: str) -> list[Row]:
    """Show what a soul whose mind is `cycle` holds of itself and of its world, part by part, oldest first.

    Times are UTC. Entities, attributes and texts are empty without --words, those that not the whole workspace may know
    without --private.
    """
    return _rows(await document_parts(here.database, await here.soul(soul), _audience(audience), here.now_ms))


@click.command("history")
@_audience_option
@soul_option
@limit_option("of the newest changes, oldest first")
@_parts()
async def history(here: Here, *, audience: str, soul: str, limit: int) -> list[Row]:
    """Show how a soul's documents changed: of itself, its world, its values and its own text. Times are UTC."""
    return _rows(await document_history(here.database, await here.soul(soul), _audience(audience), limit))


def _audience(text: str) -> str:
    return str(audience_in(text)) if text else ""


def _print_values(found: Row) -> None:
    if not found["values"]:
        say("It holds no values yet: none stands in its soul.toml, and it adopted none.")
    for one in found["values"]:
        meaning = f": {one['meaning']}" if one["meaning"] else ""
        say(f"{one['value'] or '(not shown)'}{meaning}{'' if one['active'] else ' (no longer held)'}")
    of_draft = "Its draft of it" if found["text"] else "Its draft of a text about itself"
    for what, said in (("Its own text about itself", found["text"]), (of_draft, found["draft"])):
        if said:
            say(f"\n{what}:\n{said}")


@click.command("values")
@soul_option
@shows("values [value, meaning, active, thought], text, draft", _print_values, words=True)
async def values(here: Here, *, soul: str) -> Row:
    """Show the values of a soul, those that it no longer holds among them, and its own text about itself.

    A value without a thought is of soul.toml alone. What the soul wrote itself is empty without --words.
    """
    name, settings = await here.soul(soul), here.settings
    seeds = load_soul(find_souls_directory(settings.souls_dir, settings.home, name), name).values
    rows = await here.database.read(partial(rows_of_soul, soul=name, document=MindDocument.VALUES))
    own = own_text(await here.database.read(partial(rows_of_soul, soul=name, document=MindDocument.IDENTITY)))
    return {
        "values": [
            {
                "value": one.name if one.name in seeds else Hidden(one.thought, one.name),
                "meaning": Hidden(one.thought, one.meaning if one.thought else ""),
                "active": one.active,
                "thought": one.thought,
            }
            for one in values_in_force(seeds, rows)
        ],
        "text": Hidden(own.thoughts, own.text),
        "draft": Hidden(own.thoughts, own.draft),
    }


_MEANS: Final = {Level.KEPT: "0 kept", Level.PROPOSED: "1 proposed", Level.CHECKED: "2 checked"}


@click.group("authority", invoke_without_command=True)
@soul_option
@lists(
    "function, level, why, since_ms, by, parts, refused",
    *("function", ("LEVEL", lambda row: _MEANS[row["level"]]), at("since_ms", "SINCE"), "by"),
    *(("REFUSED", lambda row: f"{row['refused']} of {row['parts']}"), "why"),
)
async def authority_command(here: Here, *, soul: str) -> list[Row]:
    """Show the level of each function of a mind, and how its newest parts fared (docs/MIND.md).

    0: kept with the thought, without effect. 1: proposed, see `soul approvals`. 2: in effect within the checks of the
    daemon. `since_ms` is 0 where nothing was decided yet.
    """
    return await levels_in_words(here.database, await here.soul(soul))


@authority_command.command("set")
@click.argument("function", type=click.Choice([str(one) for one in Function]))
@click.argument("level", type=int)
@click.option("--why", required=True, help="The reason, which stays on record.")
@soul_option
@acts
async def set_(here: Here, function: str, level: int, why: str, soul: str) -> str:
    """Give a function a level. A soul never rises by itself."""
    if level not in list(Level):
        raise click.UsageError(f"there is no level {level}: set 0, 1 or 2, which does what level 3 did")
    whose, asked = await here.soul(soul), Level(level)
    before = await here.admin(AuthorityChanges).set(whose, Function(function), asked, why)
    return f"{function} of {whose} is on level {_MEANS[asked]}; before: {_MEANS[before]}."


@authority_command.command("history")
@soul_option
@click.option("--function", type=click.Choice([str(one) for one in Function]), help="Only of this one.")
@limit_option("of the newest changes, oldest first")
@lists(
    *("at_ms, function, before, level, by, why", at("at_ms", "WHEN"), "function"),
    *(("BEFORE", lambda row: _MEANS[row["before"]]), ("LEVEL", lambda row: _MEANS[row["level"]]), "by why"),
    nothing="No level was changed yet.",
)
async def levels(here: Here, soul: str, function: str | None, limit: int) -> list[Row]:
    """Show which function went to which level, when, by whom and why: an admin, or `house` if the function fell."""
    return await level_changes(here.database, await here.soul(soul), function or "", limit)


_INVITATION: Final = "who, state, how, granted_by, until_ms, day_limit, sent_today, next_ms"


@click.group("initiative", invoke_without_command=True)
@soul_option
@lists(
    *(_INVITATION, "who state how BY=granted_by", at("until_ms", "UNTIL")),
    *(("TODAY", lambda row: f"{row['sent_today']} of {row['day_limit']}"), at("next_ms", "NEXT")),
    nothing="The soul knows nobody yet.",
)
async def initiative_command(here: Here, *, soul: str) -> list[Row]:
    """Show to whom a soul may write unasked (docs/MIND.md), or decide it for a channel's threads. Times are UTC.

    Without a command it lists them. `state` is unasked, invited, declined or paused; `how` phrase, click, admin or
    empty; `day_limit` is for a person, or for each thread of a channel. `until_ms` is null without a pause, `next_ms`
    where nothing may be said before a decision or an answer.
    """
    quiet = QuietHours.parse(here.settings.quiet_hours)
    return await list_invitations(here.database, await here.soul(soul), here.now_ms, quiet)


also_as_list(initiative_command)


@initiative_command.command("allow")
@click.argument("who", metavar="WHO")
@soul_option
@acts
async def allow(here: Here, *, who: str, soul: str) -> str:
    """Let a soul say something unasked in those threads of a channel in which it has taken part.

    WHO is the id of the channel. For themselves people decide alone, by writing `follow up on`.
    """
    whose = await here.soul(soul)
    await here.admin(InvitationChanges).allow(whose, who)
    return f"{whose} may say something unasked in threads of {who}."


@initiative_command.command("deny")
@click.argument("who", metavar="WHO")
@soul_option
@acts
async def deny(here: Here, *, who: str, soul: str) -> str:
    """Let a soul say nothing unasked to a person or in a channel but what it promised. WHO is the id of either."""
    whose = await here.soul(soul)
    await here.admin(InvitationChanges).deny(whose, who)
    return f"{whose} says nothing unasked any more to {who}, but for what it promised."


@initiative_command.command("log")
@soul_option
@limit_option("of the newest, oldest first")
@lists(
    *("at_ms, who, person, conversation, promised, unwanted", at("at_ms", "AT"), "who TO=person conversation"),
    ("WHY", lambda row: "promised" if row["promised"] else "invited"),
    ("UNWANTED", lambda row: "yes" if row["unwanted"] else ""),
    nothing="The soul has said nothing unasked yet.",
)
async def log(here: Here, *, soul: str, limit: int) -> list[Row]:
    """List what a soul said unasked and when, without words.

    `who` had given the invitation, a person or a channel; `unwanted`: they said so.
    """
    return await said_unasked(here.database, await here.soul(soul), limit)
