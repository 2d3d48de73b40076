"""Each command prints what it did, or in two lines what went wrong and what to do."""

import json
from pathlib import Path

import click
import pytest

from daemon.cli.commands import every_command, soul
from daemon.cli.listing import age
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.queue_admin import INBOX_STATES, OUTBOX_STATES
from daemon.memory.database.schema import SCHEMA
from tests.cli.conftest import as_json, call, printed
from tests.cli.stocked import NOW, THOUGHT, add_daemon, change, dead_identity, insert, message_in, one, opened, post_in


def test_every_command_has_help_and_is_listed_and_reports_every_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [path for path, _ in every_command(soul, click.Context(soul, info_name="soul"))]
    listed = printed("help", "--all")
    for path in paths:
        result = call(*path.split()[1:], "--help")
        assert (result.exit_code, f"Usage: {path} " in result.output) == (0, True), path
        assert f"{path} " in listed
        assert "--json" not in result.output or "JSON keys: " in result.output or "JSON: " in result.output, path
    assert len([path for path in paths if path.count(" ") == 1]) == len(soul.list_commands(click.Context(soul))) == 24
    assert printed("help", "queue", "inbox") == printed("queue", "inbox", "--help")
    assert "no command `soul queue dance`" in call("help", "queue", "dance").stderr
    result = call("dance")
    assert (result.exit_code, "No such command 'dance'" in result.output) == (2, True)
    monkeypatch.setenv("SOUL_MAX_CYCLES", "many")
    monkeypatch.setenv("SOUL_LEASE", "-1")
    for arguments in (*READERS, ["chat"], ["run"], ["manifest"], ["settings"]):
        result = call(*arguments)
        assert (result.exit_code, len(result.stderr.splitlines())) == (78, 2), arguments
        assert "SOUL_MAX_CYCLES" in result.stderr
        assert "SOUL_LEASE" in result.stderr


READERS = [
    ["status"],
    ["queue", "inbox", "list"],
    ["queue", "inbox", "show", "x"],
    ["queue", "outbox", "list"],
    ["db", "check"],
    ["db", "backup"],
]


def test_without_memory_db_every_reader_fails_and_creates_none(home: Path) -> None:
    for arguments in READERS:
        result = call(*arguments)
        assert (result.exit_code, result.stdout) == (70, ""), arguments
        assert result.stderr.splitlines() == [
            f"there is no {home}/memory.db yet",
            "start the daemon with `soul run`, or set SOUL_HOME to its data folder",
        ]
    assert list(home.iterdir()) == []


def test_status_in_words(path: Path) -> None:
    assert "`soul run` starts one" in call("status").stdout
    add_daemon(path, seen_ms=SystemClock().now_ms())
    add_daemon(path, identity=dead_identity(), state="\x1b[2Jconnected")
    result = call("status")
    assert result.exit_code == 0
    for said in (
        "minoan in T1: connected, seen",
        "died without a shutdown",
        "1 unknown",
        "the oldest has waited",
        f"schema {SCHEMA}",
    ):
        assert said in result.stdout
    assert "\x1b" not in result.stdout
    change(path, "DELETE FROM presence")
    change(path, "UPDATE llm_calls SET started_ms = ?, cost_usd = NULL", SystemClock().now_ms())
    add_daemon(path)
    found = as_json("status")
    help_text = call("status", "--help").stdout
    for key in [*found, *found["daemons"][0], *found["spent"]]:
        assert key in help_text
    assert found["inbox"] == dict.fromkeys(sorted(INBOX_STATES), 1)
    assert found["spent"]["unpriced"] == 1
    assert found["daemons"][0]["silent"] is True
    assert "at most $" in call("status").stdout


def test_status_shows_how_far_slack_is_read(path: Path) -> None:
    change(path, "INSERT INTO watermarks VALUES ('minoan', 'T1', '1750000000.000000', 1)")
    assert "catch-up of minoan  nothing missed up to 2025-06-15 15:06" in call("status").stdout
    row = {"soul": "minoan", "workspace": "T1", "since": "1.0", "heard_ms": 1, "due_ms": 1}
    for channel, thread, state in (("C1", "", "read"), ("C2", "", "due"), ("C1", "5.0", "read")):
        insert(path, "unread_places", channel=channel, thread=thread, state=state, **row)
    shown = call("status").stdout
    assert "1 of 2 rooms, 1 of 1 threads read; nothing missed up to 2025-06-15 15:06" in shown
    (state,) = as_json("status")["catch_up"]
    assert all(key in call("status", "--help").stdout for key in state)


