"""`soul sessions`: the sessions of Claude Code that have joined the soul's mind."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import click

from daemon.cli.database_access import existing_database, with_database
from daemon.cli.options import json_option
from daemon.cli.output import age, say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.sessions import CodeSession
from daemon.core.text import one_line
from daemon.memory.database import Database, open_database
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.sessions import SessionStore
from daemon.shared.bells import open_bells
from daemon.shared.living_sessions import as_found
from daemon.shared.sessions import shown

T = TypeVar("T")

_HEADER: Final = ("name", "state", "project", "branch", "host", "seen", "reason")


@click.group("sessions", invoke_without_command=True)
@click.option("--all", "ended", is_flag=True, help="Those that have ended, too.")
@json_option
@click.option("--md", "as_markdown", is_flag=True, help="Print a table in Markdown.")
@click.option("--watch", is_flag=True, help="Print a line for each change, until Ctrl-C.")
@click.pass_context
def command(context: click.Context, ended: bool, as_json: bool, as_markdown: bool, watch: bool) -> None:
    """Show the sessions of Claude Code that people run.

    JSON keys: id, name, person, project, branch, cwd, host, pid, model, source, permission_mode, attended, state,
    reach, topic, bound, waiting, started_ms, seen_ms, ended_ms, reason.
    """
    if context.invoked_subcommand is not None:
        return
    if watch:
        with suppress(KeyboardInterrupt):
            asyncio.run(_print_changes(as_json=as_json))
        return
    found, waiting = _with_sessions(lambda store: _look(store, ended=ended))
    if as_json:
        say_json([shown(one, waiting.get(one.id, 0)) for one in found])
    elif as_markdown:
        _say_markdown(found)
    else:
        now = SystemClock().now_ms()
        table(_HEADER, [_cells(one, now) for one in found])


@command.command("forget")
@click.argument("names", metavar="NAME…", nargs=-1, required=True)
def forget(names: tuple[str, ...]) -> None:
    """Delete what is known of sessions, by their names or ids.

    One that still runs is there again with its next event; revoke its key to keep it away.
    """

    async def delete(store: SessionStore) -> None:
        for name in names:
            await store.forget(name)

    _with_sessions(delete)
    say(f"Forgotten: {', '.join(names)}.")


async def _look(store: SessionStore, *, ended: bool) -> tuple[list[CodeSession], Mapping[str, int]]:
    """The sessions, living ones first, and how many questions are open, by session."""
    now = SystemClock().now_ms()
    found = [as_found(one, now) for one in await store.all()]
    return sorted((one for one in found if ended or one.living), key=lambda one: not one.living), await store.waiting()


async def _print_changes(*, as_json: bool) -> None:
    """Print a session whenever it is new or its state is another one."""
    settings, clock, before = load_settings(), SystemClock(), dict[str, tuple[object, ...]]()
    async with (
        open_database(existing_database(settings), clock, create=False) as database,
        open_bells(settings.home.absolute(), clock) as bells,
    ):
        store = await _store(database)
        while True:
            ringing = asyncio.ensure_future(bells.heard())
            try:
                found, waiting = await _look(store, ended=True)
                for one in found:
                    state = one.state, one.reason, one.branch, one.project
                    if before.get(one.id) != state and (one.living or one.id in before):
                        before[one.id] = state
                        plain = shown(one, waiting.get(one.id, 0))
                        say(json.dumps(plain) if as_json else "  ".join(_cells(one, clock.now_ms())))
                await ringing
            finally:
                ringing.cancel()


def _with_sessions(work: Callable[[SessionStore], Awaitable[T]]) -> T:
    async def worked(database: Database) -> T:
        return await work(await _store(database))

    return with_database(load_settings(), worked)


async def _store(database: Database) -> SessionStore:
    workspace = await database.read(workspace_of_file)
    if not workspace:
        raise StoreError("memory.db knows no workspace yet", hint="start the daemon once with `soul run`")
    return SessionStore(database, workspace)


def _cells(one: CodeSession, now: int) -> tuple[str, ...]:
    empty = "-"
    return (
        one.name,
        str(one.state),
        one.project or empty,
        one.branch or empty,
        one.host or empty,
        age(now, one.seen_ms),
        one.reason or empty,
    )


def _say_markdown(found: Sequence[CodeSession]) -> None:
    now = SystemClock().now_ms()
    rows = [_HEADER, ("---",) * len(_HEADER), *(_cells(one, now) for one in found)]
    for row in rows:
        say("| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in row) + " |")
