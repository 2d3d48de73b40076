"""`soul sessions keys` and `hooks`: the keys with which users' Claude Code sessions report to the daemon."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Final, TypeVar

import click

from daemon.cli.listing import RowListing, age, ago, json_of, os_user, say, say_json, with_database
from daemon.core.config import load_settings
from daemon.core.errors import ConfigError, StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.sessions import Visibility
from daemon.memory.shared.keys import KeyAdmin, StoredKey

T = TypeVar("T")
_AT_FIRST: Final = ("id", "person", "visibility", "remember", "direct", "created_ms")
_KEYS: Final = RowListing[StoredKey](
    StoredKey,
    "id",
    ("PERSON", lambda one, _: one.person or "the admin"),
    ("MACHINE", lambda one, _: one.machine or "-"),
    ("OTHERS SEE", "visibility"),
    ("REMEMBER", lambda one, _: "yes" if one.remember else "no"),
    ("DIRECT", lambda one, _: "yes" if one.direct else "no"),
    ago("created_ms"),
    ago("seen_ms", "SEEN"),
    ("STATE", lambda one, now: f"revoked {age(now, one.revoked_ms)} ago" if one.revoked_ms is not None else "in force"),
)


@click.group("keys")
def keys_command() -> None:
    """Give out and revoke the keys of people's sessions of Claude Code."""


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
@json_of(("key", *_AT_FIRST))
def add(person: str | None, visibility: str, remember: bool, direct: bool, as_json: bool) -> None:
    """Make a key; it is shown this once, and only its hash is kept.

    It ends when it is revoked, and while the gate does not let its person in. People get one without you, too: by the
    plugin's command `/soul:pair`.
    """
    if person == "":  # such as an unset variable of the shell: that does not ask for a key of the admin's
        raise StoreError("--person names nobody", hint="name them, as U012ABC, or leave --person out for your own")
    stored, text = _with_keys(
        lambda admin: admin.add(person or "", Visibility(visibility), remember=remember, direct=direct)
    )
    if as_json:
        plain = {name: value for name, value in asdict(stored).items() if name in _AT_FIRST}
        say_json({"key": text, **plain})
        return
    say(text)
    say(f"This is the one time that key {stored.id} is shown. docs/SESSIONS.md says where it goes.")


@keys_command.command("list")
@_KEYS.option
def list_(as_json: bool) -> None:
    """List all keys, newest first, revoked ones too.

    `left_out`: texts that were not kept on its newest day, which had its most.
    """
    _KEYS.show(_with_keys(lambda admin: admin.list()), as_json=as_json)


@keys_command.command("revoke")
@click.argument("key_id", metavar="ID")
@json_of(StoredKey)
def revoke(key_id: str, as_json: bool) -> None:
    """End a key at once; what its sessions sent so far stays."""
    found = _with_keys(lambda admin: admin.revoke(key_id))
    if as_json:
        say_json(found)
    else:
        say(f"Key {found.id} is revoked.")


def _with_keys(work: Callable[[KeyAdmin], Awaitable[T]]) -> T:
    return with_database(load_settings(), lambda database: work(KeyAdmin(database, SystemClock(), os_user())))


SCRIPT: Final = "session_event.py"
_LOOK_S: Final = 10.0


@click.command("hooks")
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
