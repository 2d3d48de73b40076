"""`soul sessions hooks`: the commands that install the plugin, and whether its hooks have a key."""

from pathlib import Path

import pytest

from tests.cli.conftest import call

ROOT = Path(__file__).parents[2]


def test_the_plugin_is_installed_by_claude_and_a_missing_key_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    result = call("sessions", "hooks")
    assert f"claude plugin marketplace add {ROOT}\nclaude plugin install soul@soul\n" in result.output
    assert (result.exit_code, "there is no key" in result.output) == (1, True)
    monkeypatch.setenv("SOUL_KEY", "sk-soul-secret")
    result = call("sessions", "hooks")
    assert (result.exit_code, "key: there" in result.output) == (0, True), result.output
    assert "sk-soul-secret" not in result.output
