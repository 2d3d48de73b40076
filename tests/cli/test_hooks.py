"""`soul hooks`: what it puts into Claude Code's settings it takes out again, with every other byte as it was."""

import json
import stat
from pathlib import Path

import pytest

from daemon.cli.hooks import EVENTS, script_path
from tests.cli.conftest import call

THEIRS = '{"hooks": [{"type": "command", "command": "mine"}]}'

LONG = "\n".join(
    (
        "{",
        '\t"hooks": {',
        '\t\t"SessionStart": [',
        f"\t\t\t{THEIRS},",
        THEIRS,
        "\t\t],",
        '\t\t"PreToolUse": [ ]',
        "\t}",
        "}",
    )
)


def given(home: Path, text: str) -> Path:
    path = home / "settings.json"
    path.write_bytes(text.encode())
    return path


def ours(path: Path) -> dict[str, int]:
    """How many groups of ours stand under each event."""
    hooks = json.loads(path.read_text())["hooks"]
    return {
        event: sum("session_event.py" in json.dumps(group) for group in groups)
        for event, groups in hooks.items()
        if "session_event.py" in json.dumps(groups)
    }


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{ }\n",
        '{"model": "opus", "big": 1e3, "text": "\\u00e9 é \\/"}',
        '{\n  "env": {"A": "1"},\r\n  "hooks": {}\n}\n',
        '{"hooks": {"Stop": []}, "z": [1,2 ]}',
        '{"hooks":{"Stop":[' + THEIRS + ']},"permissions":{"allow":["Bash(ls:*)"]}}',
        LONG,
        '{"hooks": {"SessionStart": [' + THEIRS + '], "Stop": [ ], "SessionEnd" : [' + THEIRS + "]}}",
    ],
)
def test_the_file_is_byte_for_byte_what_it_was(home: Path, text: str) -> None:
    path = given(home, text)
    path.chmod(0o640)
    before = json.loads(text)
    for _ in range(2):  # the second time changes nothing
        assert call("hooks", "install", "--settings", str(path)).exit_code == 0
        assert ours(path) == dict.fromkeys(EVENTS, 1)
    kept = json.loads(path.read_text())
    for event, groups in before.get("hooks", {}).items():
        assert kept["hooks"][event][: len(groups)] == groups
    assert {name: value for name, value in kept.items() if name != "hooks"} == {
        name: value for name, value in before.items() if name != "hooks"
    }
    assert call("hooks", "uninstall", "--settings", str(path)).exit_code == 0
    assert path.read_bytes() == text.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert "no hooks" in call("hooks", "uninstall", "--settings", str(path)).output


def test_a_file_that_was_not_there_goes_again(home: Path) -> None:
    path = home / "deep" / "settings.json"
    assert call("hooks", "install", "--settings", str(path)).exit_code == 0
    (group,) = json.loads(path.read_text())["hooks"]["SessionEnd"]
    (entry,) = group["hooks"]
    assert entry.keys() == {"type", "command", "args", "timeout"}
    assert entry["args"] == ["-I", "-S", str(script_path())]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert call("hooks", "uninstall", "--settings", str(path)).exit_code == 0
    assert not path.exists()


def test_what_was_put_in_from_another_place_is_replaced_and_what_came_later_stays(home: Path) -> None:
    path = given(home, "{}")
    call("hooks", "install", "--settings", str(path))
    path.write_text(path.read_text().replace(str(script_path().parent), "/gone/hooks"))
    call("hooks", "install", "--settings", str(path))
    assert "/gone/hooks" not in path.read_text()
    assert ours(path) == dict.fromkeys(EVENTS, 1)
    later = json.loads(path.read_text())
    later["hooks"]["Stop"].append(json.loads(THEIRS))
    later["mine"] = True
    path.write_text(json.dumps(later, indent=4))
    call("hooks", "uninstall", "--settings", str(path))
    left = json.loads(path.read_text())
    assert left["mine"] is True
    assert left["hooks"]["Stop"] == [json.loads(THEIRS)]
    assert "session_event.py" not in path.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "// a comment\n{}",
        '\ufeff{"a": 1}',
        "[" * 10_000,
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {}, "hooks": {}}',
    ],
)
@pytest.mark.parametrize("act", ["install", "uninstall", "status"])
def test_what_is_no_json_is_left_alone(home: Path, text: str, act: str) -> None:
    path = given(home, text)
    result = call("hooks", act, "--settings", str(path))
    assert result.exit_code == 78, result.output
    assert path.read_bytes() == text.encode()
    assert "Traceback" not in result.output


def test_a_link_is_followed_and_stays_a_link(home: Path) -> None:
    path = given(home, "{}")
    link = home / "link.json"
    link.symlink_to(path)
    call("hooks", "install", "--settings", str(link))
    assert link.is_symlink()
    assert ours(path) == dict.fromkeys(EVENTS, 1)


def test_the_status_says_what_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    path = given(home, "{}")
    result = call("hooks", "status", "--settings", str(path))
    assert result.exit_code == 1
    assert "there is no key" in result.output
    monkeypatch.setenv("SOUL_KEY", "sk-soul-secret")
    call("hooks", "install", "--settings", str(path))
    result = call("hooks", "status", "--settings", str(path))
    assert (result.exit_code, "8 of 8" in result.output) == (0, True), result.output
    assert "sk-soul-secret" not in result.output
