"""Hostile words after the commands of what is shared: a sentence, what to do, and nothing that steers the terminal."""

import pytest

from tests.cli.conftest import call

HOSTILE = (
    *("", " ", "..", "../../etc/passwd", "a\x00b", "\udcff", "\ud800", "имя", "名前", "x" * 100_000, "%", "*"),
    *("'; DROP TABLE keys;--", "\x1b[31mred", "\n", "-1", "\u202e", "[" * 10_000, "NaN"),
)
COMMANDS = (
    *(("context", command, "--", "TEXT") for command in ("get", "history", "presence", "watch")),
    *(("sessions", command, "--", "TEXT") for command in ("forget", "unbind")),
    *(("queue", "notes", "show", "--", "TEXT"), ("sessions", "keys", "revoke", "--", "TEXT")),
    ("context", "set", "--", "TEXT", "{}"),
    ("context", "patch", "--", "TEXT", "{}"),
    ("queue", "notes", "send", "--", "TEXT", "hello"),
    ("handoff", "--", "TEXT", "rolf"),
    ("sessions", "bind", "--", "TEXT", "x"),
    ("sessions", "keys", "add", "--person=TEXT"),
    ("context", "define", "--audience=TEXT", "launch"),
    ("queue", "notes", "send", "--audience=TEXT", "minoan", "hello"),
    ("handoff", "--", "minoan", "TEXT"),
)


pytestmark = pytest.mark.usefixtures("path")


def refused(*arguments: str) -> None:
    """A command says in lines what is wrong, and sends nothing to the terminal that would steer it."""
    result = call(*arguments)
    assert result.exit_code not in {0, 1}, arguments[:2]
    lines = result.output.splitlines()
    assert len(lines) >= 2, result.output[:300]
    assert len(result.output) < 1_000
    assert "unexpected error" not in result.output
    assert "\x1b" not in result.output


def test_what_can_be_no_name_no_person_and_no_audience_is_refused() -> None:
    for row, command in enumerate(COMMANDS):
        for column, text in enumerate(HOSTILE):
            if (row + column) % 8 == 0:  # each command with some, each text with some
                refused(*(part.replace("TEXT", text) for part in command))
