"""`soul sessions`: the sessions of Claude Code that have joined the soul's mind, their keys and their hooks."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

import click

from daemon.cli.listing import Column, Here, TextTable, acts, ago, lists, over, say, shows
from daemon.cli.words import plain
from daemon.core.errors import ConfigError, StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.sessions import CodeSession, Visibility
from daemon.core.text import one_line
from daemon.memory.admin.binding import BindingAdmin, BindingOrder
from daemon.memory.bound_threads import bound_by_session
from daemon.memory.records import Row
from daemon.memory.shared.keys import KeyAdmin, StoredKey
from daemon.memory.shared.sessions import SessionStore
from daemon.shared.asking import as_found
from daemon.shared.sessions import shown

_KEYS: Final = (
    "id, name, person, project, branch, cwd, host, pid, model, source, permission_mode, attended, state, reach, "
    "topic, bound, waiting, started_ms, seen_ms, ended_ms, reason"
)


def _or_dash(key: str) -> Column:
    return key, lambda row: row[key] or "-"


_TABLE: Final = TextTable(
    *("name=name state=state", _or_dash("project"), _or_dash("branch"), _or_dash("host")),
    *(ago("seen_ms", "seen"), _or_dash("reason"), "waiting=waiting", _or_dash("bound")),
)


@click.group("sessions", invoke_without_command=True)
@click.option("--all", "ended", is_flag=True, help="Those that have ended, too.")
@click.option("--md", "as_markdown", is_flag=True, help="Print a table in Markdown.")
@shows(_KEYS, _TABLE)
async def sessions_command(here: Here, ended: bool, as_markdown: bool) -> list[Row] | None:
    """Show the sessions of Claude Code that people run, their keys and their hooks."""
    store = SessionStore(here.database, await here.workspace())
    found = [one for one in await _all(store) if ended or one.living]
    waiting, bound = await store.waiting(), await here.database.read(bound_by_session)
    rows: list[Row] = [shown(one, waiting.get(one.id, 0), bound.get(one.id)) for one in found]
    if here.as_json or not as_markdown:
        return rows
    for cells in (_TABLE.header, ["---"] * len(_TABLE.header), *(_TABLE.cells(row, here.now_ms) for row in rows)):
        say("| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |")
    return None


async def _all(store: SessionStore) -> list[CodeSession]:
    """Return all sessions, the living ones first."""
    now = SystemClock().now_ms()
    return sorted([as_found(one, now) for one in await store.all()], key=lambda one: not one.living)


async def _named(here: Here, name: str) -> CodeSession:
    """Return the session of this name or id, a living one first. Raises StoreError."""
    for one in await _all(SessionStore(here.database, await here.workspace())):
        if name in {one.id, one.name}:
            return one
    raise StoreError(f"there is no session {name[:80]}", hint="see `soul sessions --all`")


@sessions_command.command("forget")
@click.argument("names", metavar="NAME…", nargs=-1, required=True)
@acts
async def forget(here: Here, names: tuple[str, ...]) -> str:
    """Delete what is known of sessions, by their names or ids.

    One that still runs is there again with its next event; revoke its key to keep it away.
    """
    store = SessionStore(here.database, await here.workspace())
    for name in names:
        await store.forget(name)
    return f"Forgotten: {', '.join(names)}."


def _print_bound(done: Row) -> None:
    asked = f"The owner of {done['session']} is asked in a direct message."
    say(f"{done['conversation']} is bound to {done['session']}." if done["bound"] else asked)


@sessions_command.command("bind")
@click.argument("name")
@click.argument("conversation")
@click.option("--for-everybody", "everybody", is_flag=True, help="What anybody says there goes to it, too.")
@shows(BindingOrder, _print_bound)
async def bind(here: Here, name: str, conversation: str, everybody: bool) -> BindingOrder:
    """Bind a thread of Slack to a session: what its owner says there goes to it in place of the soul.

    The owner is asked in a direct message and decides. A session without a person is bound at once; only with
    --for-everybody does anybody's word go to it. NAME is a session's name or id. CONVERSATION is an id,
    soul/workspace/channel/thread, or any part of it that is unique.
    """
    session = await _named(here, name)
    if not session.may_be_asked:
        raise StoreError(f"{session.name} is hidden, headless or gone", hint="see `soul sessions`")
    return await here.admin(BindingAdmin).bind(session, conversation, everybody=everybody)


@sessions_command.command("unbind")
@click.argument("name")
@shows(BindingOrder, "{conversation} is bound to no session any more.")
async def unbind(here: Here, name: str) -> BindingOrder:
    """End the binding of a session, by its name or id: the soul answers in that thread again, and says so."""
    return await here.admin(BindingAdmin).unbind(await _named(here, name))


@sessions_command.group("keys")
def keys_command() -> None:
    """Give out and revoke the keys of people's sessions of Claude Code."""


