"""The doctor names what is wrong and the step that mends it, against real files and a real workspace."""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.channels.slack.api.identity import SlackIdentity
from daemon.channels.slack.api.manifest import REQUIRED_SCOPES
from daemon.cli.checks.finding import Finding, Verdict
from daemon.cli.checks.machine import data_folder, file_system, free_space, python_version
from daemon.cli.checks.memory import sqlite_library
from daemon.cli.checks.slack import scopes
from daemon.cli.doctor import examine
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.local_slack.server import SCOPES, WorkspaceServer, serve_workspace
from daemon.memory.admin.overview import SqliteBuild
from daemon.memory.database.backup import name_at
from tests.cli.conftest import call
from tests.cli.stocked import NOW, add_daemon, dead_identity, opened, stock


def found(name: str, *, offline: bool = True) -> list[Finding]:
    """What the doctor says under a name."""
    return [one for one in examine(offline=offline) if one.name == name]


def only(name: str, *, offline: bool = True) -> Finding:
    (one,) = found(name, offline=offline)
    return one


@pytest.fixture
def path(home: Path) -> Path:
    return stock(home / "memory.db")


def test_a_fresh_home_has_no_failures_and_each_warning_has_a_cure() -> None:
    told = call("doctor")
    assert told.exit_code == 0
    findings = examine(offline=False)
    assert not [one for one in findings if one.verdict is Verdict.FAIL]
    assert all(one.fix for one in findings if one.verdict in (Verdict.WARN, Verdict.FAIL))
    assert only("models").verdict is Verdict.WARN
    assert "ANTHROPIC_API_KEY=" in only("models").fix
    assert only("database").verdict is Verdict.SKIP


def test_json_is_a_list_of_findings() -> None:
    told = json.loads(call("doctor", "--json", "--offline").stdout)
    assert {tuple(one) for one in told} == {("name", "verdict", "found", "fix")}


def test_wrong_settings_are_all_told_and_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_LEASE", "x")
    monkeypatch.setenv("SOUL_MAX_CYCLES", "0")
    told = call("doctor")
    assert told.exit_code == 1
    assert "SOUL_LEASE" in told.stdout
    assert "SOUL_MAX_CYCLES" in told.stdout
    assert "skip" in told.stdout


def test_a_variable_that_means_nothing_and_a_telltale_log_are_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_NAM", "x")
    monkeypatch.setenv("SOUL_DEBUG", "1")
    told = " ".join(one.found for one in found("settings"))
    assert "did you mean SOUL_NAME?" in told
    assert "private thoughts" in told


def test_a_model_without_its_key_fails_and_one_with_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_PERSONA_MODEL", "anthropic/claude-sonnet-5-5")
    assert only("models").verdict is Verdict.FAIL
    assert "ANTHROPIC_API_KEY" in only("models").found
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-something-secret")
    assert only("models").verdict is Verdict.OK
    assert "sk-ant" not in call("doctor", "--offline").output


def test_a_broken_soul_is_told_with_file_and_line(home: Path) -> None:
    folder = home / "souls" / "minoan"
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text('name = "minoan"\ndisplay_name = 7\n')
    (folder / "soul.md").write_text("You are.")
    assert only("soul").verdict is Verdict.FAIL
    assert "soul.toml:2" in only("soul").found


def test_a_good_database_with_a_living_daemon(path: Path) -> None:
    add_daemon(path, seen_ms=SystemClock().now_ms())
    assert only("database").verdict is Verdict.OK
    assert only("daemons").verdict is Verdict.OK
    assert only("data folder").verdict is Verdict.OK


@pytest.mark.parametrize(
    ("identity", "state", "seen", "said"),
    [
        ("", "not connected", None, "not connected"),
        (dead_identity(), "x", None, "without a word"),
        ("", "x", NOW, "last"),
    ],
)
def test_daemons_in_trouble_are_warnings(path: Path, identity: str, state: str, seen: int | None, said: str) -> None:
    now = SystemClock().now_ms()
    add_daemon(path, identity="elsewhere/boot/7/7", seen_ms=now)
    add_daemon(path, identity=identity, state=state, seen_ms=seen or now)
    (troubled,) = [one for one in found("daemons") if one.verdict is Verdict.WARN]
    assert said in troubled.found


def test_no_daemon_at_all_is_no_fault(path: Path) -> None:
    add_daemon(path, identity=dead_identity())
    assert only("daemons").verdict is Verdict.SKIP


def test_stuck_rows_are_told_with_the_command_that_lists_them(path: Path) -> None:
    assert [one.fix.split(",")[0] for one in found("stuck")] == [
        "soul inbox list --state dead",
        "soul outbox list --state unknown",
        "soul outbox list --state dead",
    ]
    with opened(path) as connection:
        connection.execute("DELETE FROM inbox")
        connection.execute("DELETE FROM outbox")
    assert only("stuck").verdict is Verdict.OK


