"""A home of its own for every test, with nothing of the surrounding environment."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from daemon.cli.commands import soul
from tests.cli.stocked import stock

VARIABLES = ("SOUL_", "SLACK_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GROQ_", "ISM_", "SHARED_", "CREDENTIALS_")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which is also the data folder."""
    for name in os.environ:
        if name.startswith(VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SOUL_LOCAL_MODELS", "false")  # whatever runs on the machine of the tests
    monkeypatch.setenv("SOUL_EMBEDDER", "none")  # loading one takes most of the time of the doctor and of a search
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # and whichever service is installed there
    monkeypatch.setattr("daemon.cli.installing.SYSTEM_UNITS", (tmp_path / "etc/soul.service",))
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def path(home: Path) -> Path:
    """A memory.db with something in every state."""
    return stock(home / "memory.db")


def call(*arguments: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(soul, arguments, prog_name="soul")


def printed(*arguments: str) -> str:
    """What a command prints that works."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments: str) -> Any:  # noqa: ANN401  # a JSON document
    """What a command prints as JSON; each object has the keys that its help names, if it names them."""
    found = json.loads(printed(*arguments, "--json"))
    if named := keys_in_help(arguments):
        for one in found if isinstance(found, list) else [found]:
            assert set(one) == named, arguments
    return found


def keys_in_help(arguments: Sequence[str]) -> set[str]:
    """The keys that the help of a command names in its line of them, without what is inside of brackets."""
    command: click.Command = soul
    for name in arguments:
        inner = command.get_command(click.Context(command), name) if isinstance(command, click.Group) else None
        command = inner or command
    line = (command.help or "").partition("JSON keys: ")[2].removesuffix(".").replace("\n", " ")
    while "{" in line or "[" in line:
        line = re.sub(r"[{\[][^{}\[\]]*[}\]]", "", line)
    return {name.strip() for name in line.split(",") if name.strip()}
