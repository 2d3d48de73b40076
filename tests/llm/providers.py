"""Loopback servers that speak the vendors' protocols, scripted answer by answer."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from aiohttp import web

from daemon.core.value import Value
from tests.loopback import served

KEY = "sk-local-0123456789abcdef"


class Ending(Enum):
    PROPER = auto()
    SILENT = auto()  # the connection stays open and nothing more comes
    CUT = auto()  # the connection is reset
    EARLY = auto()  # the response ends well-formed, but without the protocol's last event
    ERROR_EVENT = auto()  # an error inside the stream
    ENDLESS = auto()  # the last piece is repeated until the client hangs up
    ON_DEMAND = auto()  # each item put into the server's `drops` is sent: a piece, or bytes as they are


@dataclass(frozen=True)
class Answer:
    """One scripted answer; `raw` replaces the protocol's frames, `chunk` cuts them into so many bytes a write."""

    pieces: tuple[str, ...] = ("one ", "two ", "three")
    ending: Ending = Ending.PROPER
    stop: str = "end"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "asked for"
    kind: str = "api_error"
    raw: bytes | None = None
    chunk: int = 0
    gate: asyncio.Event | None = None


class ReceivedRequest(Value):
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class VendorServer:
    """The base of both servers: their answers, the requests, and events for an arrival and a hang-up."""

    name = ""

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.usual = Answer()
        self.asked: list[ReceivedRequest] = []
        self.models: tuple[str, ...] = ()
        self.looked_up: list[str] = []
        self.drops: asyncio.Queue[str | bytes] = asyncio.Queue()
        self.arrived, self.hung_up = asyncio.Event(), asyncio.Event()
        self.sent_bytes = 0
        self.url = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["VendorServer"]:
        """Serve on a free port of the loopback interface."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        async with served(app) as url:
            self.url = url + self.base_path
            yield self

    base_path = ""

    def opening(self) -> list[bytes]:
        return []

    def piece(self, text: str) -> bytes:
        raise NotImplementedError

    def closing(self, answer: Answer) -> list[bytes]:
        raise NotImplementedError

    def error_body(self, answer: Answer) -> dict[str, object]:
        raise NotImplementedError

    def error_event(self) -> bytes:
        raise NotImplementedError

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            self.looked_up.append(request.path)
            return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})
        self.asked.append(ReceivedRequest(request.path, dict(request.headers), await request.json()))
        self.arrived.set()
        answer = self.script.popleft() if self.script else self.usual
        if answer.gate is not None:
            await answer.gate.wait()
        if answer.status != 200:
            return web.json_response(self.error_body(answer), status=answer.status, headers=dict(answer.headers))
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **answer.headers})
        await response.prepare(request)
        try:
            await self._send(request, response, answer)
        except (ConnectionError, asyncio.CancelledError):
            self.hung_up.set()
            raise
        return response

    async def _send(self, request: web.Request, response: web.StreamResponse, answer: Answer) -> None:
        frames = [*self.opening(), *map(self.piece, answer.pieces)] if answer.raw is None else [answer.raw]
        for frame in frames:
            await self._write(response, frame, answer.chunk)
        if answer.ending is Ending.CUT and request.transport is not None:
            request.transport.abort()
        if answer.ending is Ending.PROPER and answer.raw is None:
            for frame in self.closing(answer):
                await self._write(response, frame, answer.chunk)
        async for frame in self._unusual_ending(answer):
            await self._write(response, frame, answer.chunk)

    async def _unusual_ending(self, answer: Answer) -> AsyncIterator[bytes]:
        match answer.ending:
            case Ending.SILENT:
                await asyncio.Event().wait()
            case Ending.ERROR_EVENT:
                yield self.error_event()
            case Ending.ENDLESS:
                while True:
                    yield self.piece(answer.pieces[-1])
            case Ending.ON_DEMAND:
                while True:
                    drop = await self.drops.get()
                    yield drop if isinstance(drop, bytes) else self.piece(drop)

    async def _write(self, response: web.StreamResponse, frame: bytes, chunk: int) -> None:
        for part in _chunks(frame, chunk or len(frame)):
            await response.write(part)
            self.sent_bytes += len(part)


class AnthropicServer(VendorServer):
    name = "anthropic"
    _stops = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}  # noqa: RUF012 - a constant

    def opening(self) -> list[bytes]:
        usage = {
            "input_tokens": 7,
            "cache_creation_input_tokens": 100,
            "cache_read_input_tokens": 2000,
            "output_tokens": 1,
        }
        message: dict[str, object] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
        message |= {"content": []} | {"stop_reason": None, "stop_sequence": None, "usage": usage}
        block = {"index": 0, "content_block": {"type": "text", "text": ""}}
        return [_event("message_start", message=message), _event("content_block_start", **block), _event("ping")]

    def piece(self, text: str) -> bytes:
        return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def closing(self, answer: Answer) -> list[bytes]:
        delta = {"stop_reason": self._stops[answer.stop], "stop_sequence": None}
        return [
            _event("content_block_stop", index=0),
            _event("message_delta", delta=delta, usage={"output_tokens": 30}),
            _event("message_stop"),
        ]

    def error_body(self, answer: Answer) -> dict[str, object]:
        return {"type": "error", "error": {"type": answer.kind, "message": answer.message}}

    def error_event(self) -> bytes:
        return _event("error", error={"type": "overloaded_error", "message": "Overloaded"})


class OpenAIServer(VendorServer):
    name = "openai"
    base_path = "/v1"
    _stops = {"end": "stop", "length": "length", "refusal": "content_filter"}  # noqa: RUF012 - a constant

    def piece(self, text: str) -> bytes:
        return _chunk(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": None}])

    def closing(self, answer: Answer) -> list[bytes]:
        usage: dict[str, object] = {"prompt_tokens": 2107, "completion_tokens": 30, "total_tokens": 2137}
        usage["prompt_tokens_details"] = {"cached_tokens": 2000}
        last = [{"index": 0, "delta": {}, "finish_reason": self._stops[answer.stop]}]
        return [_chunk(choices=last), _chunk(choices=[], usage=usage), b"data: [DONE]\n\n"]

    def error_body(self, answer: Answer) -> dict[str, object]:
        return {"error": {"message": answer.message, "type": answer.kind, "code": None}}

    def error_event(self) -> bytes:
        return b"data: " + json.dumps({"error": {"message": "Overloaded", "type": "server_error"}}).encode() + b"\n\n"


def _event(name: str, **data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data}, ensure_ascii=False)}\n\n".encode()


def _chunk(**data: object) -> bytes:
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**base, **data}, ensure_ascii=False).encode() + b"\n\n"


def _chunks(frame: bytes, size: int) -> Iterator[bytes]:
    return (frame[start : start + size] for start in range(0, len(frame), size))
