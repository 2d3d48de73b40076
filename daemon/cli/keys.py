"""`soul sessions keys`: the keys with which people's sessions of Claude Code report to the daemon."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Final, TypeVar

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.listing import RowListing, ago, json_of
from daemon.cli.output import age, say, say_json
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
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
    if person == "":  # as of a variable of the shell that is not set: that is no wish for a key of the admin's
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
