"""`soul sessions keys`: the keys with which people's sessions of Claude Code report to the daemon."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TypeVar

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.options import json_option
from daemon.cli.output import age, say, say_json, show_rows
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import StoreError
from daemon.core.sessions import Visibility
from daemon.memory.shared.keys import KeyAdmin, StoredKey

T = TypeVar("T")
_AT_FIRST = ("id", "person", "visibility", "remember", "direct", "created_ms")


@click.group("keys")
def command() -> None:
    """Give out and revoke the keys of people's sessions of Claude Code."""


@command.command("add")
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
@json_option
def add(person: str | None, visibility: str, remember: bool, direct: bool, as_json: bool) -> None:
    """Make a key; it is shown this once, and only its hash is kept.

    It ends when it is revoked, and while the gate does not let its person in. People get one without you, too: by the
    plugin's command `/soul:pair`.

    JSON keys: id, key, person, visibility, remember, direct, created_ms.
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


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all keys, newest first, revoked ones too.

    JSON keys: id, person, visibility, remember, direct, created_ms, revoked_ms, seen_ms, machine,
    left_out: texts that were not kept on its newest day, which had its most.
    """

    def cells(one: StoredKey, now: int) -> tuple[object, ...]:
        state = "in force" if one.revoked_ms is None else f"revoked {age(now, one.revoked_ms)} ago"
        seen = "-" if one.seen_ms is None else age(now, one.seen_ms)
        return (
            one.id,
            one.person or "the admin",
            one.machine or "-",
            one.visibility,
            "yes" if one.remember else "no",
            "yes" if one.direct else "no",
            age(now, one.created_ms),
            seen,
            state,
        )

    found = _with_keys(lambda admin: admin.list())
    show_rows(
        found,
        ("id", "person", "machine", "others see", "remember", "direct", "age", "seen", "state"),
        cells,
        as_json=as_json,
    )


@command.command("revoke")
@click.argument("key_id", metavar="ID")
@json_option
def revoke(key_id: str, as_json: bool) -> None:
    """End a key at once; what its sessions sent so far stays.

    JSON keys: id, person, visibility, remember, direct, created_ms, revoked_ms, seen_ms, machine,
    left_out: texts that were not kept on its newest day, which had its most.
    """
    found = _with_keys(lambda admin: admin.revoke(key_id))
    if as_json:
        say_json(found)
    else:
        say(f"Key {found.id} is revoked.")


def _with_keys(work: Callable[[KeyAdmin], Awaitable[T]]) -> T:
    return with_database(load_settings(), lambda database: work(KeyAdmin(database, SystemClock(), os_user())))