def test_the_age_of_the_newest_backup_is_told(path: Path, home: Path) -> None:
    assert only("backups").verdict is Verdict.SKIP
    (home / "backups").mkdir()
    (home / "backups" / name_at(NOW)).touch()
    assert only("backups").verdict is Verdict.WARN
    assert call("db", "backup").exit_code == 0
    assert only("backups").verdict is Verdict.OK


@pytest.mark.parametrize(("version", "cure"), [(0, "soul db migrate"), (99, "update the program")])
def test_a_sound_file_of_another_schema_fails_and_nobody_is_told_to_restore_a_backup(
    path: Path, version: int, cure: str
) -> None:
    with opened(path) as connection:
        connection.execute(f"PRAGMA user_version={version}")
    assert only("database").verdict is Verdict.FAIL
    assert cure in only("database").fix
    assert call("doctor", "--offline").exit_code == 1
    checked = call("db", "check")
    assert checked.exit_code == 1
    assert cure in checked.stdout
    assert "restore" not in checked.stdout + only("database").fix


def test_a_file_that_is_no_database_fails(path: Path) -> None:
    path.write_bytes(b"garbage" * 1000)
    assert only("database").verdict is Verdict.FAIL
    assert "damaged" in only("database").found


@pytest.mark.parametrize(
    ("safe", "journal", "verdict"),
    [(True, "wal", Verdict.OK), (True, "", Verdict.OK), (False, "truncate", Verdict.OK), (False, "wal", Verdict.FAIL)],
)
def test_the_wal_reset_fault_is_a_failure_only_in_wal_mode(safe: bool, journal: str, verdict: Verdict) -> None:
    told = sqlite_library(SqliteBuild("3.50.0", safe), journal)
    assert told.verdict is verdict
    assert "3.50.0" in told.found
    assert journal in told.found


def test_a_home_that_does_not_exist_yet_is_made_later(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_HOME", str(home / "a" / "b"))
    assert only("data folder").verdict is Verdict.OK
    assert not (home / "a").exists()


def test_a_home_that_is_a_file_fails(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("SOUL_HOME", str(home / "file"))
    assert only("data folder").verdict is Verdict.FAIL


def test_what_others_may_read_or_write_is_a_warning(path: Path, home: Path) -> None:
    path.chmod(0o644)
    home.chmod(0o777)
    assert only("privacy").fix == f"chmod 600 {path}*"
    assert only("data folder").fix == f"chmod o-w {home}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give folders away")
def test_a_home_of_somebody_else_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(home, 12345, 12345)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert data_folder(load_settings())[0].verdict is Verdict.WARN
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert data_folder(load_settings())[0].verdict is Verdict.FAIL
    monkeypatch.setenv("SOUL_HOME", str(home / "new"))
    assert data_folder(load_settings())[0].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("ext4", Verdict.OK), ("nfs4", Verdict.WARN), ("overlay", Verdict.WARN), ("fuse.sshfs", Verdict.WARN)],
)
def test_file_systems_that_lie_about_locks_are_told(home: Path, kind: str, verdict: Verdict) -> None:
    mounts = home / "mounts"
    spaced = str(home).replace(" ", "\\040")
    mounts.write_text(f"/dev/x / xfs rw 0 0\nsomething {spaced} {kind} rw 0 0\nodd\n")
    assert file_system(home, mounts).verdict is verdict
    assert file_system(Path("/elsewhere"), mounts).found == "xfs"
    assert "can't be told" in file_system(home, home / "absent").found


def test_little_room_is_told_before_it_is_none(home: Path) -> None:
    assert free_space(home, needed=2**62).verdict is Verdict.FAIL
    assert free_space(home, needed=0, comfortable=2**62).verdict is Verdict.WARN
    assert free_space(home, needed=0, comfortable=0).verdict is Verdict.OK


def test_this_python_is_new_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_version().verdict is Verdict.OK
    monkeypatch.setattr("sys.version_info", (3, 10, 1))
    assert python_version().verdict is Verdict.FAIL


@contextmanager
def workspace(**given: object) -> Iterator[WorkspaceServer]:
    """A workspace that serves from a thread of its own, since the doctor brings its own event loop."""
    server, up, loop = serve_workspace(**given), threading.Event(), asyncio.new_event_loop()  # type: ignore[arg-type]  # options pass through
    end = asyncio.Event()

    async def serve() -> None:
        async with server:
            up.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert up.wait(30)
        yield server
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(30)
        loop.close()


