"""`soul hooks`: what it puts into Claude Code's settings it takes out again, with every other byte as it was."""

import json
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def placed(home: Path, text: str) -> Path:
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


def test_the_file_is_byte_for_byte_what_it_was(home: Path) -> None:
    for text in (
        "{}",
        "{ }\n",
        '{"model": "opus", "big": 1e3, "text": "\\u00e9 é \\/"}',
        '{\n  "env": {"A": "1"},\r\n  "hooks": {}\n}\n',
        '{"hooks": {"Stop": []}, "z": [1,2 ]}',
        '{"hooks":{"Stop":[' + THEIRS + ']},"permissions":{"allow":["Bash(ls:*)"]}}',
        LONG,
        '{"hooks": {"SessionStart": [' + THEIRS + '], "Stop": [ ], "SessionEnd" : [' + THEIRS + "]}}",
    ):
        path = placed(home, text)
        path.chmod(0o640)
        before = json.loads(text)
        for _ in range(2):  # the second time changes nothing
            assert call("hooks", "install", "--settings", str(path)).exit_code == 0, text
            assert ours(path) == dict.fromkeys(EVENTS, 1), text
        kept = json.loads(path.read_text())
        for event, groups in before.get("hooks", {}).items():
            assert kept["hooks"][event][: len(groups)] == groups, text
        assert kept | {"hooks": 0} == before | {"hooks": 0}
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


def test_hooks_of_another_place_are_replaced_and_what_came_later_stays(home: Path) -> None:
    path = placed(home, "{}")
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
    path = placed(home, "{}")
    link = home / "link.json"
    link.symlink_to(path)
    call("hooks", "install", "--settings", str(link))
    assert link.is_symlink()
    assert ours(path) == dict.fromkeys(EVENTS, 1)


def test_what_is_no_json_is_left_alone(home: Path) -> None:
    for text in (
        "",
        "{",
        "[]",
        "// a comment\n{}",
        '\ufeff{"a": 1}',
        "[" * 10_000,
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {}, "hooks": {}}',
    ):
        path = placed(home, text)
        for act in ("install", "uninstall", "status"):
            result = call("hooks", act, "--settings", str(path))
            assert result.exit_code == 78, (text, result.output)
            assert path.read_bytes() == text.encode()
            assert "Traceback" not in result.output


_NAMES = st.sampled_from([*EVENTS, "PreToolUse", "hooks", "model", "", "é", "\\u0000"]) | st.text(max_size=5)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(_NAMES, one, max_size=3),
    max_leaves=8,
)
_GROUPS = st.lists(st.just(json.loads(THEIRS)) | _VALUES, max_size=3)
_SETTINGS = st.dictionaries(_NAMES, _VALUES, max_size=3) | st.fixed_dictionaries(
    {"hooks": st.dictionaries(st.sampled_from(EVENTS) | _NAMES, _GROUPS, max_size=4)}, optional={"model": _VALUES}
)


@given(_SETTINGS, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.sampled_from(["", "\n", " \r\n", "// x", ","]))
def test_what_stands_in_the_file_is_there_byte_for_byte_in_the_end(
    settings: object, indent: int | str | None, ascii_: bool, end: str
) -> None:
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_) + end
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_bytes(text.encode("utf-8", "replace"))
        before = path.read_bytes()
        for act in ("install", "uninstall"):
            result = call("hooks", act, "--settings", str(path))
            assert result.exit_code in {0, 78}, result.output
            if act == "install" and result.exit_code == 0:
                assert ours(path) == dict.fromkeys(EVENTS, 1)
            if result.exit_code:
                assert path.read_bytes() == before
        assert path.read_bytes() == before


def test_the_status_says_what_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    path = placed(home, "{}")
    result = call("hooks", "status", "--settings", str(path))
    assert result.exit_code == 1
    assert "there is no key" in result.output
    monkeypatch.setenv("SOUL_KEY", "sk-soul-secret")
    call("hooks", "install", "--settings", str(path))
    result = call("hooks", "status", "--settings", str(path))
    assert (result.exit_code, "8 of 8" in result.output) == (0, True), result.output
    assert "sk-soul-secret" not in result.output
