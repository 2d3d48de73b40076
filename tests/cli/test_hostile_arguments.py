"""Hostile words after the commands of what is shared: a sentence, what to do, and nothing that steers the terminal."""

from pathlib import Path

import pytest

from tests.cli.conftest import call
from tests.cli.stocked import stock

HOSTILE = (
    "",
    " ",
    "..",
    "../../etc/passwd",
    "a\x00b",
    "\udcff",
    "\ud800",
    "имя",
    "名前",
    "x" * 100_000,
    "%",
    "*",
    "'; DROP TABLE keys;--",
    "\x1b[31mred",
    "\n",
    "-1",
    "\u202e",
    "[" * 10_000,
    "NaN",
)
COMMANDS = (
    ("context", "get"),
    ("context", "history"),
    ("context", "presence"),
    ("context", "watch"),
    ("notes", "show"),
    ("sessions", "forget"),
    ("sessions", "unbind"),
    ("keys", "revoke"),
)
TWO = (
    (("context", "set"), "{}"),
    (("context", "patch"), "{}"),
    (("notes", "send"), "hello"),
    (("handoff",), "rolf"),
    (("sessions", "bind"), "x"),
)


@pytest.fixture(autouse=True)
def stocked(home: Path) -> Path:
    return stock(home / "memory.db")


def refused(*arguments: str) -> None:
    """A command says in lines what is wrong, and sends nothing to the terminal that would steer it."""
    result = call(*arguments)
    assert result.exit_code not in {0, 1}, arguments[:2]
    lines = result.output.splitlines()
    assert len(lines) >= 2, result.output[:300]
    assert len(result.output) < 1_000
    assert "unexpected error" not in result.output
    assert "\x1b" not in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_can_be_none_is_refused(command: tuple[str, ...]) -> None:
    for text in HOSTILE:
        refused(*command, "--", text)


@pytest.mark.parametrize(("command", "second"), TWO)
def test_a_first_argument_that_can_be_none_is_refused(command: tuple[str, ...], second: str) -> None:
    for text in HOSTILE:
        refused(*command, "--", text, second)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_person_an_audience_and_a_soul_that_can_be_none_are_refused(text: str) -> None:
    refused("keys", "add", f"--person={text}")
    refused("context", "define", f"--audience={text}", "launch")
    refused("notes", "send", f"--audience={text}", "minoan", "hello")
    refused("handoff", "--", "minoan", text)
