"""`soul tools`: the tools of MCP servers; and `soul events`: the programs that may report to a soul in one room."""

from collections.abc import Sequence
from typing import Final

import click

from daemon.cli.listing import Here, acts_on_each, age, ago, keys_in_words, lists, over, say, shows, silent
from daemon.cli.words import plain
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.files import kept_secret
from daemon.core.ports.services import SystemClock
from daemon.core.sensing import SECRET_FILE, EventSource, Signing, secret_of
from daemon.memory.admin.tool_admin import EventSourceAdmin, ToolAdmin, recorded_tools
from daemon.memory.records import Row

_PAGES: Final = 20  # of channels that Slack lists


@click.group("tools")
def tools_command() -> None:
    """List the tools of MCP servers, and accept those that have changed.

    A tool that says something else of itself than at its first sight asks for a click at every use, until it is
    accepted.
    """


@tools_command.command("list")
@lists(
    *("soul, server, name, accepted, offered, writes, changed_ms", "TOOL=name soul"),
    ("USE", lambda row: "asks" if row["writes"] or row["changed_ms"] is not None else "reads"),
    ("CHANGED", lambda row: "no" if row["changed_ms"] is None else f"{age(row['now_ms'], row['changed_ms'])} ago"),
)
async def list_tools(here: Here) -> list[Row]:
    """List every tool that a daemon has seen, the changed ones first. `changed_ms` is null for an unchanged tool."""
    return await recorded_tools(here.database)


@tools_command.command("accept")
@acts_on_each("TOOL")
async def accept(here: Here, name: str) -> str:
    """Accept what tools say of themselves now; a running daemon follows within five minutes."""
    await here.admin(ToolAdmin).accept(name)
    return f"{name} is accepted as it is now."


@click.group("events")
def events_command() -> None:
    """Let programs report to the soul: builds, monitors, forges.

    Each source has its secret and reaches one soul in one room, by POST /api/events?source=NAME of the HTTP
    API; docs/EXTENDING.md says how it signs.
    """


def _print_secret(made: Row) -> None:
    name = made["name"]
    say(made["secret"])
    say(f"This is the one time that the secret of {name} is shown. It signs POST /api/events?source={name}.")


@events_command.command("add")
@click.argument("name")
@click.option("--room", required=True, metavar="C…|#NAME", help="The channel in which the soul perceives its events.")
@click.option("--soul", default="", help="Which soul; default: the one of SOUL_NAME.")
@click.option(
    "--signing",
    type=click.Choice([one.value for one in Signing]),
    default=Signing.STANDARD.value,
    show_default=True,
    help="How it signs: as standardwebhooks.com says, or as GitHub does.",
)
@click.option(
    "--wakes/--heard",
    default=True,
    show_default=True,
    help="Whether the soul looks at each event and may speak, or only has them in mind when it speaks there anyway.",
)
@shows(f"secret, {keys_in_words(EventSource)}", _print_secret)
async def add(here: Here, *, name: str, room: str, soul: str, signing: str, wakes: bool) -> Row:
    """Let the program NAME report in a room; its secret is shown this once.

    The secret is kept nowhere: it is made of the file events.key next to memory.db and the source's id.
    """
    settings = here.settings
    if room.startswith("#"):
        room = await _room_named(settings, room.removeprefix("#"))
    wanted = soul or settings.name
    hosted = tuple(dict.fromkeys((settings.name, *settings.souls)))
    if wanted not in hosted:
        raise StoreError(f"no soul {wanted[:40]!r} is hosted here", hint=f"hosted are: {', '.join(hosted)}")
    master = kept_secret(settings.home / SECRET_FILE, silent)
    made = await here.admin(EventSourceAdmin).add(name, room, soul=wanted, signing=Signing(signing), wakes=wakes)
    return {"secret": secret_of(master, made.id), **plain(made)}


@events_command.command("list")
@lists(
    *(EventSource, "name room soul signing"),
    ("SOUL DOES", lambda row: "wakes" if row["wakes"] else "heard"),
    *(ago("created_ms"), "events", ago("heard_ms", "LAST")),
    over("ended_ms", "ended"),
)
async def list_sources(here: Here) -> Sequence[EventSource]:
    """List all sources, newest first, ended ones too."""
    return await here.admin(EventSourceAdmin).list()


@events_command.command("end")
@click.argument("name")
@shows(EventSource, "{name} may report nothing any more.")
async def end(here: Here, name: str) -> EventSource:
    """End a source at once; its secret opens nothing any more."""
    return await here.admin(EventSourceAdmin).end(name)


async def _room_named(settings: Settings, name: str) -> str:
    """Return the id of a channel that the app is in. Raises StoreError, ChannelError."""
    from daemon.channels.slack.api import SlackClient  # heavy, and needed for names alone
    from daemon.channels.slack.history import read_items

    if settings.slack_bot_token is None:
        raise StoreError("no SLACK_BOT_TOKEN is set, by which Slack could be asked", hint="give the channel's id")
    client = SlackClient(settings, SystemClock(), silent)
    try:
        rooms, _ = await read_items(
            client,
            *("users.conversations", "channels", dict),
            most=_PAGES,
            types="public_channel,private_channel",
            exclude_archived=True,
        )
    finally:
        await client.close()
    found = next((str(room["id"]) for room in rooms if room.get("name") == name), "")
    if not found:
        raise StoreError(f"the app is in no channel #{name[:80]}", hint="invite it there, or give the channel's id")
    return found