def test_lists_print_states_and_show_prints_words_and_neither_controls_nor_thoughts(path: Path) -> None:
    for family, states in (("inbox", INBOX_STATES), ("outbox", OUTBOX_STATES)):
        result = call("queue", family, "list")
        assert result.exit_code == 0
        assert all(state in result.stdout for state in states)
        assert "anybody" not in result.stdout
        found = as_json("queue", family, "list", "--state", "dead")
        assert [(row["state"], row["body"]) for row in found] == [("dead", "")]
        assert call("queue", family, "list", "--state", "lost").exit_code == 2
        assert call("queue", family, "list", "--limit", "0").exit_code == 2
    for family, name in (("inbox", message_in("dead")), ("outbox", post_in("dead"))):
        result = call("queue", family, "show", name)
        assert "please don't tell ␛]0;owned␇ anybody" in result.stdout
        assert "\x1b" not in result.stdout + call("queue", family, "show", name, "--json").stdout
        assert as_json("queue", family, "show", name)["state"] == "dead"
    for arguments in (
        ["status"], ["status", "--json"], ["queue", "inbox", "list"],
        ["queue", "inbox", "show", message_in("answered")],
        ["queue", "outbox", "show", post_in("sent"), "--json"], ["doctor", "--offline"], ["db", "check"],
    ):  # fmt: skip
        assert THOUGHT not in call(*arguments).output


def test_messages_and_posts_are_retried_and_dropped_and_only_with_yes_or_force_blindly_or_again(path: Path) -> None:
    change(path, "UPDATE outbox SET platform_ts = '9.9' WHERE state = 'expired'")
    assert (
        "waits for an answer again" in call("queue", "inbox", "retry", message_in("dead"), message_in("stale")).stdout
    )
    assert "stays without an answer" in call("queue", "inbox", "drop", message_in("new")).stdout
    assert "will be sent" in call("queue", "outbox", "retry", post_in("dead")).stdout
    assert "looked up first" in call("queue", "outbox", "retry", post_in("unknown")).stdout
    dropped = call("queue", "outbox", "drop", post_in("expired"))
    assert "won't be sent" in dropped.stdout
    assert "visible already, as 9.9" in dropped.stdout
    assert one(path, "SELECT count(*) FROM audit") == 6
    assert one(path, "SELECT state FROM outbox WHERE id = ?", post_in("unknown")) == "sending"
    assert "will be sent" in call("queue", "outbox", "retry", "--yes", post_in("unknown")).stdout
    assert one(path, "SELECT state FROM outbox WHERE id = ?", post_in("unknown")) == "pending"
    result = call("queue", "inbox", "retry", message_in("answered"))
    assert result.exit_code == 70
    assert result.stderr.splitlines() == [
        f"{message_in('answered')} has a reply",
        "repeat with --force for a second reply",
    ]
    assert call("queue", "inbox", "retry", "--force", message_in("answered")).exit_code == 0


FAMILIES = ("inbox", "outbox", "jobs")


@pytest.mark.usefixtures("path")
def test_many_rows_of_a_state_are_retried_at_once(path: Path) -> None:
    now = SystemClock().now_ms()
    change(path, "UPDATE jobs SET state = 'dead'")
    for number, family in enumerate(FAMILIES):
        change(path, f"UPDATE {family} SET settled_ms = ? WHERE state = 'dead'", now - 3_600_000)
        assert call("queue", family, "retry", "--state", "dead", "--since", "59m").stdout == ""
        assert one(path, f"SELECT count(*) FROM {family} WHERE state = 'dead'") == 1
        assert call("queue", family, "retry", "--state", "dead", "--since", "2h").exit_code == 0
        assert one(path, f"SELECT count(*) FROM {family} WHERE state = 'dead'") == 0
        assert one(path, "SELECT count(*) FROM audit") == number + 1
    for wrong in ("", "--state dead", "--since 2h", "1 --state dead --since 2h", "--state dead --since soon",
                  "--state answered --since 2h"):  # fmt: skip
        for family in FAMILIES:
            assert call("queue", family, "retry", *wrong.split()).exit_code == 2, (family, wrong)


def test_dead_jobs_are_listed_retried_and_dropped(path: Path) -> None:
    change(path, "UPDATE jobs SET state = 'dead', reason = 'KeyError', attempts = 3")
    listed = call("queue", "jobs", "list", "--state", "dead").stdout
    assert "summarizes_the_conversation" in listed
    assert "KeyError" in listed
    assert "1 (soul queue jobs list --state dead)" in call("status").stdout
    assert [row["state"] for row in as_json("queue", "jobs", "list")] == ["dead"]
    assert "will be done again" in call("queue", "jobs", "retry", "1").stdout
    assert call("queue", "jobs", "drop", "1").exit_code == 70
    change(path, "UPDATE jobs SET state = 'dead'")
    assert "won't be done" in call("queue", "jobs", "drop", "1").stdout


