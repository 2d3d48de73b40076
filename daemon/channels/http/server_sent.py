"""Server-sent events (HTML): their form, and how they are written to a client that may leave or stop reading."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from aiohttp import web
from pydantic import BaseModel

from daemon.core.ports.telemetry import Emit

BEAT: Final = 5.0  # seconds between two keep-alives
_SLOWEST: Final = 30.0  # seconds that one write to the client may take


def server_sent(name: str, event: BaseModel) -> bytes:
    """An event as bytes; lone surrogates become question marks."""
    data = json.dumps(event.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
    return f"event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")


async def send_events(
    request: web.Request, pieces: AsyncGenerator[bytes, None], emit: Emit, **about: object
) -> web.StreamResponse:
    """Write the pieces until they end or the client is gone; `about` are fields of what is logged of it."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    try:
        await response.prepare(request)
        async with aclosing(pieces) as left:
            async for piece in left:
                async with asyncio.timeout(_SLOWEST):
                    await response.write(piece)
        await response.write_eof()
    except ConnectionError:
        emit("http.reader_left", **about)
    except TimeoutError:
        emit("http.reader_stuck", seconds=_SLOWEST, **about)
        if request.transport is not None:
            request.transport.abort()
    return response
