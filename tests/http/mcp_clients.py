"""The official MCP client at the door of a daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client

from tests.fakes import TIMEOUT
from tests.http.daemons import HttpHome, bearer
from tests.http.machines import key_of

TOOLS = {"recall", "remember", "ask_soul", "context_list", "context_get", "context_set", "sessions", "working_on"}
TOOLS |= {"notes", "answer", "say_in_thread"}


@asynccontextmanager
async def connected(home: HttpHome, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client over streamable HTTP."""
    async with (
        httpx2.AsyncClient(headers=bearer(key), timeout=TIMEOUT) as http,
        Client(streamable_http_client(home.url("/mcp"), http_client=http), mode=mode, cache=None) as client,
    ):
        yield client


def said(result: types.CallToolResult) -> str:
    """The text of what a tool gave."""
    return "".join(one.text for one in result.content if isinstance(one, types.TextContent))


async def key_for(home: HttpHome, person: str = "UADA", *, remember: bool = True) -> str:
    """A new key whose sessions may have texts kept."""
    return await key_of(home, person, remember=remember)
