"""`soul tools`, and what the doctor and the status say of MCP servers and of what the service lets them reach."""

import json
from pathlib import Path

import pytest

from daemon.cli.checks import Finding, Verdict, examine
from daemon.cli.checks.machine import start_files
from daemon.cli.checks.tools import service
from daemon.cli.installing import ServiceUnit
from daemon.core.config import load_settings
from daemon.core.errors import ConfigError
from daemon.tools.mcp.server_config import StdioServer, read_servers
from tests.cli.conftest import as_json, call
from tests.cli.stocked import NOW, insert, stock

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def path(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three tools of one server: one reads, one writes, one that read has changed."""
    servers = home / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"shelf": {"command": "shelf-server"}}}))
    servers.chmod(0o600)
    monkeypatch.setenv("SOUL_MCP_SERVERS", str(servers))
    made = stock(home / "memory.db")
    for name, offered, writes, changed in (("look", "f1", 0, None), ("write", "f1", 1, None), ("odd", "f2", 0, NOW)):
        row = {"soul": "minoan", "server": "shelf", "name": f"shelf/{name}", "accepted": "f1", "offered": offered}
        insert(made, "tools", **row, writes=writes, changed_ms=changed)
    return made


def warnings(name: str) -> list[Finding]:
    """The doctor's warnings and failures of one name."""
    return [one for one in examine(offline=True) if one.name == name and one.verdict in (Verdict.WARN, Verdict.FAIL)]


@pytest.mark.usefixtures("path")
def test_a_changed_tool_is_shown_everywhere_until_it_is_accepted() -> None:
    lines = call("tools", "list").stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["shelf/odd", "minoan", "asks"],
        ["shelf/look", "minoan", "reads"],
        ["shelf/write", "minoan", "asks"],
    ]
    assert [one["name"] for one in as_json("tools", "list") if one["changed_ms"]] == ["shelf/odd"]
    assert "shelf/odd changed" in call("status").stdout
    assert as_json("status")["changed_tools"] == ["shelf/odd"]
    (finding,) = warnings("tools")
    assert finding.fix.endswith("soul tools accept shelf/odd")
    assert call("tools", "accept", "shelf/odd").exit_code == 0
    assert warnings("tools") == []
    assert "shelf/odd" not in call("status").stdout
    refused = call("tools", "accept", "shelf/none")
    assert refused.exit_code != 0


@pytest.mark.usefixtures("path")
def test_tools_that_write_without_approvers_are_a_warning(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = warnings("approvers")
    assert "tools of shelf change things" in finding.found
    with monkeypatch.context() as patch:
        patch.setenv("SOUL_APPROVERS", "U1")
        assert warnings("approvers") == []
    entry = {"command": "shelf-server", "approvers": ["U1"]}
    (home / "servers.json").write_text(json.dumps({"mcpServers": {"shelf": entry}}))
    assert warnings("approvers") == []


def test_files_that_others_may_read_are_warnings(path: Path, home: Path) -> None:
    for one in (path, home / "servers.json"):
        one.chmod(0o600)
    (home / "backups").mkdir(mode=0o700)
    (home / ".env").touch(mode=0o600)
    assert warnings("privacy") == []
    for name, wide, narrow in ((".env", 0o644, 0o600), ("servers.json", 0o644, 0o600), ("backups", 0o755, 0o700)):
        file = home / name
        file.chmod(wide)
        (finding,) = warnings("privacy")
        assert (str(file) in finding.found, finding.fix.startswith("chmod ")) == (True, True), name
        file.chmod(narrow)
    (home / "servers.json").chmod(0o666)
    (refused,) = warnings("tools")
    assert (refused.verdict, "may be written by other users" in refused.found) == (Verdict.FAIL, True)


def test_a_file_that_runs_at_each_start_and_belongs_to_no_package_is_a_warning(tmp_path: Path) -> None:
    assert start_files().verdict is Verdict.OK
    (tmp_path / "zz_helper.pth").write_text("import os")
    finding = start_files([str(tmp_path)])
    assert (finding.verdict, "zz_helper.pth" in finding.found) == (Verdict.WARN, True)


def test_the_doctor_names_what_the_service_hides_and_forbids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = tmp_path / "soul.service"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("npx", "shelf"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("SOUL_LIBRARY", "/home/ada/documents,/srv/documents")
    settings = load_settings()
    servers = {
        "noted": StdioServer(command=str(programs / "npx"), args=("-y", "notes")),
        "shelf": StdioServer(command=str(programs / "shelf")),
    }
    monkeypatch.setattr("daemon.cli.checks.tools._HOMES", (Path("/home"), programs))
    for kind in ("soul.service", "soul-system.service"):
        unit.write_text((REPOSITORY / "systemd" / kind).read_text())
        found = [one.found for one in service(settings, servers, [ServiceUnit(unit)])]
        assert found == [
            "it can't see the library folder /home/ada/documents",
            f"it can't see {programs}/npx, the program of the MCP server noted",
            f"{programs}/npx, the program of the MCP server noted, ends at once: it may not compile in memory",
            f"it can't see {programs}/shelf, the program of the MCP server shelf",
        ], kind
    (tmp_path / "soul.service.d").mkdir()
    conf = (REPOSITORY / "systemd/tools.conf").read_text() + f"BindReadOnlyPaths=%h/documents {programs}\n"
    (tmp_path / "soul.service.d" / "tools.conf").write_text(conf)
    for kind in ("soul.service", "soul-system.service"):
        unit.write_text((REPOSITORY / "systemd" / kind).read_text())
        assert service(settings, servers, [ServiceUnit(unit)]) == [], kind
    assert service(settings, servers, []) == []


def test_keys_of_servers_may_lie_in_files_and_in_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("sesame-1\n")
    (tmp_path / "tools_shelf").write_text("sesame-2\n")
    listing = tmp_path / "servers.json"
    entries = {
        "shelf": {"command": "x", "env": {"A": "b"}, "env_files": {"KEY": str(tmp_path / "key"), "OTHER": "shelf"}},
        "web": {"url": "https://x.example", "header_files": {"Authorization": "shelf"}},
    }
    listing.write_text(json.dumps({"mcpServers": entries}))
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    servers = read_servers(listing)
    assert set(servers["shelf"].secrets) == {"b", "sesame-1", "sesame-2"}
    assert "sesame-2" in servers["web"].secrets
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    monkeypatch.setenv("SOUL_MCP_SERVERS", str(listing))
    listing.chmod(0o600)
    assert warnings("tools") == [], "the doctor, outside the service, has no credentials"
    with pytest.raises(ConfigError, match=r"env_files\.OTHER: tools_shelf can't be read: no such file"):
        read_servers(listing)
