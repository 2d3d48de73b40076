"""Serves an ASGI application on loopback in the process of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

Scope = MutableMapping[str, Any]  # as ASGI has it
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@asynccontextmanager
async def serving_app(app: App, port: int = 0) -> AsyncIterator[int]:
    """The application, at the port that it gives."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        task = asyncio.ensure_future(server._serve([listening]))  # serve() would take over the signals
        while not server.started:  # noqa: ASYNC110  # uvicorn tells it in no other way
            await asyncio.sleep(0.01)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task
