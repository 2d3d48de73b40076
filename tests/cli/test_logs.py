"""`soul logs`: the journal of the installed service, filtered, with journalctl as a program that tests stand in for."""

import json
from pathlib import Path

import pytest

from daemon.cli.installing import ServiceUnit, fields_in
from tests.cli.conftest import call
from tests.cli.services import install
from tests.cli.stocked import CONVERSATION, NOW, change, insert, stock
from tests.systemd.conftest import REPOSITORY

KEY = "xoxb-1234567890-canary"
LINES = (
    "Started soul.service - Soul Daemon.",
    f'event=cycle.failed conversation={CONVERSATION} trace=0123456789ab error="ModelRefused: \\"no\\" = no"',
    f"event=llm.called conversation=minoan/T1/C9/ trace=ffffffffffff note={KEY}",
    "event=access.refused author=U1 reason=guest",
    "event=daemon.ready",
    "\u001b]0;owned\u0007 torn",
)


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServiceUnit:
    """An installed service with a stocked memory.db, and a journalctl that says what it was asked."""
    found = install(tmp_path / "config/systemd/user/soul.service", tmp_path / "data", tmp_path / "credentials")
    (found.data / "memory.db").unlink()
    change(stock(found.data / "memory.db"), "UPDATE inbox SET received_ms = 9000000000000")
    programs = tmp_path / "bin"
    programs.mkdir()
    entries: list[dict[str, object]] = [
        {"MESSAGE": line, "PRIORITY": "4", "__REALTIME_TIMESTAMP": f"{NOW}000"} for line in LINES
    ]
    entries += [{"MESSAGE": list(b"\xff bytes"), "__REALTIME_TIMESTAMP": f"{NOW}000"}, {"MESSAGE": None}]
    (tmp_path / "journal").write_text("\n".join(map(json.dumps, entries)) + "\nnot json\n")
    (programs / "journalctl").write_text(
        f'#!/bin/sh\necho "$@" >{tmp_path}/asked\ncat {tmp_path}/journal\n[ ! -e {tmp_path}/deaf ] ||'
        " { echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1; }\n"
    )
    (programs / "journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return found


def test_all_lines_come_as_in_a_terminal_without_keys_and_may_be_followed(unit: ServiceUnit, tmp_path: Path) -> None:
    done = call("logs", "--since", "6h")
    lines = done.stdout.splitlines()
    assert done.exit_code == 0, done.stderr
    assert lines[0] == "2025-06-15T15:06:40.000Z warning Started soul.service - Soul Daemon."
    assert len(lines) == len(LINES) + 1
    assert (KEY in done.stdout, "\x1b" in done.stdout) == (False, False)
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("--user --unit soul.service --output=json --no-pager --since=@")
    assert "--follow" not in asked
    assert len(call("logs", "-f", "--limit", "1").stdout.splitlines()) == len(LINES) + 1
    assert "--follow --no-tail" in (tmp_path / "asked").read_text()


@pytest.mark.usefixtures("unit")
def test_lines_are_those_of_one_reply_or_of_one_person(unit: ServiceUnit) -> None:
    every = (*LINES, "bytes")
    for arguments, numbers in (
        ("--trace 012345", [1]),
        ("--trace ffffffffffff", [2]),
        ("--trace nothing", []),
        ("--person U1", [1, 3]),
        ("--person u1 --trace 012345", [1]),
        ("--limit 1", [6]),
    ):
        done = call("logs", *arguments.split())
        assert done.exit_code == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == len(numbers), arguments
        wanted = [every[number].replace(KEY, "[redacted]") for number in numbers]
        assert all(line.endswith(end) for line, end in zip(lines, wanted, strict=True)), arguments
    for wrong in ("--since yesterday", "--trace ab", "--limit 0"):
        assert call("logs", *wrong.split()).exit_code == 2, wrong
    row = {"soul": "minoan", "workspace": "T1", "audience": "dm:D7", "version": 1, "name": "Ada", "updated_ms": 0}
    for person in ("U7", "U8"):
        insert(unit.data / "memory.db", "user_models", person=person, **row)
    done = call("logs", "--person", "ada")
    assert (done.exit_code, "U7, U8 are called ada" in done.stderr) == (70, True)
    assert "no message came from anyone called Bob" in call("logs", "--person", "Bob").stderr


def test_a_journal_that_can_not_be_read_says_what_to_do(
    home: Path, unit: ServiceUnit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaf").touch()
    done = call("logs")
    assert (done.exit_code, "insufficient permissions" in done.stderr) == (78, True)
    assert f"sudo {REPOSITORY}/.venv/bin/soul logs" in done.stderr
    monkeypatch.setenv("PATH", str(home))
    assert "there is no journalctl" in call("logs").stderr
    unit.path.unlink()
    done = call("logs")
    assert (done.exit_code, "to the standard error of what started it" in done.stderr) == (78, True)


def test_fields_of_a_line_are_read_as_they_were_written() -> None:
    assert fields_in('event=a said="x \\"y\\" \\\\ =z" n=1') == {"event": "a", "said": 'x "y" \\ =z', "n": "1"}
    assert fields_in("Started x=y") == {}
    assert fields_in('event=a open="never closed') == {"event": "a", "open": "never closed"}
