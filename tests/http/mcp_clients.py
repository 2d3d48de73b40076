"""The official MCP client at the door of a daemon."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

from tests.fakes import TIMEOUT
from tests.http.daemons import HttpHome, bearer
from tests.http.machines import key_of

TOOLS = {"recall", "remember", "ask_soul", "context_list", "context_get", "context_set", "sessions", "working_on"}
TOOLS |= {"notes", "answer", "say_in_thread"}


@asynccontextmanager
async def connected(home: HttpHome, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client over streamable HTTP."""
    async with connected_to(home.url(""), key, mode) as client:
        yield client


@asynccontextmanager
async def connected_to(url: str, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client over streamable HTTP, at the door at this address."""
    async with (
        httpx2.AsyncClient(headers=bearer(key), timeout=TIMEOUT) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, cache=None) as client,
    ):
        yield client


def program(home: Path, **env: str) -> StdioServerParameters:
    """`soul mcp` with nothing in its environment but this."""
    given = {"HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2]), **env}
    return StdioServerParameters(command=sys.executable, args=["-m", "daemon", "mcp"], env=given, cwd=str(home))


def said(result: types.CallToolResult) -> str:
    """The text of what a tool gave."""
    return "".join(one.text for one in result.content if isinstance(one, types.TextContent))


async def key_for(home: HttpHome, person: str = "UADA", *, remember: bool = True) -> str:
    """A new key whose sessions may have texts kept."""
    return await key_of(home, person, remember=remember)
