"""`soul context`: the typed state that souls and people share; and `soul handoff`."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Final, TypeVar

import click

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.history import read_items
from daemon.cli.listing import (
    RowListing,
    ago,
    existing_database,
    json_of,
    os_user,
    say,
    say_json,
    silent,
    with_database,
)
from daemon.cli.options import audience_in, limit_option
from daemon.core.config import Settings, load_settings
from daemon.core.contexts import (
    ContextConflict,
    ContextRefused,
    ContextState,
    ContextVersion,
    JSONObject,
    checked_key,
    merged,
)
from daemon.core.errors import ChannelError
from daemon.core.ports.arrivals import Member
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.binding import HandedOver, Handing
from daemon.memory.database import Database
from daemon.memory.queues.handoffs import HandoffRefused
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.messages import NoteStore
from daemon.shared.contexts import RawContext, SharedContexts, open_shared_contexts
from daemon.shared.events import require_hosted

T = TypeVar("T")

_CONTEXTS: Final = RowListing[ContextState](
    *(ContextState, "key", "version", ago("updated_ms", "CHANGED")),
    *(("BY", lambda one, _: one.author or "-"), ("FOR", "audience")),
)
_VERSIONS: Final = RowListing[ContextVersion](
    *(ContextVersion, "version", ago("at_ms"), ("BY", "author")),
    ("DATA", lambda one, _: _in_line(one.data) + " (redacted)" * one.redacted),
)
_MEMBERS: Final = RowListing[Member](
    Member, "member", ago("seen_ms", "SEEN"), ("STATE", lambda one, _: _in_line(one.state)), "process"
)


@click.group("context")
def context_command() -> None:
    """Show and change the typed state that souls and people share."""


@context_command.command("list")
@_CONTEXTS.option
def list_(as_json: bool) -> None:
    """List all contexts, by key."""
    found = _with_contexts(lambda home: home.store.all())
    _CONTEXTS.show(found, as_json=as_json, plain=_plain)


@context_command.command("get")
@click.argument("key")
@json_of(ContextState)
def get(key: str, as_json: bool) -> None:
    """Show a context; one that was never written is version 0 with {}."""
    _show(_with_contexts(lambda home: home.store.get(key)), as_json=as_json)


@context_command.command("set")
@click.argument("key")
@click.argument("value", metavar="JSON")
@click.option("--if-version", type=click.IntRange(0), help="Only if this is the version still; else exit code 1.")
@json_of(ContextState)
def set_(key: str, value: str, if_version: int | None, as_json: bool) -> None:
    """Replace the data of a context by a JSON object."""
    data = _object(value)

    async def write(home: SharedContexts) -> ContextState:
        return await RawContext(home, key).write(data, if_version)

    _show(_with_contexts(write), as_json=as_json)


@context_command.command("patch")
@click.argument("key")
@click.argument("value", metavar="JSON")
@json_of(ContextState)
def patch(key: str, value: str, as_json: bool) -> None:
    """Change some fields of a context by a JSON merge patch: null takes a field away (RFC 7396)."""
    changes = _object(value)

    async def write(home: SharedContexts) -> ContextState:
        return await RawContext(home, key).update(lambda data: merged(data, changes))

    _show(_with_contexts(write), as_json=as_json)


@context_command.command("edit")
@click.argument("key")
def edit(key: str) -> None:
    """Change a context in your editor; refused if it was changed by others meanwhile."""
    before = _with_contexts(lambda home: home.store.get(key))
    text = click.edit(json.dumps(before.data, indent=2, ensure_ascii=False) + "\n", extension=".json")
    if text is None:
        say("Nothing was changed.")
        return
    data = _object(text)

    async def write(home: SharedContexts) -> ContextState:
        return await RawContext(home, key).write(data, before.version)

    _show(_with_contexts(write), as_json=False)


@context_command.command("history")
@click.argument("key")
@limit_option("versions, newest first")
@_VERSIONS.option
def history(key: str, limit: int, as_json: bool) -> None:
    """List the versions of a context, newest first; the last 200 are kept.

    A version that held words of a person who was forgotten since has lost them, and says so: it is `redacted`.
    """
    found = _with_contexts(lambda home: home.store.history(key, limit))
    _VERSIONS.show(found, as_json=as_json)


@context_command.command("define")
@click.argument("key")
@click.option("--audience", metavar="KIND:ID", help="Who may read it: workspace:T…, channel:C… or dm:D….")
@click.option("--writers", metavar="NAMES", help="The souls that may write, with commas; empty for all of this file.")
@json_of(ContextState)
def define(key: str, audience: str | None, writers: str | None, as_json: bool) -> None:
    """Say who may read a context and who may write it. The admin may always write."""
    readers = audience_in(audience) if audience is not None else None
    names = [one.strip() for one in writers.split(",") if one.strip()] if writers is not None else None
    _show(
        _with_contexts(lambda home: home.store.define(key, audience=readers, writers=names)),
        as_json=as_json,
    )


@context_command.command("presence")
@click.argument("key")
@_MEMBERS.option
def presence(key: str, as_json: bool) -> None:
    """List who is present at a context: souls, processes, programs. At `souls` each soul shows what it does."""
    found = _with_contexts(lambda home: home.awareness(key).members())
    _MEMBERS.show(found, as_json=as_json)


@context_command.command("watch")
@click.argument("key")
@json_of(("key", "version", "data", "author", "at_ms"))
def watch(key: str, as_json: bool) -> None:
    """Print a context now and at each change, a line each, until Ctrl-C."""
    checked_key(key)

    async def print_changes(home: SharedContexts) -> None:
        async for one in RawContext(home, key).changes():
            line = {"version": one.version, "data": one.data, "author": one.author, "at_ms": one.updated_ms}
            plain = json.dumps({"key": one.key, **line})
            say(plain if as_json else f"{one.version} {one.author or '-'} {json.dumps(one.data, ensure_ascii=False)}")

    with suppress(KeyboardInterrupt):
        _with_contexts(print_changes)


def _with_contexts(work: Callable[[SharedContexts], Awaitable[T]]) -> T:
    async def worked() -> T:
        async with open_shared_contexts(existing_database(load_settings())) as home:
            return await work(home)

    try:
        return asyncio.run(worked())
    except ContextConflict as conflict:
        raise click.ClickException(str(conflict)) from conflict


def _in_line(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def _object(text: str) -> JSONObject:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ContextRefused(
            f"this is no JSON: {error}", hint='write an object, e.g. \'{"phase": "lobby"}\''
        ) from error
    if not isinstance(value, dict):
        raise ContextRefused("the data has to be a JSON object", hint='e.g. \'{"phase": "lobby"}\'')
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _show(found: ContextState, *, as_json: bool) -> None:
    if as_json:
        say_json(_plain(found))
        return
    by = f", version {found.version} by {found.author}" if found.version else ", never written"
    say(f"{found.key}{by}, for {found.audience}")
    say(json.dumps(found.data, indent=2, ensure_ascii=False))


def _plain(found: ContextState) -> dict[str, object]:
    return {
        "key": found.key,
        "version": found.version,
        "data": found.data,
        "audience": str(found.audience),
        "writers": list(found.writers),
        "author": found.author,
        "updated_ms": found.updated_ms,
    }


_SLACK_S: Final = 10.0
_PAGES: Final = 50


@click.command("handoff")
@click.argument("name", metavar="CONVERSATION")
@click.argument("soul")
@json_of(HandedOver)
def handoff_command(name: str, soul: str, as_json: bool) -> None:
    """Hand a thread to another soul, which knows what was said there and answers from now on. Both say so there.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. SOUL is the name of its
    folder; a living daemon has to host it. Hand its conversation over to give the thread back.
    """

    async def handed(database: Database) -> HandedOver:
        workspace = await database.read(workspace_of_file)
        await require_hosted(NoteStore(database, SystemClock(), workspace), soul)
        handing = Handing(database, SystemClock(), os_user())
        where, apps = await handing.other_apps(name, soul)
        if apps and not where.channel.startswith("D") and not await _is_there(settings, where.channel, apps):
            raise HandoffRefused(
                f"{soul} answers through another app, which is not in {where.channel}",
                hint="invite that app there first",
            )
        return await handing.hand_over(name, soul)

    settings = load_settings()
    done = with_database(settings, handed)
    if as_json:
        say_json(asdict(done))
    else:
        say(f"{soul} answers in {done.conversation.removeprefix(done.soul + '/')} from now on.")


async def _is_there(settings: Settings, channel: str, apps: frozenset[str]) -> bool:
    """Return whether one of the accounts is in a channel; true if Slack can't say now, or lists only some members."""
    if settings.slack_bot_token is None:
        return True
    client = SlackClient(settings, SystemClock(), silent)
    try:
        async with asyncio.timeout(_SLACK_S):
            members, whole = await read_items(
                client, "conversations.members", "members", str, most=_PAGES, channel=channel
            )
    except (ChannelError, TimeoutError):
        return True
    finally:
        await client.close()
    return not whole or not apps.isdisjoint(members)
