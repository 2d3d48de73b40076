"""`soul queue notes`: the notes between souls as the admin sees them; their words only where they are asked for."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import as_json, call, printed
from tests.cli.stocked import NOW, host, insert, one, stock

KEYS = {
    *("id", "kind", "sender", "addressee", "conversation", "state", "reason", "how"),
    *("created_ms", "delivered_ms", "answered_ms"),
}


@pytest.fixture(autouse=True)
def memory(home: Path) -> Path:
    """A living daemon, this process, hosts Ben, who was sent a note of each audience."""
    path = stock(home / "memory.db")
    host(path, "ben")
    note: dict[str, object] = {"kind": "note", "sender": "ada", "addressee": "ben", "workspace": "T1", "hops": 1}
    note |= {"conversation": "c", "heard_in": "", "inbox": "", "behalf": "U1", "state": "delivered"}
    note["words"] = "the words"
    for number, audience in enumerate(("workspace:T1", "dm:D1")):
        insert(path, "shared_messages", id=f"NT_{number}", audience=audience, created_ms=NOW - number, **note)
    return path


def shown(*arguments: str) -> dict[str, object]:
    row: dict[str, object] = json.loads(printed("queue", "notes", "show", *arguments, "--json"))
    return row


def test_they_are_listed_newest_first_and_words_shown_by_the_rule_of_memory_and_that_is_recorded(memory: Path) -> None:
    listed = as_json("queue", "notes", "list")
    assert [(one["id"], set(one)) for one in listed] == [("NT_0", KEYS), ("NT_1", KEYS)]
    assert len(as_json("queue", "notes", "list", "--limit", "1")) == 1
    table = call("queue", "notes", "list").output
    assert "delivered" in table
    assert "the words" not in table
    assert shown("NT_0")["words"] == ""
    assert one(memory, "SELECT count(*) FROM audit") == 0
    assert shown("NT_0", "--words")["words"] == "the words"
    assert one(memory, "SELECT object FROM audit") == "U1"
    assert one(memory, "SELECT soul FROM word_readings") == "ada", "who has to say so to the person"
    assert shown("NT_1", "--words")["words"] == ""
    assert shown("NT_1", "--words", "--private")["words"] == "the words"
    assert "1 text is not shown: add --words" in call("queue", "notes", "show", "NT_0").output
    assert "the words" in call("queue", "notes", "show", "NT_0", "--words").output


def test_one_that_is_sent_waits_and_one_that_can_not_be_is_not(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, said in (
        (("show", "NT_9"), "there is no note NT_9"),
        (("show", "../x"), "there is no note ../x"),
        (("send", "cleo", "hello"), "hosted now: ben"),
        (("send", "ben", " "), "the note is empty"),
        (("send", "ben", "hello", "--audience", "everybody"), "is no audience"),
        (("send", "ben", "hello", "--audience", "dm:a/b"), "is no audience"),
    ):
        result = call("queue", "notes", *arguments)
        assert (result.exit_code != 0, said in result.output) == (True, True), (arguments, result.output)
    assert one(memory, "SELECT count(*) FROM shared_messages") == 2
    monkeypatch.setenv("SOUL_PAIR_HOURLY", "0")
    result = call("queue", "notes", "send", "ben", "hello")
    assert result.exit_code != 0
    assert "0 notes an hour are the most between operator and ben" in result.output
    assert one(memory, "SELECT words FROM shared_messages WHERE state = 'refused'") == "hello"
    monkeypatch.delenv("SOUL_PAIR_HOURLY")
    sent = as_json("queue", "notes", "send", "ben", "hello")
    assert sent.keys() == KEYS
    assert (sent["sender"], sent["state"], sent["conversation"]) == ("operator", "waiting", "")
    assert one(memory, "SELECT conversation FROM inbox WHERE modality = 'note'") == "ben/T1/soul/operator"
    assert "is on its way to ben" in call("queue", "notes", "send", "ben", "hello", "--audience", "dm:D1").output
    assert one(memory, "SELECT count(*) FROM conversations WHERE id = 'ben/T1/soul/operator:dm:D1'") == 1
