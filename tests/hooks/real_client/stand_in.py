"""A loopback stand-in of Anthropic's Messages API, as far as the real client needs it."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.loopback import served

Block = dict[str, Any]
_USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}


class StandIn:
    """Answers by `says`, or by a call of a tool where that is in `uses` for words that came since its last answer.

    What contains `holds_at` is answered only after `go_on`; `held` says that such a request is there, and `left` that
    the client has given it up.
    """

    def __init__(self) -> None:
        self.url = ""
        self.says = "Hello from the stand-in."
        self.bodies: list[dict[str, Any]] = []
        self.uses: dict[str, tuple[str, dict[str, Any]]] = {}
        self.holds_at = "HOLD"
        self.go_on, self.held, self.left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def messages(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        if self.holds_at in _newest(body):
            self.held.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.left.set()
                raise
        block, stop = self._answer(body)
        begun = {
            "id": f"msg_{secrets.token_hex(10)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "stop_sequence": None,
            "usage": _USAGE,
        }
        if not body.get("stream"):
            return web.json_response({**begun, "content": [block], "stop_reason": stop})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for name, data in _pieces(begun, block, stop):
            await response.write(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode())
        return response

    async def other(self, request: web.Request) -> web.Response:
        return web.json_response({"input_tokens": 42} if request.path.endswith("count_tokens") else {})

    def _answer(self, body: dict[str, Any]) -> tuple[Block, str]:
        said = _newest(body)
        called = any(one["type"] == "tool_result" for one in _blocks(body))
        wanted = [use for words, use in self.uses.items() if words in said]
        if wanted and body.get("tools") and not called:
            (tool, given), name = wanted[0], f"toolu_{secrets.token_hex(10)}"
            return {"type": "tool_use", "name": tool, "input": given, "id": name}, "tool_use"
        return {"type": "text", "text": self.says}, "end_turn"


def _blocks(body: dict[str, Any]) -> list[Block]:
    """What came since the last answer; some of it under the role `system`."""
    found: list[Block] = []
    for one in reversed(body["messages"]):
        if one["role"] == "assistant":
            break
        content = one["content"]
        found[:0] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return found


def _newest(body: dict[str, Any]) -> str:
    return "\n".join(one["text"] for one in _blocks(body) if one["type"] == "text")


def _pieces(begun: Block, block: Block, stop: str) -> list[tuple[str, Block]]:
    if block["type"] == "text":
        empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        ("message_start", {"message": {**begun, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": empty}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}}),
        ("message_stop", {}),
    ]


@asynccontextmanager
async def standing_in() -> AsyncIterator[StandIn]:
    """A stand-in that listens until the block ends."""
    made = StandIn()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/messages", made.messages)
    app.router.add_route("*", "/{tail:.*}", made.other)
    async with served(app) as url:
        made.url = url
        yield made
