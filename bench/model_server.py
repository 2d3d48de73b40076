"""A scripted model behind OpenAI's Chat Completions protocol on loopback; it notes when it was asked and answered."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from aiohttp import web

from daemon.core.clock import SystemClock

_HUNG: Final = 3600.0
_CHARACTERS_PER_TOKEN: Final = 4
MODEL: Final = "openai/loopback"


class Answering(Protocol):
    """Makes the answers of a scripted model."""

    def answer(self, body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
        """The text of the answer to a request, and the usage to be reported, if any."""


@dataclass(slots=True)
class ModelServer:
    """Answers with `pieces`, `pause` seconds apart; while `hung` it never begins. Moments are in epoch ms.

    With a `thinker` it answers as that does, and reports its token counts. It keeps the output limit of the request.
    """

    clock: SystemClock
    url: str = ""
    pieces: Sequence[str] = ()
    pause: float = 0.0
    hung: bool = False
    thinker: Answering | None = None
    asked_at: list[int] = field(default_factory=list)
    said_at: list[dict[str, int]] = field(default_factory=list)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings that make a daemon use it."""
        models = dict.fromkeys(("SOUL_PERSONA_MODEL", "SOUL_THINKING_MODEL"), MODEL)
        return {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "sk-loopback", **models}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        body = await request.json()
        self.asked_at.append(self.clock.now_ms())
        said: dict[str, int] = {}
        self.said_at.append(said)
        if self.hung:
            await self.clock.sleep(_HUNG)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        pieces, usage = self.pieces, None
        if self.thinker is not None:
            text, usage = self.thinker.answer(body)
            pieces = text.splitlines(keepends=True)
        room = _CHARACTERS_PER_TOKEN * int(body.get("max_completion_tokens") or body["max_tokens"])
        for piece in pieces:
            await self.clock.sleep(self.pause)
            said.setdefault(piece, self.clock.now_ms())
            await response.write(_frame({"content": piece[: max(0, room)]}))
            room -= len(piece)
        await response.write(_frame({}, "stop" if room >= 0 else "length") + _usage(usage) + b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """A running model server on a free port of 127.0.0.1."""
    server = ModelServer(SystemClock())
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def _frame(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _chunk(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])


def _usage(usage: Mapping[str, object] | None) -> bytes:
    return b"" if usage is None else _chunk(choices=[], usage=usage)


def _chunk(**parts: object) -> bytes:
    head = {"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 0, "model": "loopback"}
    return b"data: " + json.dumps(head | parts).encode() + b"\n\n"
