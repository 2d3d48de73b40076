"""A home of its own for every test, with nothing of the surrounding environment."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from daemon.cli.commands import soul

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
    monkeypatch.setattr("daemon.cli.installed.unit.SYSTEM_UNITS", (tmp_path / "etc/soul.service",))
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.chdir(folder)
    return folder


def call(*arguments: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(soul, arguments, prog_name="soul")
