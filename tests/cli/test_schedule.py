"""`soul schedule` lists, adds and cancels events; each change is in the audit log."""

import json
from pathlib import Path

import pytest

from daemon.core.ports.services import SystemClock
from daemon.core.timetable import moment
from tests.cli.conftest import as_json, call, printed
from tests.cli.stocked import CONVERSATION, NOW, WORDS, change, one

pytestmark = pytest.mark.usefixtures("path")


def add(*arguments: str) -> dict[str, object]:
    made = json.loads(printed("schedule", "add", *arguments, "--json"))
    assert isinstance(made, dict)
    return made


def test_an_event_is_added_listed_and_cancelled_once(path: Path) -> None:
    before = SystemClock().now_ms()
    result = call("schedule", "add", "D1", WORDS, "--in", "2h30m", "--process", "ready", "--slot", "reminder")
    name, due = one(path, "SELECT id FROM intentions"), one(path, "SELECT due_ms FROM intentions")
    assert isinstance(due, int)
    assert before <= due - 9_000_000 <= SystemClock().now_ms()
    assert result.stdout == f"{name} is due at {moment(due)} UTC, in {CONVERSATION} for U1.\n"
    listed = call("schedule", "list").stdout
    assert all(word in listed for word in (str(name), moment(due), "reminder", "ready", "U1", CONVERSATION))
    assert "anybody" not in listed
    assert "please don't tell ␛]0;owned␇ anybody" in call("schedule", "list", "--words").stdout
    cancelled = call("schedule", "cancel", str(name))
    assert cancelled.stdout == f"{name} was due at {moment(due)} UTC and is cancelled.\n"
    assert len(call("schedule", "list").stdout.splitlines()) == 1
    assert str(name) in call("schedule", "list", "--state", "cancelled").stdout
    assert one(path, "SELECT group_concat(act, ' ') FROM audit") == "schedule.add schedule.cancel"
    name = str(add("D1", "look", "--in", "1h")["id"])
    call("schedule", "cancel", name)
    assert call("schedule", "cancel", name).stderr.splitlines() == [f"{name} is cancelled already", "nothing to do"]
    assert call("schedule", "cancel", "x").stderr.splitlines() == [
        "there is no intention x",
        "see `soul schedule list`",
    ]


def test_the_next_due_is_listed_first_with_the_documented_keys_and_words_only_when_asked() -> None:
    made = add("D1", "the build", "--at", "17:30", "--on-behalf", "U7")
    assert (made["content"], made["behalf"], made["place"], made["audience"]) == ("the build", "U7", "dm", "dm:D1")
    (listed,) = as_json("schedule", "list")
    assert listed == made | {"content": ""}
    assert as_json("schedule", "list", "--words") == [made]
    call("schedule", "cancel", str(made["id"]))
    for span in ("3h", "1h", "2h"):
        add("D1", span, "--in", span)
    listed = as_json("schedule", "list", "--words")
    assert [row["content"] for row in listed] == ["1h", "2h", "3h"]
    assert len(as_json("schedule", "list", "--limit", "2")) == 2


def test_a_repeated_event_begins_with_its_first_slot_and_shows_the_zone_and_why_it_is_paused(path: Path) -> None:
    made = add("D1", "standup", "--every", "0 9 * * 1-5")
    assert made["every"] == "0 9 * * 1-5"
    assert isinstance(made["due_ms"], int)
    assert moment(made["due_ms"]).endswith("09:00:00")
    result = call("schedule", "add", "D1", "again", "--every", "30 9 * * *", "--in", "3 days").stdout
    assert "and then at 30 9 * * *" in result
    change(path, "UPDATE intentions SET every = 'daily 09:00', zone = 'Asia/Tokyo', errand = 'digest'")
    change(path, "UPDATE intentions SET paused = 'archived'")
    listed = call("schedule", "list").stdout
    assert "daily 09:00 (Asia/Tokyo) paused: archived" in listed
    assert "digest" in listed


def test_an_event_belongs_to_the_last_user_whom_the_soul_answers_or_answered(path: Path) -> None:
    change(path, "UPDATE inbox SET author = 'U4', received_ms = ? WHERE state = 'ignored'", NOW + 102)
    change(path, "UPDATE inbox SET author = 'U5', received_ms = ? WHERE state = 'new'", NOW + 99)
    change(path, "UPDATE inbox SET author = 'U6', received_ms = ? WHERE state = 'withdrawn'", NOW + 100)
    change(path, "UPDATE inbox SET modality = 'time', received_ms = ? WHERE state = 'dead'", NOW + 101)
    assert add("D1", "look", "--in", "1h")["behalf"] == "U5"
    change(path, "UPDATE inbox SET state = 'answered' WHERE state IN ('new', 'claimed')")
    change(path, "UPDATE turns SET author = 'U7', speaker = 'person'")
    assert add("D1", "another", "--in", "1h")["behalf"] == "U7"


def test_a_wrong_event_is_a_usage_error_and_a_refused_one_two_lines(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: tuple[tuple[list[str], str], ...] = (
        (["--in", "soon"], "is not a time: write 20m"),
        (["--at", "2020-01-01T00:00Z"], "is not in the future"),
        (["--every", "* * * * *"], "less than 15 minutes apart"),
        ([], "give a time"),
        (["--in", "1h", "--at", "17:30"], "give a time"),
        (["--in", "1h", "--process", "dancing"], "there is no dancing; choose one of"),
        (["--in", "1h", "--slot", "idle"], "reserved for the soul"),
    )
    for arguments, message in wrong:
        result = call("schedule", "add", "D1", "look", *arguments)
        assert (result.exit_code, message in " ".join(result.stderr.split())) == (2, True), (arguments, result.stderr)
    result = call("schedule", "add", "D1", " ", "--in", "1h")
    assert (result.exit_code, "the event needs a text" in result.stderr) == (2, True)
    assert one(path, "SELECT count(*) FROM intentions") == 0
    monkeypatch.setenv("SOUL_SCHEDULE_MAX", "1")
    add("D1", "look", "--in", "1h")
    result = call("schedule", "add", "D1", "look", "--in", "1h", "--slot", "more")
    assert result.exit_code == 70
    assert result.stderr.splitlines() == [
        "more: 1 intentions are scheduled already, and no more than 1 may be",
        "see `soul schedule list`",
    ]
    assert call("schedule", "add", "D9", "look", "--in", "1h").stderr.startswith("there is no conversation D9")
    change(path, "DELETE FROM inbox")
    result = call("schedule", "add", "D1", "look", "--in", "1h")
    assert result.stderr.splitlines() == [
        f"no user ever wrote in {CONVERSATION}",
        "name the user with --on-behalf USER",
    ]
