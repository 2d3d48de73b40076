"""The list of servers: valid entries, and all errors at once, with their place and without secrets."""

import json
from pathlib import Path

import pytest

from daemon.core.errors import ConfigError
from daemon.tools.mcp.server_config import SIZE_CAP, HttpServer, StdioServer, read_servers
from tests.tools.parts import listing


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        read_servers(path)
    assert str(path) in refused.value.message
    assert refused.value.hint
    return refused.value.message


def test_programs_and_addresses_are_read_and_all_errors_reported_at_once(tmp_path: Path) -> None:
    path = listing(
        tmp_path,
        files={"command": "npx", "args": ["-y", "server"], "env": {"ROOT": "/srv"}, "cwd": "/srv", "reads": ["list"]},
        web={
            "url": "https://tools.example/mcp",
            "headers": {"Authorization": "Bearer x"},
            "timeout": 5,
            "type": "http",
        },
    )
    assert read_servers(path) == {
        "files": StdioServer(
            command="npx", args=("-y", "server"), env={"ROOT": "/srv"}, cwd=Path("/srv"), reads=("list",)
        ),
        "web": HttpServer(url="https://tools.example/mcp", headers={"Authorization": "Bearer x"}, timeout=5),
    }
    path = listing(
        tmp_path,
        **{
            "bad/name": {"command": "x"},
            "both": {"command": "x", "url": "https://x"},
            "neither": {"args": []},
            "text": "npx server",
            "typo": {"command": "x", "arg": []},
            "kinds": {"command": "", "args": "x", "env": {"A": 1}, "timeout": 0},
            "address": {"url": "ftp://x", "headers": {"A b": "x", "B": "x\r\nC: y"}},
            "mixed": {"url": "https://x", "args": []},
            "clear": {"url": "http://tools.example/mcp"},
            "who": {"command": "x", "approvers": ["Ben"]},
            "filled": {"command": "x", "env": {"K": "${TOKEN}"}},
            "headed": {"url": "https://x", "headers": {"Authorization": "Bearer ${TOKEN:-none}"}},
            "placed": {"url": "https://${HOST}/mcp"},
            "older": {"url": "https://x/sse", "type": "sse"},
        },
    )
    message = refusal(path)
    for place in (
        "'bad/name' can't be a server's name",
        "both: must have either",
        "neither: must have either",
        "text: must have either",
        "typo: arg: extra inputs",
        "kinds: command:",
        "kinds: args:",
        "kinds: env.A:",
        "kinds: timeout:",
        "address: url: has an invalid form",
        "address: headers.A b.[key]: has an invalid form",
        "address: headers.B: has an invalid form",
        "mixed: args: extra inputs",
        "clear: url: value error, must begin with https://",
        "who: approvers.0: has an invalid form",
        "filled: env.K: value error, ${TOKEN} is not filled in here; write the value, or name its file in env_files",
        "headed: headers.Authorization: value error, ${TOKEN} is not filled in here",
        "placed: url: value error, ${HOST} is not filled in here",
        "older: type: value error, must be http; for sse give the server's address of streamable HTTP",
    ):
        assert place in message


def test_a_list_that_others_could_have_written_is_refused_and_values_that_may_be_keys_are_never_repeated(
    tmp_path: Path,
) -> None:
    message = refusal(
        listing(
            tmp_path,
            a={"url": "sesame-1", "headers": {"A": "sesame-2\n"}, "command2": "sesame-3", "timeout": "sesame-4"},
        )
    )
    assert "sesame" not in message
    text = json.dumps({"theme": "dark", "mcpServers": {}})
    (tmp_path / "servers.json").write_text(f"\ufeff{text}", encoding="utf-8")
    assert read_servers(tmp_path / "servers.json") == {}
    path = listing(tmp_path, clock={"command": "clock-server"})
    path.chmod(0o646)
    assert "may be written by other users" in refusal(path)


def test_a_file_that_is_no_list_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    for content, message in (
        (b"{", "not valid JSON"),
        (b'{"mcpServers": {"a": {"command": "x"}, }}', "line 1, column"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"[]", "no section 'mcpServers'"),
        (b'{"mcpServers": []}', "no section 'mcpServers'"),
        (b'{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "'a' twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b" " * (SIZE_CAP + 1), "larger than 256 KiB"),
    ):
        path.write_bytes(content)
        assert message in refusal(path)
    assert "no such file" in refusal(tmp_path / "nowhere.json")
    assert "directory" in refusal(tmp_path)