def use(monkeypatch: pytest.MonkeyPatch, server: WorkspaceServer, **instead: str) -> None:
    values = {"SLACK_BOT_TOKEN": server.bot_token, "SLACK_APP_TOKEN": server.app_token, "SLACK_API_URL": server.api_url}
    for name, value in (values | instead).items():
        monkeypatch.setenv(name, value)


def test_a_workspace_that_takes_both_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace() as server:
        use(monkeypatch, server)
        told = call("doctor")
        assert only("slack", offline=False).verdict is Verdict.OK
        assert server.team.id in only("slack", offline=False).found
        assert server.bot_user.id in only("slack", offline=False).found
        assert only("slack scopes", offline=False).verdict is Verdict.OK
        assert server.bot_token not in told.output
        assert server.app_token not in told.output
        assert only("slack").verdict is Verdict.SKIP


def test_missing_scopes_are_named_with_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace(scopes=SCOPES - {"users:read", "im:history"}) as server:
        use(monkeypatch, server)
        told = only("slack scopes", offline=False)
    assert told.verdict is Verdict.FAIL
    assert told.found == "missing: im:history, users:read"
    assert "Reinstall to Workspace" in told.fix


@pytest.mark.parametrize(
    ("instead", "said"),
    [({"SLACK_BOT_TOKEN": "xoxb-wrong"}, "SLACK_BOT_TOKEN"), ({"SLACK_APP_TOKEN": "xapp-wrong"}, "SLACK_APP_TOKEN")],
)
def test_a_refused_token_is_named(monkeypatch: pytest.MonkeyPatch, instead: dict[str, str], said: str) -> None:
    with workspace() as server:
        use(monkeypatch, server, **instead)
        told = only("slack", offline=False)
        assert call("doctor").exit_code == 1
    assert told.verdict is Verdict.FAIL
    assert said in told.found


def test_a_workspace_that_cannot_be_reached_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace() as server:
        use(monkeypatch, server)
    told = only("slack", offline=False)
    assert told.verdict is Verdict.FAIL
    assert "can't be reached" in told.found


@pytest.mark.parametrize(
    ("bot", "app", "said"),
    [("xoxb-a", "", "SLACK_APP_TOKEN is not set"), ("xapp-a", "xoxb-b", "swapped"), ("xoxp-a", "xapp-b", "bot token")],
)
def test_tokens_of_the_wrong_kind_are_told_without_asking(
    monkeypatch: pytest.MonkeyPatch, bot: str, app: str, said: str
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", bot)
    monkeypatch.setenv("SLACK_APP_TOKEN", app)
    assert only("slack tokens").verdict is Verdict.FAIL
    assert said in only("slack tokens").found


def test_scopes_that_slack_does_not_tell_are_a_warning() -> None:
    identity = SlackIdentity("T", "U", "B", "A1", frozenset(REQUIRED_SCOPES), "")
    assert scopes(identity).verdict is Verdict.WARN  # what further souls and errands need is not among them
    assert "chat:write.customize" in scopes(identity).found
    everything = identity.scopes | {"chat:write.customize", "im:write"}
    assert scopes(replace(identity, scopes=everything)).verdict is Verdict.OK
    assert scopes(replace(identity, scopes=frozenset())).verdict is Verdict.WARN
    assert "api.slack.com/apps/A1," in scopes(replace(identity, scopes=frozenset({"x"}))).fix


def test_a_further_soul_that_answers_nowhere_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_SOULS", "plain")
    main, other = found("soul")
    assert (main.verdict, other.verdict) == (Verdict.OK, Verdict.WARN)
    assert "answers nowhere" in other.found
    assert "soul.toml" in other.fix


def test_a_soul_that_is_not_there_fails_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_SOULS", "nobody")
    told = only("soul")
    assert told.verdict is Verdict.FAIL
    assert "nobody" in told.found


def test_what_research_may_look_into_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"clock": {"command": "clock-server"}}}))
    monkeypatch.setenv("SOUL_LIBRARY", f"{tmp_path / 'docs'},{tmp_path / 'gone'}")
    monkeypatch.setenv("SOUL_MCP_SERVERS", str(servers))
    there, gone = found("library")
    assert (there.verdict, gone.verdict) == (Verdict.OK, Verdict.WARN)
    assert (there.found, gone.found) == (str(tmp_path / "docs"), f"{tmp_path / 'gone'} is no folder")
    assert "clock" in only("tools").found
    servers.write_text("{")
    assert only("tools").verdict is Verdict.FAIL


def test_a_loop_that_outlasts_the_deadline_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISM_ENABLED", "true")
    monkeypatch.setenv("SOUL_DEADLINE", "60")
    assert only("ism").verdict is Verdict.WARN
