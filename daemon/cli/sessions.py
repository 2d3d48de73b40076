"""`soul sessions`: the sessions of Claude Code that have joined the soul's mind."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, TypeVar

import click

from daemon.cli import keys
from daemon.cli.listing import age, json_of, os_user, say, say_json, table, with_database
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.sessions import CodeSession
from daemon.core.text import one_line
from daemon.memory.admin.binding import BindingAdmin, BindingOrder
from daemon.memory.bound_threads import bound_by_session
from daemon.memory.database import Database
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.sessions import SessionStore
from daemon.shared.asking import as_found
from daemon.shared.sessions import shown

T = TypeVar("T")

_HEADER: Final = ("name", "state", "project", "branch", "host", "seen", "reason", "waiting", "bound")

_KEYS: Final = (
    *("id", "name", "person", "project", "branch", "cwd", "host", "pid", "model", "source", "permission_mode"),
    *("attended", "state", "reach", "topic", "bound", "waiting", "started_ms", "seen_ms", "ended_ms", "reason"),
)


@click.group("sessions", invoke_without_command=True)
@click.option("--all", "ended", is_flag=True, help="Those that have ended, too.")
@json_of(_KEYS)
@click.option("--md", "as_markdown", is_flag=True, help="Print a table in Markdown.")
@click.pass_context
def sessions_command(context: click.Context, ended: bool, as_json: bool, as_markdown: bool) -> None:
    """Show the sessions of Claude Code that people run, their keys and their hooks."""
    if context.invoked_subcommand is not None:
        return
    seen = _with_sessions(lambda store, database: _look(store, database, ended=ended))
    if as_json:
        say_json([seen.shown(one) for one in seen.sessions])
    elif as_markdown:
        _say_markdown(seen)
    else:
        now = SystemClock().now_ms()
        table(_HEADER, [seen.cells(one, now) for one in seen.sessions])


sessions_command.add_command(keys.keys_command)
sessions_command.add_command(keys.hooks_command)


@sessions_command.command("forget")
@click.argument("names", metavar="NAME…", nargs=-1, required=True)
def forget(names: tuple[str, ...]) -> None:
    """Delete what is known of sessions, by their names or ids.

    One that still runs is there again with its next event; revoke its key to keep it away.
    """

    async def delete(store: SessionStore, _: Database) -> None:
        for name in names:
            await store.forget(name)

    _with_sessions(delete)
    say(f"Forgotten: {', '.join(names)}.")


@sessions_command.command("bind")
@click.argument("name")
@click.argument("conversation")
@click.option("--for-everybody", "everybody", is_flag=True, help="What anybody says there goes to it, too.")
@json_of(BindingOrder)
def bind(name: str, conversation: str, everybody: bool, as_json: bool) -> None:
    """Bind a thread of Slack to a session: what its owner says there goes to it in place of the soul.

    The owner is asked in a direct message and decides. A session without a person is bound at once; only with
    --for-everybody does anybody's word go to it. NAME is a session's name or id. CONVERSATION is an id,
    soul/workspace/channel/thread, or any part of it that is unique.
    """

    async def bound(store: SessionStore, database: Database) -> BindingOrder:
        session = await _named(store, name)
        if not session.may_be_asked:
            raise StoreError(f"{session.name} is hidden, headless or gone", hint="see `soul sessions`")
        admin = BindingAdmin(database, SystemClock(), os_user())
        return await admin.bind(session, conversation, everybody=everybody)

    done = _with_sessions(bound)
    if as_json:
        say_json(asdict(done))
    elif done.bound:
        say(f"{done.conversation} is bound to {done.session}.")
    else:
        say(f"The owner of {done.session} is asked in a direct message.")


@sessions_command.command("unbind")
@click.argument("name")
@json_of(BindingOrder)
def unbind(name: str, as_json: bool) -> None:
    """End the binding of a session, by its name or id: the soul answers in that thread again, and says so."""

    async def unbound(store: SessionStore, database: Database) -> BindingOrder:
        session = await _named(store, name)
        return await BindingAdmin(database, SystemClock(), os_user()).unbind(session)

    done = _with_sessions(unbound)
    if as_json:
        say_json(asdict(done))
    else:
        say(f"{done.conversation} is bound to no session any more.")


@dataclass(frozen=True, slots=True)
class _Seen:
    """The sessions, with the number of open questions and the bound conversation of each."""

    sessions: Sequence[CodeSession]
    waiting: Mapping[str, int]
    bound: Mapping[str, str]

    def shown(self, one: CodeSession) -> dict[str, object]:
        return shown(one, self.waiting.get(one.id, 0), self.bound.get(one.id))

    def cells(self, one: CodeSession, now: int) -> tuple[str, ...]:
        empty = "-"
        return (
            one.name,
            str(one.state),
            one.project or empty,
            one.branch or empty,
            one.host or empty,
            age(now, one.seen_ms),
            one.reason or empty,
            str(self.waiting.get(one.id, 0)),
            self.bound.get(one.id, empty),
        )


async def _look(store: SessionStore, database: Database, *, ended: bool) -> _Seen:
    now = SystemClock().now_ms()
    found = [as_found(one, now) for one in await store.all()]
    ordered = sorted((one for one in found if ended or one.living), key=lambda one: not one.living)
    return _Seen(ordered, await store.waiting(), await database.read(bound_by_session))


async def _named(store: SessionStore, name: str) -> CodeSession:
    """Return the session of this name or id, a living one first. Raises StoreError."""
    now = SystemClock().now_ms()
    found = [as_found(one, now) for one in await store.all() if name in {one.id, one.name}]
    if not found:
        raise StoreError(f"there is no session {name[:80]}", hint="see `soul sessions --all`")
    return min(found, key=lambda one: not one.living)


def _with_sessions(work: Callable[[SessionStore, Database], Awaitable[T]]) -> T:
    async def worked(database: Database) -> T:
        return await work(await _store(database), database)

    return with_database(load_settings(), worked)


async def _store(database: Database) -> SessionStore:
    workspace = await database.read(workspace_of_file)
    if not workspace:
        raise StoreError("memory.db knows no workspace yet", hint="start the daemon once with `soul run`")
    return SessionStore(database, workspace)


def _say_markdown(seen: _Seen) -> None:
    now = SystemClock().now_ms()
    rows = [_HEADER, ("---",) * len(_HEADER), *(seen.cells(one, now) for one in seen.sessions)]
    for row in rows:
        say("| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in row) + " |")
