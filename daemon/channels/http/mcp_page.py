"""The route of MCP: checks the body and hands it to the SDK, which is imported beside the event loop."""

import json
from importlib import import_module

from aiohttp import web

from daemon.channels.http.auth import OWNER
from daemon.channels.http.field_faults import no_json
from daemon.channels.http.mcp_tools import SessionTools
from daemon.channels.http.request_body import read_raw
from daemon.core.concurrency import in_background


class McpPage:
    """The handler of MCP. May raise Refusal."""

    def __init__(self, tools: SessionTools) -> None:
        self._tools = tools

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one message of MCP."""
        body = await read_raw(request)
        try:
            json.loads(body)  # the SDK's own reader meets no body that breaks it
        except (ValueError, RecursionError):
            raise no_json() from None
        server = await in_background(lambda: import_module("daemon.channels.http.mcp_server"))
        response: web.StreamResponse = await server.answer(request, body, self._tools, request[OWNER])
        return response
