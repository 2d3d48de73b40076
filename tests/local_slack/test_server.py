"""Starting and stopping a workspace, its page, its own process, and many messages at once."""

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from daemon.core.errors import ConfigError
from daemon.local_slack.__main__ import main
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.local_slack.stock import HANG
from tests.workspace_client import WorkspaceClient


async def test_a_port_or_an_address_that_cannot_be_bound_is_a_clear_error(
    server: WorkspaceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server.url.rpartition(":")[2]
    with pytest.raises(ConfigError, match="SOUL_WORKSPACE_PORT"):
        await serve_workspace(port=int(port)).__aenter__()
    monkeypatch.setattr("daemon.local_slack.server.HOST", "192.0.2.1")
    with pytest.raises(ConfigError, match="can't listen"):
        await serve_workspace().__aenter__()


async def test_the_page_is_served_and_no_file_outside_its_folder(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    async with serve_workspace(page=page) as server, aiohttp.ClientSession() as http:

        async def get(path: str) -> tuple[int, str]:
            async with http.get(server.url + path, headers={"Authorization": f"Bearer {server.key}"}) as response:
                return response.status, await response.text()

        assert "not installed" in (await get("/"))[1]
        (page / "index.html").write_text("<h1>hello</h1>")
        (page / "app.js").write_text("1")
        assert await get("/") == (200, "<h1>hello</h1>")
        assert await get("/app.js") == (200, "1")
        assert (await get("/missing.js"))[0] == 404
        assert (await get("/%2e%2e/secret.txt"))[0] == 404


async def test_as_its_own_process_it_prints_its_address_and_stops_on_sigterm() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon.local_slack", "--bot-token", "xoxb-given"), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    address = json.loads(await asyncio.wait_for(process.stdout.readline(), HANG))
    assert (address["bot_token"], address["team"]) == ("xoxb-given", "T0LOCAL")
    async with WorkspaceClient(address["page_url"]) as people:
        await people.say("Ada", "dm", "hello")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), HANG) == 0


def test_a_process_whose_port_is_taken_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["--port", str(taken.getsockname()[1])]) == 2
    assert "in use" in capsys.readouterr().err


async def test_stopping_ends_feeds_and_sockets() -> None:
    async with aiohttp.ClientSession() as http:
        async with serve_workspace() as server:
            api = AsyncWebClient(token=server.bot_token, base_url=server.api_url)
            opened = await api.apps_connections_open(app_token=server.app_token)
            connection = await http.ws_connect(str(opened["url"]))
            assert (await connection.receive_json(timeout=HANG))["type"] == "hello"
            feed = await http.get(f"{server.url}/_control/events", headers={"Authorization": f"Bearer {server.key}"})
            await feed.content.readuntil(b"\n\n")
        assert (await connection.receive(timeout=HANG)).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        assert await feed.content.read() is not None
