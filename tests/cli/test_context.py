"""`soul context`: what is shared, shown and changed by the admin; a wrong value changes nothing and says why."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import as_json, call, printed

KEYS = {"key", "version", "data", "audience", "writers", "author", "updated_ms"}


pytestmark = pytest.mark.usefixtures("path")


def found(*arguments: str) -> dict[str, object]:
    row: dict[str, object] = json.loads(printed("context", *arguments, "--json"))
    return row


def test_it_is_set_patched_edited_and_listed_and_its_history_is_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    row = found("get", "launch")  # which nobody wrote
    assert row.keys() == KEYS
    assert (row["version"], row["data"], row["audience"], row["author"]) == (0, {}, "workspace:T1", "")
    assert found("set", "launch", '{"phase": "testing", "left": {"a": 1, "b": 2}}')["version"] == 1
    assert found("patch", "launch", '{"left": {"a": null}, "who": ["Ada"]}')["data"] == {
        "left": {"b": 2},
        "phase": "testing",
        "who": ["Ada"],
    }
    listed = as_json("context", "list")
    assert [(one["key"], one["version"], one["author"]) for one in listed] == [("launch", 2, "operator")]
    versions = as_json("context", "history", "launch")
    assert [one["version"] for one in versions] == [2, 1]
    assert versions[0].keys() == {"version", "data", "author", "at_ms", "redacted"}
    assert "testing" in call("context", "get", "launch").output
    assert "launch" in call("context", "list").output
    result = call("context", "set", "launch", '{"phase": "done"}', "--if-version", "0")
    assert result.exit_code == 1
    assert "was changed meanwhile; its version is 2" in result.output
    assert found("get", "launch")["version"] == 2
    monkeypatch.setattr("click.edit", lambda _text, **_how: '{"phase": "done"}')
    assert "version 3 by operator" in call("context", "edit", "launch").output
    monkeypatch.setattr("click.edit", lambda _text, **_how: None)
    assert "Nothing was changed" in call("context", "edit", "launch").output


def test_what_may_not_be_written_is_refused_with_the_reason_and_changes_nothing(home: Path) -> None:
    for arguments, said in (
        (("set", "launch", "{"), "no JSON"),
        (("set", "launch", '{"a": NaN}'), "no JSON"),
        (("set", "launch", "[1]"), "has to be a JSON object"),
        (("set", "launch", '{"a": ' * 10_000), "no JSON"),
        (("set", "../etc/passwd", "{}"), "no key"),
        (("get", "Launch"), "no key"),
        (("set", "launch", json.dumps({"a": "x" * 20_000})), "16384 are the most"),
        (("define", "launch", "--audience", "everybody"), "is no audience"),
    ):
        result = call("context", *arguments)
        assert (result.exit_code != 0, said in result.output) == (True, True), (said, result.output[:300])
        assert "Traceback" not in result.output
    assert as_json("context", "list") == []


def test_writers_are_defined_and_shown(home: Path) -> None:
    found("set", "game", '{"phase": "lobby"}')
    found("define", "game", "--writers", "ada, ben")
    assert found("get", "game")["writers"] == ["ada", "ben"]