def test_a_database_is_made_checked_backed_up_and_restored(home: Path) -> None:
    assert f"has schema {SCHEMA} now; it had 0" in call("db", "migrate").stdout
    assert "already" in call("db", "migrate").stdout
    assert "has no faults" in call("db", "check").stdout
    assert as_json("db", "check")["faults"] == []
    made = as_json("db", "backup")
    assert Path(made["path"]).parent == home / "backups"
    assert "checked" in call("db", "backup", str(home / "mine.db")).stdout
    again = call("db", "backup", str(home / "mine.db"))
    assert (again.exit_code, again.stderr.splitlines()[0]) == (70, f"{home}/mine.db exists already")
    result = call("db", "restore", made["path"])
    assert result.exit_code == 0
    assert "The replaced file is now" in result.stdout


def test_a_restore_is_refused_under_a_living_daemon_and_faults_exit_with_one(path: Path, home: Path) -> None:
    call("db", "backup", str(home / "mine.db"))
    assert "2 messages waited in it" in call("db", "restore", str(home / "mine.db")).stdout
    add_daemon(path)
    result = call("db", "restore", str(home / "mine.db"))
    assert result.exit_code == 70
    assert "a daemon is alive" in result.stderr
    assert call("db", "restore", "--force", str(home / "mine.db")).exit_code == 0
    with opened(path) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM conversations")
    result = call("db", "check")
    assert result.exit_code == 1
    assert "has faults" in result.stdout
    assert "soul db restore PATH" in result.stdout


def test_settings_show_values_but_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-very-secret")
    monkeypatch.setenv("SOUL_MEMBERS", "U1,U2")
    monkeypatch.setenv("SOUL_NAM", "x")
    result = call("settings")
    assert "xoxb-very-secret" not in result.output
    assert "(secret)" in result.stdout
    assert "U1,U2" in result.stdout
    assert "did you mean SOUL_NAME?" in result.stdout
    values = as_json("settings")
    assert values["SLACK_BOT_TOKEN"]["value"] == "(secret)"
    assert values["SOUL_MEMBERS"].keys() == {"value", "set", "description"}
    assert (values["SOUL_MEMBERS"]["value"], values["SOUL_MEMBERS"]["set"]) == ("U1,U2", True)
    assert values["SOUL_ALLOW_GUESTS"]["value"] == "false"
    assert "#SOUL_MAX_CYCLES=32" in call("settings", "--reference").stdout
    assert "| `display_name` | " in call("settings", "--soul").stdout


def test_the_manifest_carries_the_souls_name(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    result = json.loads(call("manifest").stdout)
    assert result["display_information"]["name"] == "Kothar"
    assert result["settings"]["socket_mode_enabled"] is True
    assert "agent_view" not in json.loads(call("manifest", "--plain").stdout)["features"]
    monkeypatch.setenv("SOUL_NAME", "absent")
    refused = call("manifest")
    assert (refused.exit_code, "'absent'" in refused.stderr) == (78, True)
    folder = home / "souls" / "tess"
    folder.mkdir(parents=True)
    (folder / "soul.md").write_text("You are Tess.")
    monkeypatch.setenv("SOUL_NAME", "tess")
    for mind, asks in (("process", False), ("cycle", True)):
        text = f'name = "tess"\ndisplay_name = "Tess"\nmind = "{mind}"\n[presence]\nnod = "thumbsup"\n'
        (folder / "soul.toml").write_text(text)
        made = json.loads(call("manifest").stdout)
        assert ("reactions:write" in made["oauth_config"]["scopes"]["bot"]) is asks


def test_the_prompts_that_slack_suggests_are_in_the_language_asked_for() -> None:
    for language, said in (("", "Say hello"), ("de-AT", "Sag hallo"), ("fr", "Say hello")):
        made = json.loads(call("manifest", "--language", language).stdout)
        assert made["features"]["agent_view"]["suggested_prompts"][0]["title"] == said, language


def test_a_second_chat_and_one_under_an_impossible_name_are_refused(path: Path) -> None:
    for name in ("a/b", " ", "\x1b"):
        result = call("chat", "--as", name)
        assert (result.exit_code, "can't be a user's name" in result.stderr) == (78, True), name
    add_daemon(path, kind="terminal", seen_ms=SystemClock().now_ms())
    result = call("chat", "--as", "Ada")
    assert result.exit_code == 78
    assert "another `soul chat` is open (process 42" in result.stderr


def test_ages_use_the_largest_unit_that_fits() -> None:
    result = [age(NOW, NOW - seconds * 1000) for seconds in (-5, 0, 59, 60, 7200, 200_000)]
    assert result == ["0 s", "0 s", "59 s", "1 min", "2 h", "2 d"]
