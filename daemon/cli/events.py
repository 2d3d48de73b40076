"""`soul events`: the programs that may report to a soul in one room."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Final, TypeVar

import click

from daemon.cli.listing import RowListing, age, ago, json_of, names_of, os_user, say, say_json, with_database
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.files import kept_secret
from daemon.core.ports.services import SystemClock
from daemon.core.sensing import SECRET_FILE, EventSource, Signing, secret_of
from daemon.memory.admin.tool_admin import EventSourceAdmin

T = TypeVar("T")
_PAGES: Final = 20  # of channels that Slack lists
_SOURCES: Final = RowListing[EventSource](
    EventSource,
    "name",
    "room",
    "soul",
    "signing",
    ("SOUL DOES", lambda one, _: "wakes" if one.wakes else "heard"),
    ago("created_ms"),
    "events",
    ago("heard_ms", "LAST"),
    ("STATE", lambda one, now: "in force" if one.ended_ms is None else f"ended {age(now, one.ended_ms)} ago"),
)


@click.group("events")
def events_command() -> None:
    """Let programs report to the soul: builds, monitors, forges.

    Each source has a secret of its own and reaches one soul in one room, by POST /api/events?source=NAME of the HTTP
    API; docs/EXTENDING.md says how it signs.
    """


@events_command.command("add")
@click.argument("name")
@click.option("--room", required=True, metavar="C…|#NAME", help="The channel in which the soul perceives its events.")
@click.option("--soul", "soul", default="", help="Which soul; default: the one of SOUL_NAME.")
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
@json_of(("secret", *names_of(EventSource)))
def add(*, name: str, room: str, soul: str, signing: str, wakes: bool, as_json: bool) -> None:
    """Let the program NAME report in a room; its secret is shown this once.

    The secret is kept nowhere: it is made of the file events.key beside memory.db and the source's id.
    """
    settings = load_settings()
    if room.startswith("#"):
        room = _room_named(settings, room.removeprefix("#"))
    wanted = soul or settings.name
    _require_soul(settings, wanted)
    master = kept_secret(settings.home / SECRET_FILE, lambda _event, /, **_fields: None)
    made = _with_sources(
        lambda admin: admin.add(name, room, soul=wanted, signing=Signing(signing), wakes=wakes), settings
    )
    secret = secret_of(master, made.id)
    if as_json:
        say_json({"secret": secret, **asdict(made)})
        return
    say(secret)
    say(f"This is the one time that the secret of {name} is shown. It signs POST /api/events?source={name}.")


@events_command.command("list")
@_SOURCES.option
def list_(as_json: bool) -> None:
    """List all sources, newest first, ended ones too."""
    _SOURCES.show(_with_sources(lambda admin: admin.list(), load_settings()), as_json=as_json)


@events_command.command("end")
@click.argument("name")
@json_of(EventSource)
def end(name: str, as_json: bool) -> None:
    """End a source at once; its secret opens nothing any more."""
    found = _with_sources(lambda admin: admin.end(name), load_settings())
    if as_json:
        say_json(found)
    else:
        say(f"{found.name} may report nothing any more.")


def _with_sources(work: Callable[[EventSourceAdmin], Awaitable[T]], settings: Settings) -> T:
    return with_database(settings, lambda database: work(EventSourceAdmin(database, SystemClock(), os_user())))


def _require_soul(settings: Settings, name: str) -> None:
    if name not in {settings.name, *settings.souls}:
        hosted = ", ".join(dict.fromkeys((settings.name, *settings.souls)))
        raise StoreError(f"no soul {name[:40]!r} is hosted here", hint=f"hosted are: {hosted}")


def _room_named(settings: Settings, name: str) -> str:
    """Return the id of a channel that the app is in. Raises StoreError, ChannelError."""
    from daemon.channels.slack.api import SlackClient  # heavy, and needed for names alone
    from daemon.channels.slack.history import read_items

    if settings.slack_bot_token is None:
        raise StoreError("no SLACK_BOT_TOKEN is set, by which Slack could be asked", hint="give the channel's id")

    async def ask() -> str:
        client = SlackClient(settings, SystemClock(), lambda _event, /, **_fields: None)
        try:
            rooms, _ = await read_items(
                client,
                "users.conversations",
                "channels",
                dict,
                most=_PAGES,
                types="public_channel,private_channel",
                exclude_archived=True,
            )
        finally:
            await client.close()
        return next((str(room["id"]) for room in rooms if room.get("name") == name), "")

    found = asyncio.run(ask())
    if not found:
        raise StoreError(f"the app is in no channel #{name[:80]}", hint="invite it there, or give the channel's id")
    return found
