"""`soul mcp`: the official client over stdio, through the program, to the real door."""

import json
from pathlib import Path

from mcp import Client, types

from daemon.channels.http.mcp_server import new_server
from daemon.cli.mcp import DaemonPlace, Relay, place_in
from tests.http.daemons import HttpHome
from tests.http.machines import revoke
from tests.http.mcp_clients import TOOLS, key_for, said

NOWHERE = "http://127.0.0.1:9"  # discard; nothing listens there


async def asked(place: DaemonPlace, name: str, **given: object) -> types.CallToolResult:
    """What a call comes to, without a program of its own."""
    async with Client(new_server(Relay(place).use), cache=None) as client:
        return await client.call_tool(name, given)


async def test_without_a_daemon_without_a_key_or_over_plain_http_to_elsewhere_each_call_says_so() -> None:
    place = DaemonPlace(NOWHERE, "sk-soul-00000000-x")
    async with Client(new_server(Relay(place).use), cache=None) as client:
        assert {one.name for one in (await client.list_tools()).tools} == TOOLS
        for name in sorted(TOOLS):
            result = await client.call_tool(name, {})
            assert result.is_error
            assert said(result).startswith(f"The daemon can't be reached at {NOWHERE}")
    for env in ({}, {"SOUL_URL": NOWHERE}, {"SOUL_URL": "http://10.0.0.1:8766", "SOUL_KEY": "k"}):
        place = place_in(env, Path("/nowhere"))
        assert place.key == ""
        result = await asked(place, "recall", query="a")
        assert (result.is_error, "What to do:" in said(result)) == (True, True)


async def test_a_tools_own_refusal_and_the_doors_come_through(home: HttpHome) -> None:
    key = await key_for(home)
    place = DaemonPlace(home.now.channel.url, key)
    result = await asked(place, "context_set", key="a", version=7, data={})
    assert (result.is_error, "its version is 0" in said(result)) == (True, True)
    await revoke(home, key)
    result = await asked(place, "context_list")
    assert (result.is_error, "soul sessions keys add" in said(result)) == (True, True)
    assert key not in said(result)


def test_the_key_comes_from_the_environment_then_the_plugin_then_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"url": "https://file.example/", "key": "of-the-file"}))
    path.chmod(0o600)
    plugin = {"CLAUDE_PLUGIN_OPTION_URL": "https://plugin.example", "CLAUDE_PLUGIN_OPTION_KEY": "of-the-plugin"}
    assert place_in({}, path) == DaemonPlace("https://file.example", "of-the-file")
    assert place_in(plugin, path) == DaemonPlace("https://plugin.example", "of-the-plugin")
    both = plugin | {"SOUL_URL": "http://localhost:1", "SOUL_KEY": "of-the-environment"}
    assert place_in(both, path) == DaemonPlace("http://localhost:1", "of-the-environment")
    assert place_in({"SOUL_URL": "https://evil.example"}, path).key == "", "an address alone gets no key of the file"
    path.chmod(0o640)
    assert place_in({}, path).key == ""
    path.chmod(0o600)
    for torn in ("", "{", "[]", "[" * 100_000, '{"key": 7}'):
        path.write_text(torn)
        assert not place_in({}, path).key.startswith("of")
    assert "of-the-file" not in repr(DaemonPlace("u", "of-the-file"))
