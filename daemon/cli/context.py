"""`soul context`: the typed state that souls and people share; and `soul handoff`."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any, Final

import click

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.history import read_items
from daemon.cli.listing import Here, ago, lists, say, shows, silent
from daemon.cli.options import audience_in, limit_option, until_interrupted
from daemon.core.config import Settings
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
from daemon.memory.queues.handoffs import HandoffRefused
from daemon.memory.records import Row
from daemon.memory.shared.messages import NoteStore
from daemon.shared.contexts import RawContext, SharedContexts, contexts_of
from daemon.shared.events import require_hosted

_KEY: Final = click.argument("key")
_VALUE: Final = click.argument("value", metavar="JSON")
_STATE: Final = "key, version, data, audience, writers, author, updated_ms"


@click.group("context")
def context_command() -> None:
    """Show and change the typed state that souls and people share."""


def _on_contexts(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Give a command the contexts in place of its `Here`. A conflict ends it with exit code 1."""

    @wraps(function)
    async def command(here: Here, **given: object) -> object:
        try:
            async with contexts_of(here.database) as home:
                return await function(home, **given)
        except ContextConflict as conflict:
            raise click.ClickException(str(conflict)) from conflict

    return command


def _print_state(row: Row) -> None:
    by = f", version {row['version']} by {row['author']}" if row["version"] else ", never written"
    say(f"{row['key']}{by}, for {row['audience']}")
    say(json.dumps(row["data"], indent=2, ensure_ascii=False))


@context_command.command("list")
@lists(
    *(_STATE, "key version", ago("updated_ms", "CHANGED")),
    *(("BY", lambda row: row["author"] or "-"), "FOR=audience"),
)
@_on_contexts
async def list_(home: SharedContexts) -> Sequence[ContextState]:
    """List all contexts, by key."""
    return await home.store.all()


@context_command.command("get")
@_KEY
@shows(_STATE, _print_state)
@_on_contexts
async def get(home: SharedContexts, key: str) -> ContextState:
    """Show a context; one that was never written is version 0 with {}."""
    return await home.store.get(key)


@context_command.command("set")
@_KEY
@_VALUE
@click.option("--if-version", type=click.IntRange(0), help="Only if this is the version still; else exit code 1.")
@shows(_STATE, _print_state)
@_on_contexts
async def set_(home: SharedContexts, key: str, value: str, if_version: int | None) -> ContextState:
    """Replace the data of a context by a JSON object."""
    return await RawContext(home, key).write(_object(value), if_version)


@context_command.command("patch")
@_KEY
@_VALUE
@shows(_STATE, _print_state)
@_on_contexts
async def patch(home: SharedContexts, key: str, value: str) -> ContextState:
    """Change some fields of a context by a JSON merge patch: null takes a field away (RFC 7396)."""
    changes = _object(value)
    return await RawContext(home, key).update(lambda data: merged(data, changes))


@context_command.command("edit")
@_KEY
@shows(_STATE, _print_state)
@_on_contexts
async def edit(home: SharedContexts, key: str) -> ContextState | None:
    """Change a context in your editor; refused if it was changed by others since."""
    before = await home.store.get(key)
    written = json.dumps(before.data, indent=2, ensure_ascii=False) + "\n"
    text = await asyncio.to_thread(click.edit, written, extension=".json")
    if text is None:
        say("Nothing was changed.")
        return None
    return await RawContext(home, key).write(_object(text), before.version)


@context_command.command("history")
@_KEY
@limit_option("versions, newest first")
@lists(
    *(ContextVersion, "version", ago("at_ms"), "BY=author"),
    ("DATA", lambda row: _in_line(row["data"]) + " (redacted)" * row["redacted"]),
)
@_on_contexts
async def history(home: SharedContexts, key: str, limit: int) -> Sequence[ContextVersion]:
    """List the versions of a context, newest first; the last 200 are kept.

    A version that held words of a person who was forgotten since has lost them, and says so: it is `redacted`.
    """
    return await home.store.history(key, limit)


@context_command.command("define")
@_KEY
@click.option("--audience", metavar="KIND:ID", help="Who may read it: workspace:T…, channel:C… or dm:D….")
@click.option("--writers", metavar="NAMES", help="The souls that may write, with commas; empty for all of this file.")
@shows(_STATE, _print_state)
@_on_contexts
async def define(home: SharedContexts, key: str, audience: str | None, writers: str | None) -> ContextState:
    """Say who may read a context and who may write it. The admin may always write."""
    readers = audience_in(audience) if audience is not None else None
    names = [one.strip() for one in writers.split(",") if one.strip()] if writers is not None else None
    return await home.store.define(key, audience=readers, writers=names)


@context_command.command("presence")
@_KEY
@lists(Member, "member", ago("seen_ms", "SEEN"), ("STATE", lambda row: _in_line(row["state"])), "process")
@_on_contexts
async def presence(home: SharedContexts, key: str) -> Sequence[Member]:
    """List who is present at a context: souls, processes, programs. At `souls` each soul shows what it does."""
    return await home.awareness(key).members()


@context_command.command("watch")
@_KEY
@until_interrupted
@shows("key, version, data, author, at_ms", "")
async def watch(here: Here, key: str) -> None:
    """Print a context now and at each change, a line each, until Ctrl-C."""
    checked_key(key)
    async with contexts_of(here.database) as home:
        async for one in RawContext(home, key).changes():
            line = {"key": one.key, "version": one.version, "data": one.data, "author": one.author}
            plain = json.dumps({**line, "at_ms": one.updated_ms})
            say(plain if here.as_json else f"{one.version} {one.author or '-'} {_in_line(one.data)}")


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


_SLACK_S: Final = 10.0
_PAGES: Final = 50


def _print_handed(row: Row) -> None:
    say(f"{row['handed_to']} answers in {row['conversation'].removeprefix(row['soul'] + '/')} from now on.")


@click.command("handoff")
@click.argument("name", metavar="CONVERSATION")
@click.argument("soul")
@shows(HandedOver, _print_handed)
async def handoff_command(here: Here, name: str, soul: str) -> HandedOver:
    """Hand a thread to another soul, which knows what was said there and answers from now on. Both say so there.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. SOUL is the name of its
    folder; a living daemon has to host it. Hand its conversation over to give the thread back.
    """
    await require_hosted(NoteStore(here.database, here.clock, await here.workspace()), soul)
    handing = here.admin(Handing)
    where, apps = await handing.other_apps(name, soul)
    if apps and not where.channel.startswith("D") and not await _is_there(here.settings, where.channel, apps):
        raise HandoffRefused(
            f"{soul} answers through another app, which is not in {where.channel}", hint="invite that app there first"
        )
    return await handing.hand_over(name, soul)


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
