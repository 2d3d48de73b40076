"""Servers come and go: a dead one is started again, a broken one harms no other, no program outlives the toolbox."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from daemon.core.http import MAX_RESPONSE_BYTES
from daemon.core.ports.library import Toolbox
from daemon.tools.mcp import lines
from daemon.tools.mcp.toolbox import open_toolbox
from tests.fakes import Events, FakeClock
from tests.loopback import served
from tests.tools.conftest import Opening
from tests.tools.parts import KnownTools, failure, lives, program, use
from tests.tools.server import build
from tests.tools.serving import Receive, Scope, Send, serving_app

pytestmark = pytest.mark.slow  # most start programs


async def pid_of(toolbox: Toolbox, server: str = "shelf") -> int:
    return int((await use(toolbox, f"{server}/own_pid", {})).text)


async def test_a_broken_server_harms_no_other_and_its_stderr_is_logged(opening: Opening, events: Events) -> None:
    broken, missing = program("--broken", env={"SHELF_KEY": "sesame-3fa9"}), {"command": "no-such-program-anywhere"}
    async with opening(broken=broken, missing=missing, shelf=program()) as toolbox:
        names = {tool.name.partition("/")[0] for tool in await toolbox.tools()}
        assert names == {"shelf"}
        failed = await failure(toolbox, "broken/look_up")
    assert "can't be reached" in failed.message
    assert not failed.uncertain
    reported = {str(one["server"]): one for one in events.named("tools.server_unreachable")}
    assert reported["broken"]["stderr"] == "[31mthe shelf has fallen on [redacted]"
    assert reported["missing"]["reason"] == "no-such-program-anywhere: No such file or directory"
    assert reported["missing"]["again_in"] == 1.0


async def test_a_call_is_uncertain_when_the_server_dies_and_the_server_is_started_again_after_a_pause(
    opening: Opening, clock: FakeClock, events: Events
) -> None:
    async with opening(shelf=program()) as toolbox:
        first = await pid_of(toolbox)
        failed = await failure(toolbox, "shelf/die")
        assert failed.uncertain
        assert "Connection closed" in failed.message
        await clock.sleepers()  # it pauses
        assert await toolbox.tools() == ()
        assert not (await failure(toolbox, "shelf/write_down")).uncertain
        assert not lives(first)
        await clock.advance(1)
        await events.until("tools.server_connected", 2)
        second = await pid_of(toolbox)
    assert second != first
    assert not lives(second)
    assert events.named("tools.server_unreachable")[0]["reason"] == "it ended the connection"


async def test_pauses_grow_while_a_server_stays_broken_and_are_short_again_after_a_steady_time(
    opening: Opening, clock: FakeClock, events: Events
) -> None:
    async with opening(gone={"command": "/nowhere"}):
        for attempt, pause in enumerate((1, 2, 4, 8, 16, 32, 60, 60), 1):
            assert (await events.until("tools.server_unreachable", attempt))["again_in"] == pause
            await clock.sleepers()
            await clock.advance(pause)
    events.emitted.clear()
    async with opening(shelf=program()) as toolbox:
        await failure(toolbox, "shelf/die")
        await clock.sleepers()
        await clock.advance(1)
        await events.until("tools.server_connected", 2)
        await clock.advance(60)
        await failure(toolbox, "shelf/die")
        await clock.sleepers()
    assert [one["again_in"] for one in events.named("tools.server_unreachable")] == [1, 1]


async def test_a_server_that_never_answers_is_ended(
    opening: Opening, tmp_path: Path, clock: FakeClock, events: Events
) -> None:
    note = tmp_path / "pid"
    async with opening(silent=program("--silent", str(note))) as toolbox:
        while not note.exists():  # noqa: ASYNC110  # another process makes it
            await asyncio.sleep(0.01)
        asking = asyncio.ensure_future(toolbox.tools())
        await clock.sleepers(2)  # the limit of connecting, and the patience of who asks
        await clock.advance(10)
        assert await asking == ()
        assert not events.emitted
        await clock.advance(20)
        await events.until("tools.server_unreachable", 1)
        assert not lives(int(note.read_text()))
    assert events.named("tools.server_unreachable")[0]["reason"] == "it gave no answer in time"


@pytest.mark.parametrize("way", ["done", "raised", "cancelled"])
async def test_no_program_outlives_the_toolbox(opening: Opening, way: str) -> None:
    pids: list[int] = []
    inside = asyncio.Event()

    async def body() -> None:
        async with opening(one=program(), two=program()) as toolbox:
            pids.extend([await pid_of(toolbox, "one"), await pid_of(toolbox, "two")])
            inside.set()
            if way == "raised":
                raise LookupError("bare")
            if way == "cancelled":
                await asyncio.Event().wait()

    if way == "raised":
        with pytest.raises(LookupError, match="bare"):
            await body()
    else:
        running = asyncio.ensure_future(body())
        await inside.wait()
        if way == "cancelled":
            running.cancel()
        await asyncio.wait({running})
        assert running.cancelled() == (way == "cancelled")
    assert len(pids) == 2
    assert not [pid for pid in pids if lives(pid)]


async def test_a_second_cancellation_leaves_no_starting_program_behind(opening: Opening, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    async def body() -> None:
        async with opening(silent=program("--silent", str(note))):
            await asyncio.Event().wait()

    running = asyncio.ensure_future(body())
    while not note.exists():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(0.01)
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0.1)  # the SDK is ending the program by now
    await asyncio.wait({running})
    assert running.cancelled()
    assert not lives(int(note.read_text()))


async def test_a_call_in_progress_ends_with_the_toolbox(opening: Opening, events: Events) -> None:
    async with opening(shelf=program()) as toolbox:
        await toolbox.tools()
        calling = asyncio.ensure_future(failure(toolbox, "shelf/dawdle"))
        await events.until("tools.calling", tool="shelf/dawdle")
    assert (await calling).uncertain


async def test_a_list_that_can_not_be_fetched_again_stays_in_use(
    opening: Opening, clock: FakeClock, events: Events
) -> None:
    async with opening(shelf=program(timeout=5)) as toolbox:
        before = await toolbox.tools()
        pid = await pid_of(toolbox)
        await clock.advance(301)
        os.kill(pid, signal.SIGSTOP)
        asking = asyncio.ensure_future(toolbox.tools())
        await clock.sleepers()
        await clock.advance(5)
        assert await asking == before
        os.kill(pid, signal.SIGCONT)
    assert events.named("tools.listing_stale") == [{"server": "shelf", "reason": "it gave no answer in time"}]


async def test_without_a_list_there_are_no_tools_and_the_sdk_is_not_loaded(clock: FakeClock, events: Events) -> None:
    async with open_toolbox(None, clock, events, KnownTools()) as toolbox:
        assert await toolbox.tools() == ()
        assert "there is no tool" in (await failure(toolbox, "shelf/look_up")).message
    look = "import sys, daemon.tools.mcp.toolbox; sys.exit(bool({'mcp', 'mcp_types', 'httpx2'} & set(sys.modules)))"
    assert await (await asyncio.create_subprocess_exec(sys.executable, "-c", look)).wait() == 0


@asynccontextmanager
async def serving(port: int = 0, *, stateless: bool = False) -> AsyncIterator[tuple[int, list[str]]]:
    """The same server over streamable HTTP on loopback: its port, and the keys in the requests."""
    keys: list[str] = []
    app = build().streamable_http_app(stateless_http=stateless)

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        keys.extend(value.decode() for name, value in scope.get("headers", []) if name == b"x-key")
        await app(scope, receive, send)

    async with serving_app(noting, port) as served:
        yield served, keys


def at(port: int, **more: object) -> dict[str, object]:
    return {"url": f"http://127.0.0.1:{port}/mcp", **more}


async def test_a_server_is_reached_by_streamable_http_with_its_headers(opening: Opening) -> None:
    async with (
        serving() as (port, keys),
        opening(web=at(port, headers={"X-Key": "sesame"}, reads=["write_down"])) as toolbox,
    ):
        writes = {tool.name: tool.writes for tool in await toolbox.tools()}
        assert (writes["web/write_down"], writes["web/dawdle"]) == (False, True)
        assert (await use(toolbox, "web/look_up", {"word": "owl"})).text == "owl is a word of 3 letters"
    assert set(keys) == {"sesame"}


async def test_an_endless_answer_over_http_is_not_read_and_the_server_is_asked_again_later(
    opening: Opening, clock: FakeClock, events: Events
) -> None:
    async with serving() as (port, _), opening(web=at(port, reads=["flood"])) as toolbox:
        assert await toolbox.tools()
        await failure(toolbox, "web/flood", {"size": MAX_RESPONSE_BYTES})
        lost = await events.until("tools.server_unreachable")
        assert lost["reason"] == f"it sent more than {MAX_RESPONSE_BYTES} bytes"
        await clock.sleepers()
        await clock.advance(60)
        await events.until("tools.server_connected", 2)
        assert (await use(toolbox, "web/look_up", {"word": "ox"})).text == "ox is a word of 2 letters"


async def test_a_server_that_was_away_is_reached_again(opening: Opening, clock: FakeClock, events: Events) -> None:
    async with serving() as (port, _):
        toolboxes = opening(web=at(port))
        toolbox = await toolboxes.__aenter__()
        assert await toolbox.tools()
    try:
        failed = await failure(toolbox, "web/write_down", {"path": "/dev/null", "text": "x"})
        assert not failed.uncertain  # a tool that writes is looked up first
        async with serving(port):
            await clock.sleepers()
            await clock.advance(1)
            await events.until("tools.server_connected", 2)
            assert (await use(toolbox, "web/look_up", {"word": "ox"})).source == "web/look_up"
            await toolboxes.__aexit__(None, None, None)
    finally:
        assert len(events.named("tools.server_connected")) == 2


@pytest.mark.parametrize("path_of_it", ["/nothing-here", "/mcp"])
async def test_an_address_without_a_server_does_no_harm(opening: Opening, events: Events, path_of_it: str) -> None:
    async with serving() as (port, _):
        pass
    entry = {"url": f"http://127.0.0.1:{port}{path_of_it}?token=sesame-3fa9"}
    async with opening(web=entry) as toolbox:
        assert await toolbox.tools() == ()
    assert len(events.named("tools.server_unreachable")) == 1
    assert "sesame-3fa9" not in repr(events.emitted)


async def chatty(request: web.Request) -> web.StreamResponse:
    """A server of the protocol that lists one tool without a schema, and answers a call with notes without end."""
    message = await request.json()
    answers: dict[str, dict[str, object]] = {
        "initialize": {
            "protocolVersion": message.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "chatty", "version": "0"},
        },
        "tools/list": {"tools": [{"name": "talk", "inputSchema": {"type": "object"}}, {"name": "shapeless"}]},
    }
    if message["method"] in answers:
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]})
    if message["method"] != "tools/call":
        return web.Response(status=202 if "id" not in message else 404)
    notes = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await notes.prepare(request)
    while True:
        await notes.write(b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n\n')


@pytest.mark.parametrize(("bound", "most"), [("MOST_MESSAGES", 200), ("MOST_BYTES", 2**20)])
async def test_over_http_too_a_bad_tool_is_left_out_alone_and_a_server_that_never_answers_is_ended(
    opening: Opening, events: Events, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(lines, bound, most)
    app = web.Application()
    app.router.add_post("/mcp", chatty)
    async with served(app) as url, opening(web={"url": f"{url}/mcp"}) as toolbox:
        assert [tool.name for tool in await toolbox.tools()] == ["web/talk"]
        assert "shapeless: inputSchema: field required" in str(events.named("tools.offer_refused")[0]["tools"])
        await failure(toolbox, "web/talk")
        said = "200 messages" if bound == "MOST_MESSAGES" else "1 MiB"
        assert (await events.until("tools.server_unreachable"))["reason"] == f"it sent more than {said} and no answer"
