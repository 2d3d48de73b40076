"""The companion as a session runs it: it serves MCP, waits at a real door, and ends with the session."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from mcp import Client as McpClient
from mcp import StdioServerParameters

from daemon.cli.mcp import mcp_reference
from tests.fakes import TIMEOUT
from tests.hooks.client import Client
from tests.hooks.companion import SessionProcess, companioned
from tests.http.conftest import empty, home
from tests.http.daemons import HttpHome
from tests.http.machines import key_of, revoke
from tests.http.mcp_clients import TOOLS, said

__all__ = ("empty", "home")
HOOKS = Path(__file__).parents[2] / "hooks"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
async def client(home: HttpHome, tmp_path: Path) -> Client:
    return Client(tmp_path / "user", home.url(""), await key_of(home, remember=True))


async def row(home: HttpHome, session: str = "s1") -> dict[str, object]:
    return next((one for one in (await home.get("/api/sessions")).json if one["id"] == session), {})


async def until(home: HttpHome, name: str, value: object, session: str = "s1") -> None:
    """Wait for a field of a session; a row of memory.db has no events to wait on."""
    async with asyncio.timeout(TIMEOUT):
        while (await row(home, session)).get(name) != value:  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.01)


def test_what_it_says_of_the_tools_without_a_daemon_is_what_a_daemon_says_and_the_plugin_names_it() -> None:
    written = (HOOKS / "tools.json").read_text(encoding="utf-8")
    assert written == mcp_reference(), "write what daemon.cli.mcp.mcp_reference() returns into hooks/tools.json"
    server = json.loads((HOOKS / ".mcp.json").read_text())["mcpServers"]["soul"]
    assert [server["command"], *server["args"]] == ["python3", "-I", "-S", "${CLAUDE_PLUGIN_ROOT}/companion.py"]
    assert server["env"] == {
        "CLAUDE_PLUGIN_OPTION_URL": "${user_config.url}",
        "CLAUDE_PLUGIN_OPTION_KEY": "${user_config.key}",
    }


async def _says(session: SessionProcess, wanted: str) -> None:
    """Wait until its calls come from this session: what is said there is a talk of its own."""
    async with asyncio.timeout(TIMEOUT):
        while "No one asks" not in (await session.use("notes"))[0]:
            pass
    text, refused = await session.use("ask_soul", message="hello", id=f"m-{wanted}")
    assert (text, refused) == ("Echo: hello", False)


async def test_a_session_is_there_with_its_companion_whose_calls_name_it_also_after_clear_and_gone_with_it(
    home: HttpHome, client: Client
) -> None:
    async with companioned(client) as session:
        begun = await session.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
        assert begun["result"]["protocolVersion"] == "2025-06-18"
        assert {one["name"] for one in (await session.call("tools/list"))["result"]["tools"]} == TOOLS
        assert (await session.use("notes"))[1], "its session is not known yet"
        await client.report("SessionStart", source="startup")
        await until(home, "reach", "now")
        await _says(session, "s1")
        text, refused = await session.use("recall")
        assert (text.startswith("query: Field required."), refused) == (True, True)
        await client.report("SessionEnd", reason="clear")
        await client.report("SessionStart", source="clear", session_id="s2")
        await until(home, "reach", "now", "s2")
        await _says(session, "s2")
        assert (await row(home))["reach"] == "none"
        await session.kill()
        await until(home, "state", "gone", "s2")
    assert (await row(home, "s2"))["reason"] == "process"
    talks = await home.database.rows("SELECT conversation FROM inbox")
    assert {row_["conversation"].rpartition(":")[2] for row_ in talks} == {"s1", "s2"}


async def test_without_a_daemon_each_call_says_so_and_its_input_alone_ends_it(client: Client) -> None:
    client.env["SOUL_URL"] = NOWHERE
    async with companioned(client) as session:
        assert (await session.call("initialize", protocolVersion="1"))["result"]["protocolVersion"] == "2025-11-25"
        assert {one["name"] for one in (await session.call("tools/list"))["result"]["tools"]} == TOOLS
        for name in sorted(TOOLS):
            text, refused = await session.use(name)
            assert (text.startswith(f"The daemon can't be reached at {NOWHERE}"), refused) == (True, True)
        assert "soul run" in text
        for line in (b"", b"{", b"[" * 10_000, b"\xff\xfe", b"7", b"[]", b'{"method": "x"}', b'{"id": 1}'):
            await session.send(line)
            assert (await session.call("ping"))["result"] == {}, line[:40]
        assert (await session.call("server/discover"))["error"]["code"] == -32601
        assert (await session.call("tools/call", name=["x"], arguments=7))["result"]["isError"]
        assert session._running is not None
        assert session._running.stdin is not None
        session._running.stdin.close()
        async with asyncio.timeout(TIMEOUT):
            assert await session._running.wait() == 0
    assert client.kept == []


async def test_a_daemon_that_comes_back_finds_it_again(home: HttpHome, client: Client) -> None:
    port = int(home.url("").rpartition(":")[2])
    async with companioned(client) as session:
        await client.report("SessionStart", source="startup")
        await until(home, "reach", "now")
        await home.now.stop()
        text, refused = await session.use("context_list")
        assert ("soul run" in text, refused) == (True, True)
        await home.start(http_port=port)
        await until(home, "reach", "now")
        assert (await session.use("context_list"))[1] is False


async def test_without_a_key_or_with_one_that_ended_each_call_says_what_to_do(home: HttpHome, client: Client) -> None:
    key = client.env.pop("SOUL_KEY")
    async with companioned(client) as session:
        text, refused = await session.use("context_list")
        assert ("There is no key" in text, refused) == (True, True)
    client.env["SOUL_KEY"] = key
    await revoke(home, key)
    async with companioned(client) as session:
        text, refused = await session.use("context_list")
        assert ("keys add" in text, refused, key in text) == (True, True, False)
        begun = await session.call("tools/list")
        assert {one["name"] for one in begun["result"]["tools"]} == TOOLS


async def test_babble_in_place_of_a_daemon_is_said_in_a_sentence(client: Client) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    client.env["SOUL_URL"] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with companioned(client) as session:
        text, refused = await session.use("context_list")
        assert (text, refused) == ("The daemon answered with status 200. What to do: see its log.", True)
    server.close()


async def test_the_official_client_uses_it(home: HttpHome, client: Client) -> None:
    async with companioned(client):
        pass  # which lays out the copy
    program = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-S", str(client.home / "companion.py")],
        env=client.env,
        cwd=str(client.home),
    )
    async with McpClient(program, cache=None) as official:
        assert {one.name for one in (await official.list_tools()).tools} == TOOLS
        result = await official.call_tool("context_list", {})
        assert (result.is_error, json.loads(said(result))) == (False, [])
