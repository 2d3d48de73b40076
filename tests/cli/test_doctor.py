"""`soul doctor` names each fault and its fix, against real files and a local workspace."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.channels.slack.installation import REQUIRED_SCOPES
from daemon.channels.slack.refusals import SlackIdentity
from daemon.cli.checks import Finding, Premises, Verdict, examine, mind
from daemon.cli.checks.machine import data_folder, file_system, free_space, python_version
from daemon.cli.checks.memory import sqlite_library
from daemon.cli.checks.slack import scopes
from daemon.core.config import Settings, load_settings
from daemon.core.ports.services import SystemClock
from daemon.core.timetable import moment
from daemon.llm.answers import ModelServer, NearbyModel, Vendor
from daemon.local_slack.server import SCOPES, WorkspaceServer
from daemon.memory.admin.overview import SqliteBuild
from daemon.memory.database.copies import name_at
from tests.cli.conftest import as_json, call
from tests.cli.services import move, workspace
from tests.cli.stocked import NOW, add_daemon, change, dead_identity, insert


def found(name: str, *, offline: bool = True) -> list[Finding]:
    """The findings of one name."""
    return [one for one in examine(offline=offline) if one.name == name]


def only(name: str, *, offline: bool = True) -> Finding:
    (one,) = found(name, offline=offline)
    return one


def test_a_fresh_home_has_no_failures_and_each_warning_has_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOUL_EMBEDDER")  # the one in the package
    result = call("doctor", "--json")
    assert result.exit_code == 0
    assert {tuple(one) for one in json.loads(result.stdout)} == {("name", "verdict", "found", "fix")}
    findings = {one.name: one for one in examine(offline=False)}
    assert not [one for one in findings.values() if one.verdict is Verdict.FAIL]
    assert all(one.fix for one in findings.values() if one.verdict is Verdict.WARN)
    assert findings["models"].verdict is Verdict.WARN
    assert "ANTHROPIC_API_KEY=" in findings["models"].fix
    assert findings["database"].verdict is Verdict.SKIP


def test_models_keys_and_prices_and_a_second_model_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def find(settings: Settings) -> NearbyModel | None:
        return NearbyModel(ModelServer("LM Studio", Vendor.LOCAL, "http://127.0.0.1:1234/v1"), "qwen3-8b")

    monkeypatch.setenv("SOUL_LOCAL_MODELS", "true")
    monkeypatch.setattr(mind, "find_model", find)
    assert only("models") == Finding(
        "models",
        Verdict.OK,
        "no model is set up: qwen3-8b speaks in a local workspace, from LM Studio at 127.0.0.1:1234",
    )
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-1")
    assert only("models").verdict is Verdict.WARN
    assert "SOUL_PERSONA_MODEL=local/qwen3-8b" in only("models").fix
    monkeypatch.setenv("SOUL_PERSONA_MODEL", "anthropic/claude-sonnet-5-5")
    assert only("models").verdict is Verdict.FAIL
    assert "ANTHROPIC_API_KEY" in only("models").found
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-something-secret")
    assert only("models").verdict is Verdict.OK
    assert "sk-ant" not in call("doctor", "--offline").output
    monkeypatch.setenv("SOUL_PERSONA_MODEL", "openrouter/auto")
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    assert "the price of openrouter/auto is not known" in found("models")[1].found
    for name, value in {
        "SOUL_PERSONA_MODEL": "anthropic/claude-sonnet-5-5",
        "ANTHROPIC_API_KEY": "k",
        "SOUL_PERSONA_STANDBY": "ollama/llama",
        "SOUL_THINKING_STANDBY": "anthropic/claude-haiku-5-5",
        "SOUL_STANDBY_DM": "ollama",
    }.items():
        monkeypatch.setenv(name, value)
    _, speaks, thinks = found("models")
    assert (speaks.verdict, thinks.verdict) == (Verdict.WARN, Verdict.OK)
    assert "ollama/llama speaks when the first model is down, but not for every audience" in speaks.found
    assert speaks.fix == "add ollama to SOUL_STANDBY_CHANNEL, SOUL_STANDBY_WORKSPACE"
    monkeypatch.setenv("SOUL_STANDBY_DM", "olama")
    assert "'olama', which is no vendor" in only("models").found


def test_wrong_and_doubtful_settings_and_an_open_http_api_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("HTTP API") == []
    monkeypatch.setenv("SOUL_HTTP_HOST", "192.0.2.7")
    assert only("HTTP API").verdict is Verdict.WARN
    assert "SOUL_HTTP_NAMES" in only("HTTP API").fix
    monkeypatch.setenv("SOUL_HTTP", "false")
    assert found("HTTP API") == []
    monkeypatch.setenv("SOUL_NAM", "x")
    monkeypatch.setenv("SOUL_DEBUG", "1")
    doubtful = " ".join(one.found for one in found("settings"))
    assert "did you mean SOUL_NAME?" in doubtful
    assert "private thoughts" in doubtful
    monkeypatch.setenv("SOUL_LEASE", "x")
    monkeypatch.setenv("SOUL_MAX_CYCLES", "0")
    result = call("doctor")
    assert result.exit_code == 1
    for said in ("SOUL_LEASE", "SOUL_MAX_CYCLES", "skip"):
        assert said in result.stdout


def test_a_good_database_with_a_living_daemon_and_a_part_of_it_that_fails_again_and_again(path: Path) -> None:
    add_daemon(path, seen_ms=SystemClock().now_ms())
    assert only("database").verdict is Verdict.OK
    assert only("daemons").verdict is Verdict.OK
    assert only("data folder").verdict is Verdict.OK
    assert not found("loops")
    detail = '{"active": 0, "failing": {"backup": "4 times, last: PermissionError"}}'
    change(path, "UPDATE presence SET detail = ?", detail)
    assert only("loops").found == "backup failed 4 times, last: PermissionError"
    assert only("loops").verdict is Verdict.WARN
    assert "failing backup (4 times, last: PermissionError)" in call("status").stdout
    path.write_bytes(b"garbage" * 1000)
    assert only("database").verdict is Verdict.FAIL
    assert "damaged" in only("database").found


def test_daemons_in_trouble_are_warnings_and_a_dead_one_alone_is_no_fault(path: Path) -> None:
    now = SystemClock().now_ms()
    for identity, state, seen, said in (
        ("", "not connected", now, "not connected"),
        (dead_identity(), "x", now, "without a shutdown"),
        ("", "x", NOW, "last"),
    ):
        change(path, "DELETE FROM presence")
        add_daemon(path, seen_ms=now)
        add_daemon(path, identity=identity, state=state, seen_ms=seen)
        (troubled,) = [one for one in found("daemons") if one.verdict is Verdict.WARN]
        assert said in troubled.found
    change(path, "DELETE FROM presence")
    add_daemon(path, identity=dead_identity())
    assert only("daemons").verdict is Verdict.SKIP


def test_what_waits_for_a_soul_that_no_daemon_hosts_any_more_is_named_with_what_to_do(path: Path) -> None:
    assert not found("unhosted"), "no daemon runs: all souls wait for one"
    add_daemon(path, seen_ms=SystemClock().now_ms())
    assert not found("unhosted")
    for table in ("inbox", "outbox", "jobs"):
        change(path, f"UPDATE {table} SET soul = 'ben' WHERE state IN ('new', 'pending', 'ready')")
    change(path, "UPDATE inbox SET modality = 'note' WHERE state = 'new'")
    unhosted = only("unhosted")
    assert unhosted.verdict is Verdict.WARN
    assert "no running daemon hosts ben in T1; 1 notes, 1 posts, 1 jobs wait" in unhosted.found
    assert unhosted.fix.startswith("add ben to SOUL_SOULS")
    assert "ben in T1: no running daemon answers" in call("status").stdout
    (row,) = as_json("status")["unhosted"]
    assert (row["soul"], row["notes"], row["messages"]) == ("ben", 1, 0)
    change(path, """UPDATE presence SET detail = '{"souls": {"minoan": [], "ben": []}}'""")
    assert not found("unhosted")


def test_stuck_rows_come_with_their_command_and_an_old_backup_is_a_warning(path: Path, home: Path) -> None:
    assert only("backups").verdict is Verdict.SKIP
    (home / "backups").mkdir()
    old = home / "backups" / name_at(NOW)
    old.touch()
    os.utime(old, (NOW / 1000, NOW / 1000))
    assert only("backups").verdict is Verdict.WARN
    assert call("db", "backup").exit_code == 0
    assert only("backups").verdict is Verdict.OK
    assert "2 take 0.00 GiB" in only("backups").found
    assert [one.fix.split(",")[0] for one in found("stuck")] == [
        "soul queue inbox list --state dead",
        "soul queue outbox list --state unknown",
        "soul queue outbox list --state dead",
        "soul queue outbox list --state expired",
    ]
    change(path, "DELETE FROM inbox")
    change(path, "DELETE FROM outbox")
    assert only("stuck").verdict is Verdict.OK
    change(path, "UPDATE jobs SET state = 'dead'")
    change(
        path,
        "INSERT INTO intentions (id, conversation, soul, workspace, slot, due_ms, process, behalf, place, audience,"
        " state, created_ms) SELECT 'i', conversation, soul, workspace, 's', 1, '', 'U1', 'dm', 'dm:D1', 'dead', 1"
        " FROM jobs",
    )
    said = " ".join(one.fix for one in found("stuck"))
    assert "soul queue jobs list --state dead" in said
    assert "soul schedule list --state dead" in said
    assert "1 (soul schedule list --state dead)" in call("status").stdout


def test_a_sound_file_of_another_schema_fails_without_advice_to_restore(path: Path) -> None:
    for version, cure in ((0, "soul db migrate"), (16, "passport export DIR"), (99, "update the program")):
        change(path, f"PRAGMA user_version={version}")
        finding = only("database")
        assert (finding.verdict, cure in finding.fix) == (Verdict.FAIL, True), finding
        checked = call("db", "check")
        assert (checked.exit_code, cure in checked.stdout) == (1, True), checked.stdout
        assert "restore" not in checked.stdout + finding.fix
        refused = call("status")
        assert (refused.exit_code, cure in refused.stderr.splitlines()[1]) == (78, True), refused.stderr
    assert call("doctor", "--offline").exit_code == 1


def test_a_home_that_is_not_there_is_no_fault_and_a_file_is_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_HOME", str(home / "a" / "b"))
    assert only("data folder").verdict is Verdict.OK
    assert not (home / "a").exists()
    (home / "file").touch()
    monkeypatch.setenv("SOUL_HOME", str(home / "file"))
    assert only("data folder").verdict is Verdict.FAIL


def test_files_that_others_may_read_or_write_and_locks_that_are_unreliable_are_warnings(path: Path, home: Path) -> None:
    path.chmod(0o644)
    home.chmod(0o777)
    assert only("privacy").fix == f"chmod 600 {path}*"
    assert only("data folder").fix == f"chmod o-w {home}"
    mounts = home / "mounts"
    spaced = str(home).replace(" ", "\\040")
    verdicts = {}
    for kind in ("ext4", "nfs4", "overlay", "fuse.sshfs"):
        mounts.write_text(f"/dev/x / xfs rw 0 0\nsomething {spaced} {kind} rw 0 0\nodd\n")
        verdicts[kind] = file_system(home, mounts).verdict
    bad = dict.fromkeys(("nfs4", "overlay", "fuse.sshfs"), Verdict.WARN)
    assert verdicts == {"ext4": Verdict.OK} | bad
    assert file_system(Path("/elsewhere"), mounts).found == "xfs"
    assert "unknown" in file_system(home, home / "absent").found


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give folders away")
def test_a_home_of_another_user_is_a_warning(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(home, 12345, 12345)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert data_folder(Premises(load_settings()))[0].verdict is Verdict.WARN
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert data_folder(Premises(load_settings()))[0].verdict is Verdict.FAIL
    monkeypatch.setenv("SOUL_HOME", str(home / "new"))
    assert data_folder(Premises(load_settings()))[0].verdict is Verdict.FAIL


def test_space_python_and_sqlite_of_the_machine_are_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_space(home, needed=2**62).verdict is Verdict.FAIL
    assert free_space(home, needed=0, comfortable=2**62).verdict is Verdict.WARN
    assert free_space(home, needed=0, comfortable=0).verdict is Verdict.OK
    assert python_version().verdict is Verdict.OK
    monkeypatch.setattr("sys.version_info", (3, 10, 1))
    assert python_version().verdict is Verdict.FAIL
    cases = {
        (safe, journal): sqlite_library(SqliteBuild("3.50.0", safe), journal)
        for safe, journal in ((True, "wal"), (True, ""), (False, "truncate"), (False, "wal"))
    }
    assert [case for case, result in cases.items() if result.verdict is not Verdict.OK] == [(False, "wal")]
    assert cases[False, "wal"].verdict is Verdict.FAIL
    assert all("3.50.0" in result.found and journal in result.found for (_, journal), result in cases.items())


def use(monkeypatch: pytest.MonkeyPatch, server: WorkspaceServer, **instead: str) -> None:
    values = {"SLACK_BOT_TOKEN": server.bot_token, "SLACK_APP_TOKEN": server.app_token, "SLACK_API_URL": server.api_url}
    for name, value in (values | instead).items():
        monkeypatch.setenv(name, value)


def test_a_workspace_that_takes_the_tokens_refuses_them_or_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace() as server:
        use(monkeypatch, server)
        result = call("doctor")
        findings = {one.name: one for one in examine(offline=False)}
        assert (findings["slack"].verdict, findings["slack scopes"].verdict) == (Verdict.OK, Verdict.OK)
        assert server.team.id in findings["slack"].found
        assert server.bot_user.id in findings["slack"].found
        assert server.bot_token not in result.output
        assert server.app_token not in result.output
        assert only("slack").verdict is Verdict.SKIP
        for name, wrong in (("SLACK_BOT_TOKEN", "xoxb-wrong"), ("SLACK_APP_TOKEN", "xapp-wrong")):
            use(monkeypatch, server, **{name: wrong})
            finding = only("slack", offline=False)
            assert (finding.verdict, name in finding.found) == (Verdict.FAIL, True), finding
        assert call("doctor").exit_code == 1
        use(monkeypatch, server)
    finding = only("slack", offline=False)
    assert finding.verdict is Verdict.FAIL
    assert "can't be reached" in finding.found


def test_a_rehearsal_names_its_time_and_one_that_a_daemon_would_refuse_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("rehearsal") == []
    monkeypatch.setenv("SOUL_REHEARSAL_CLOCK", "true")
    own = only("rehearsal")  # a daemon with a workspace of its own needs none
    assert (own.verdict, "unset SOUL_REHEARSAL_CLOCK" in own.fix) == (Verdict.WARN, True)
    with workspace() as server:
        use(monkeypatch, server, SOUL_REHEARSAL_CLOCK="true")
        move(server, 3 * 86_400)
        earliest = moment(SystemClock().now_ms() + 3 * 86_400_000)
        result = only("rehearsal")
        latest = moment(SystemClock().now_ms() + 3 * 86_400_000)
        assert (result.verdict, result.fix) == (Verdict.OK, "")
        assert earliest <= result.found.rpartition(", ")[2].removesuffix(" UTC") <= latest
        monkeypatch.setattr("daemon.app.lifecycle._ANSWERS_S", 0.2)
        use(monkeypatch, server, SOUL_REHEARSAL_CLOCK="true", SLACK_BOT_TOKEN="xoxb-of-another")
        foreign = only("rehearsal")
    gone = only("rehearsal")
    monkeypatch.setenv("SLACK_API_URL", "https://slack.com/api/")
    real = only("rehearsal")
    assert {one.verdict for one in (foreign, gone, real)} == {Verdict.FAIL}
    assert "no local workspace says its time at" in foreign.found
    assert "no local workspace says its time at" in gone.found
    assert "start it before the daemon" in gone.fix
    assert "slack.com is not on this machine" in real.found
    assert "unset SOUL_REHEARSAL_CLOCK" in real.fix
    assert call("doctor", "--offline").exit_code == 1


def test_missing_scopes_are_named_with_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace(scopes=SCOPES - {"users:read", "im:history"}) as server:
        use(monkeypatch, server)
        result = only("slack scopes", offline=False)
    assert result.verdict is Verdict.FAIL
    assert result.found == "missing: im:history, users:read"
    assert "Reinstall to Workspace" in result.fix
    identity = SlackIdentity("T", "U", "B", "A1", frozenset(REQUIRED_SCOPES), "")
    assert scopes(identity).verdict is Verdict.WARN  # scopes for further souls and DMs are optional
    assert "chat:write.customize" in scopes(identity).found
    optional = {"assistant:write", "chat:write.customize", "im:write", "files:read", "files:write", "commands"}
    optional |= {"usergroups:read", "reactions:read"}
    everything = identity.scopes | optional
    assert scopes(replace(identity, scopes=everything)).verdict is Verdict.OK
    assert "no message is marked" in scopes(replace(identity, scopes=everything), marks=True).found
    assert scopes(replace(identity, scopes=everything | {"reactions:write"}), marks=True).verdict is Verdict.OK
    nodding = scopes(replace(identity, scopes=everything), marks=True, nodding=("Tess",))
    assert nodding.verdict is Verdict.WARN
    assert "no message is marked as taken up or answered and Tess can't nod" in nodding.found
    assert "reactions:write" in nodding.fix
    assert scopes(replace(identity, scopes=frozenset())).verdict is Verdict.WARN
    assert "api.slack.com/apps/A1," in scopes(replace(identity, scopes=frozenset({"x"}))).fix


def test_tokens_of_the_wrong_kind_fail_without_asking_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    for bot, app, said in (
        ("xoxb-a", "", "SLACK_APP_TOKEN is not set"),
        ("xapp-a", "xoxb-b", "swapped"),
        ("xoxp-a", "xapp-b", "bot token"),
    ):
        monkeypatch.setenv("SLACK_BOT_TOKEN", bot)
        monkeypatch.setenv("SLACK_APP_TOKEN", app)
        finding = only("slack tokens")
        assert (finding.verdict, said in finding.found) == (Verdict.FAIL, True), finding


def test_broken_crowded_homeless_and_missing_souls_are_named(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("SOUL_SOULS", "plain")
    main, other = found("soul")
    assert (main.verdict, other.verdict) == (Verdict.OK, Verdict.WARN)
    assert "never answers" in other.found
    assert "soul.toml" in other.fix
    monkeypatch.setenv("SOUL_SOULS", "absent")
    result = only("soul")
    assert (result.verdict, "absent" in result.found) == (Verdict.FAIL, True)
    monkeypatch.delenv("SOUL_SOULS")
    folder = home / "souls" / "minoan"
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text('name = "minoan"\ndisplay_name = 7\n')
    (folder / "soul.md").write_text("You are.")
    assert only("soul").verdict is Verdict.FAIL
    assert "soul.toml:2" in only("soul").found
    (folder / "soul.toml").write_text(
        'name = "minoan"\ndisplay_name = "Long"\n[budgets]\npersonality = 4000\n', encoding="utf-8"
    )
    (folder / "soul.md").write_text("You are. " * 1_150, encoding="utf-8")
    fine, crowded = found("soul")
    assert (fine.verdict, crowded.verdict) == (Verdict.OK, Verdict.WARN)
    assert "Long's texts leave about" in crowded.found
    assert "budgets.prompt" in crowded.fix


def test_what_can_be_looked_up_and_what_the_soul_does_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"clock": {"command": "clock-server"}}}))
    monkeypatch.setenv("SOUL_LIBRARY", f"{tmp_path / 'docs'},{tmp_path / 'gone'}")
    monkeypatch.setenv("SOUL_MCP_SERVERS", str(servers))
    there, gone = found("library")
    assert (there.verdict, gone.verdict) == (Verdict.OK, Verdict.WARN)
    assert (there.found, gone.found) == (str(tmp_path / "docs"), f"{tmp_path / 'gone'} is not a folder")
    assert "clock" in only("tools").found
    servers.write_text("{")
    assert only("tools").verdict is Verdict.FAIL
    monkeypatch.delenv("SOUL_MCP_SERVERS")
    for setting, library, said in (
        ("", "", "it looks nothing up by itself: neither SOUL_LIBRARY nor SOUL_MCP_SERVERS is set"),
        ("", ".", "it looks up and reads by itself; with ISM_ENABLED=true it also reminds"),
        ("true", "", "it solves problems by all actions"),
        ("false", ".", "it looks nothing up by itself: ISM_ENABLED=false"),
    ):
        monkeypatch.setenv("ISM_ENABLED", setting)
        monkeypatch.setenv("SOUL_LIBRARY", library)
        finding = only("ism")
        assert (finding.verdict, finding.found.startswith(said)) == (Verdict.OK, True), finding
    monkeypatch.setenv("ISM_ENABLED", "true")
    monkeypatch.setenv("SOUL_DEADLINE", "60")
    assert only("ism").verdict is Verdict.WARN, "a loop is longer than the deadline"


def test_files_of_the_library_that_are_not_read_are_named_with_what_to_do(path: Path) -> None:
    for name, fault in (
        ("a.md", ""),
        ("b.pdf", "it is protected by a password (save a copy of it without a password)"),
        ("c.pdf", "of its 5,000 pages the first 1,000 are read"),
    ):
        insert(path, "library_files", path=f"docs/{name}", stamp="1", indexed_ms=1, fault=fault)
    insert(path, "library_passages", path="docs/c.pdf", line=1, body="words")
    locked, long = found("library")
    assert (locked.verdict, long.verdict) == (Verdict.WARN, Verdict.OK)
    assert locked.found.startswith("docs/b.pdf is not read: it is protected by a password (save a copy")
    assert long.found == "docs/c.pdf: of its 5,000 pages the first 1,000 are read"
    assert "not read: docs/b.pdf; see soul doctor" in call("status").stdout


@pytest.mark.usefixtures("path")
def test_a_mirror_is_told_with_what_it_waits_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("mirror") == []
    monkeypatch.setenv("SOUL_MIRROR", "copy")
    assert (only("mirror").verdict, only("mirror").found) == (
        Verdict.OK,
        "copy is not written yet; a daemon that runs writes it",
    )
    (home / "copy").mkdir()
    (home / "copy" / "letter.txt").write_text("dear")
    assert only("mirror").verdict is Verdict.WARN
    assert "holds other files (letter.txt)" in only("mirror").found
    (home / "copy" / "letter.txt").unlink()
    monkeypatch.setattr("daemon.cli.checks.memory.free_bytes", lambda _: 0)
    assert only("mirror").found.endswith("waits: the disk is nearly full")
