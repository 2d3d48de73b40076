"""Every tool that sessions get, by the official client over both transports, with good arguments and with bad ones.

`ask_soul` takes a daemon whose channel is the door: tests/http/test_mcp.py and test_mcp_stdio.py.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client

from tests.hooks.client import Client as HookClient
from tests.http.mcp_clients import TOOLS, connected_to, program, said
from tests.journeys.asking import asks, door, new_key
from tests.journeys.binding import HEAD, bound_thread
from tests.journeys.house import House
from tests.journeys.house import said as shown

BAD: dict[str, tuple[dict[str, object], ...]] = {
    "recall": ({}, {"query": ""}, {"query": "a\x00b"}, {"query": "x" * 1_001}, {"query": "a", "limit": 0}),
    "remember": ({}, {"text": " "}, {"text": "x" * 4_001}, {"text": "a", "session": "ben-web"}),
    "ask_soul": ({}, {"message": ""}, {"message": "x" * 8_001}, {"message": "a", "session": "ben-web"}),
    "context_list": ({"key": "a"},),
    "context_get": ({}, {"key": "../etc"}, {"key": "a\x00"}, {"key": "имя"}, {"key": 7}),
    "context_set": (
        {"key": "launch", "data": {}},
        {"key": "launch", "version": 9, "data": {}},
        {"key": "launch", "version": -1, "data": {}},
        {"key": "launch", "version": 1, "data": []},
        {"key": "launch", "version": 1, "data": {"a": "x" * 17_000}},
        {"key": "souls", "version": 0, "data": {}},
    ),
    "sessions": ({"who": "ada"},),
    "working_on": ({"who": ""}, {"who": "nobody"}, {"who": 7}),
    "notes": ({}, {"session": "ben-web"}, {"session": "x" * 81}),
    "answer": (
        {"session": "ada-api", "note": "NT_none", "text": "x"},
        {"session": "ada-api", "note": "NT_none", "text": ""},
        {"session": "ben-web", "note": "NT_none", "text": "x"},
        {"session": "ada-api", "note": "NT_none", "text": "x" * 16_001},
    ),
    "say_in_thread": (
        {"session": "ben-web", "text": "x"},
        {"session": "ada-api", "text": "a\x00b"},
        {"session": "ada-api", "text": "x" * 4_001},
        {"session": "ada-api", "text": "x", "id": "../x"},
    ),
}


@asynccontextmanager
async def connected(transport: str, home: Path, url: str, key: str) -> AsyncIterator[Client]:
    """The official client, at the door or at `soul mcp`."""
    if transport == "http":
        async with connected_to(url, key) as client:
            yield client
        return
    async with Client(program(home, SOUL_URL=url, SOUL_KEY=key), mode="legacy", cache=None) as client:
        yield client


async def used(client: Client, name: str, **given: object) -> str:
    """What a tool gives."""
    result = await client.call_tool(name, given)
    assert not result.is_error, said(result)
    return said(result)


async def refused(client: Client, name: str, given: dict[str, object]) -> None:
    """A tool does nothing, and says why and what to do instead."""
    result = await client.call_tool(name, given)
    assert result.is_error, (name, given)
    assert "What to do:" in said(result), (name, given)
    assert len(said(result)) < 1_000


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_each_tool_does_its_work_and_refuses_what_is_wrong(house: House, tmp_path: Path, transport: str) -> None:
    async with door(house) as url:
        key = await new_key(house, remember=True)
        await HookClient(tmp_path / "api", url, key).report("SessionStart", source="startup")
        await asks(house, "Ada")
        async with connected(transport, tmp_path, url, key) as client:
            assert {one.name for one in (await client.list_tools()).tools} == TOOLS == BAD.keys()
            note = (await used(client, "notes", session="ada-api")).removeprefix("Note ").partition(",")[0]
            assert "once" not in await used(client, "answer", session="ada-api", note=note, text="It is 0042_tenants.")
            await house.reply("general", "0042_tenants")
            await bound_thread(house)
            assert await used(client, "say_in_thread", session="ada-api", text="The build is green.", id="b1")
            assert await used(client, "say_in_thread", session="ada-api", text="The build is green.", id="b1")
            assert shown(await house.reply("general", "is green")) == f"{HEAD}\n\nThe build is green."
            assert "kept" in await used(client, "remember", text="The harbour is nine metres deep.")
            assert await used(client, "recall", query="harbour")
            written = json.loads(await used(client, "context_set", key="launch", version=0, data={"left": 2}))
            assert json.loads(await used(client, "context_get", key="launch")) == written
            assert json.loads(await used(client, "context_list")) == [written]
            assert [one["name"] for one in json.loads(await used(client, "sessions"))] == ["ada-api"]
            assert [one["name"] for one in json.loads(await used(client, "working_on", who="Ada"))] == ["ada-api"]
            for name, wrong in BAD.items():
                for given in wrong:
                    await refused(client, name, given)
            assert json.loads(await used(client, "context_get", key="launch")) == written
        await house.idle()
    green = [one for one in await house.replies("general") if "is green" in one]
    assert len(green) == 1, "the same id says nothing twice"
