"""`soul sessions keys` and `soul sessions`: keys are shown once, sessions with all that their owner may see."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from daemon.core.ports.services import SystemClock
from daemon.core.sessions import HookEvent, KeyOwner, Visibility
from daemon.memory.database import open_database
from daemon.memory.shared.sessions import SessionStore
from tests.cli.conftest import as_json, call
from tests.cli.stocked import one, stock

KEYS = {
    *("id", "name", "person", "project", "branch", "cwd", "host", "pid", "model", "source", "permission_mode"),
    *("attended", "state", "reach", "topic", "bound", "waiting", "started_ms", "seen_ms", "ended_ms", "reason"),
}


@pytest.fixture(autouse=True)
def stocked(home: Path) -> Path:
    path = stock(home / "memory.db")
    for number, hooks in enumerate((("SessionStart",), ("SessionStart", "SessionEnd"))):
        for hook in hooks:
            asyncio.run(_heard(path, f"s{number}", hook))
    return path


async def _heard(path: Path, session: str, hook: str) -> None:
    clock = SystemClock()
    now = clock.now_ms()
    place: dict[str, Any] = {"host": "far", "cwd": "/srv/a|pi", "root": "/srv/a|pi", "branch": "main\x1b[31m"}
    process = f"far/boot/1/{session[1]}1/7"
    event = HookEvent(f"{session}{hook}", session, hook, now, 0, now, process=process, **place)
    owner = KeyOwner("", "UADA", "Ada", False, Visibility.PROJECT)
    async with open_database(path, clock, create=False) as database:
        await SessionStore(database, "T1").take(event, owner, {})


def test_a_key_is_shown_once_and_ends_when_it_is_revoked_and_an_admins_has_no_person(stocked: Path) -> None:
    added = as_json("sessions", "keys", "add", "--person", "U012", "--visibility", "topic")
    assert added.keys() == {"id", "key", "person", "visibility", "remember", "direct", "created_ms"}
    assert added["remember"] is False
    assert added["key"].startswith(f"sk-soul-{added['id']}-")
    assert (added["person"], added["visibility"]) == ("U012", "topic")
    listed = call("sessions", "keys", "list", "--json")
    assert added["key"] not in listed.output
    (row,) = json.loads(listed.output)
    assert row.keys() == added.keys() - {"key"} | {"revoked_ms", "seen_ms", "machine", "left_out"}
    assert (row["machine"], row["left_out"]) == ("", 0)
    assert row["revoked_ms"] is None
    assert "revoked" in call("sessions", "keys", "revoke", added["id"]).output
    first = as_json("sessions", "keys", "revoke", added["id"])["revoked_ms"]
    assert first == as_json("sessions", "keys", "list")[0]["revoked_ms"]
    assert "revoked" in call("sessions", "keys", "list").output
    assert added["key"].encode() not in stocked.read_bytes()
    assert one(stocked, "SELECT count(*) FROM audit WHERE act IN ('add key', 'revoke key')") == 2
    said = call("sessions", "keys", "add", "--remember").output
    assert said.startswith("sk-soul-")
    assert "the admin" in call("sessions", "keys", "list").output
    assert as_json("sessions", "keys", "list")[0]["remember"] is True


def test_sessions_are_listed_living_ones_first_and_forgotten_by_name_and_what_is_not_there_is_said() -> None:
    (row,) = as_json("sessions")
    assert row.keys() == KEYS
    assert (row["id"], row["name"], row["person"], row["pid"], row["state"]) == ("s0", "ada-a-pi", "UADA", 1, "idle")
    rows = as_json("sessions", "--all")
    assert [(found["id"], found["state"], found["reason"]) for found in rows] == [
        ("s0", "idle", None),
        ("s1", "gone", "other"),
    ]
    assert "ada-a-pi" in call("sessions").output
    said = call("sessions", "--md").output
    lines = said.splitlines()
    assert lines[1].count("---") == lines[0].count("|") - 1 == 9
    assert "a\\|pi" in said
    assert "\x1b" not in said
    assert call("sessions", "forget", "ada-a-pi", "s1").exit_code == 0
    assert as_json("sessions", "--all") == []
    for arguments, said in (
        (("sessions", "keys", "add", "--person", "ada"), "no Slack id"),
        (("sessions", "keys", "add", "--person", ""), "names nobody"),
        (("sessions", "keys", "add", "--person", "U1; DROP TABLE keys"), "no Slack id"),
        (("sessions", "keys", "revoke", "nothing"), "there is no key"),
        (("sessions", "forget", "nothing"), "there is no session"),
    ):
        result = call(*arguments)
        assert (result.exit_code, said in result.output) == (70, True), (arguments, result.output)
        assert "Traceback" not in result.output