def _print_key(made: Row) -> None:
    say(made["key"])
    say(f"This is the one time that key {made['id']} is shown. docs/SESSIONS.md says where it goes.")


@keys_command.command("add")
@click.option("--person", metavar="U…", help="Whose sessions it is for, a Slack id; left out: your own.")
@click.option(
    "--visibility",
    type=click.Choice([one.value for one in Visibility]),
    default=Visibility.PROJECT.value,
    show_default=True,
    help="What others see of its sessions: nothing, project and branch, or their topic too.",
)
@click.option(
    "--remember/--no-remember",
    default=False,
    show_default=True,
    help="Whether prompts, answers and what its sessions ask the soul to keep are kept, for their owner.",
)
@click.option(
    "--direct/--no-direct",
    default=False,
    show_default=True,
    help="Whether its sessions know what was said in their owner's direct messages with the soul.",
)
@shows("key, id, person, visibility, remember, direct, created_ms", _print_key)
async def add(here: Here, person: str | None, visibility: str, remember: bool, direct: bool) -> Row:
    """Make a key; it is shown this once, and only its hash is kept.

    It ends when it is revoked, and while the gate does not let its person in. People get one without you, too: by the
    plugin's command `/soul:pair`.
    """
    if person == "":  # such as an unset variable of the shell: that does not ask for a key of the admin's
        raise StoreError("--person names nobody", hint="name them, as U012ABC, or leave --person out for your own")
    keys = here.admin(KeyAdmin)
    stored, text = await keys.add(person or "", Visibility(visibility), remember=remember, direct=direct)
    return {"key": text, **plain(stored)}


@keys_command.command("list")
@lists(
    *(StoredKey, "id", ("PERSON", lambda row: row["person"] or "the admin")),
    ("MACHINE", lambda row: row["machine"] or "-"),
    ("OTHERS SEE", "visibility"),
    ("REMEMBER", lambda row: "yes" if row["remember"] else "no"),
    ("DIRECT", lambda row: "yes" if row["direct"] else "no"),
    *(ago("created_ms"), ago("seen_ms", "SEEN")),
    over("revoked_ms", "revoked"),
)
async def list_(here: Here) -> Sequence[StoredKey]:
    """List all keys, newest first, revoked ones too.

    `left_out`: texts that were not kept on its newest day, which had its most.
    """
    return await here.admin(KeyAdmin).list()


@keys_command.command("revoke")
@click.argument("key_id", metavar="ID")
@shows(StoredKey, "Key {id} is revoked.")
async def revoke(here: Here, key_id: str) -> StoredKey:
    """End a key at once; what its sessions sent so far stays."""
    return await here.admin(KeyAdmin).revoke(key_id)


SCRIPT: Final = "session_event.py"
_LOOK_S: Final = 10.0


@sessions_command.command("hooks")
def hooks_command() -> None:
    """Show the commands that install the plugin of Claude Code, and whether its hooks on this machine have a key.

    Exit code 1 if the hooks send nothing.
    """
    marketplace = script_path().parents[1]
    here = (marketplace / ".claude-plugin" / "marketplace.json").is_file()
    say(f"claude plugin marketplace add {marketplace if here else 'ADDRESS-OF-THE-REPOSITORY'}")
    say("claude plugin install soul@soul")
    found = _asked_of_script()
    say(f"daemon: {found['url']}")
    say(f"key: {'there' if found['key'] else 'none'}")
    say(f"events that wait: {found['kept']}; given up because there were too many: {found['dropped']}")
    if found["fault"]:
        say(f"nothing is sent: {found['fault']}; see docs/SESSIONS.md")
        raise click.exceptions.Exit(1)


def script_path() -> Path:
    """Return the hook script of the checkout, or of the installed package. Raises ConfigError."""
    beside = Path(__file__).resolve().parents[2] / "hooks" / SCRIPT
    if beside.is_file():
        return beside
    try:
        files = metadata.files("soul-daemon") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == SCRIPT:
            return Path(str(file.locate())).resolve()
    raise ConfigError(f"{SCRIPT} is not installed", hint="install the package again")


def _asked_of_script() -> dict[str, object]:
    """Return the hook script's report on its settings and waiting events. Raises ConfigError."""
    try:
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", str(script_path()), "--status"],
            capture_output=True,
            check=False,
            timeout=_LOOK_S,
        )
        found: dict[str, object] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the hook script does not run: {error}", hint="install the package again") from error
    return found
