"""A scripted model behind OpenAI's Chat Completions protocol on loopback; it notes when it was asked and spoke."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from daemon.clock import SystemClock

_HUNG: Final = 3600.0
MODEL: Final = "openai/loopback"


@dataclass(slots=True)
class ModelServer:
    """`pieces` are what it says next, `pause` seconds apart; a `hung` one never begins. Moments are in epoch ms."""

    clock: SystemClock
    url: str = ""
    pieces: Sequence[str] = ()
    pause: float = 0.0
    hung: bool = False
    asked_at: list[int] = field(default_factory=list)
    said_at: list[dict[str, int]] = field(default_factory=list)

    @property
    def settings(self) -> Mapping[str, str]:
        """What a daemon needs to be told in order to think with it."""
        return {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "sk-loopback", "SOUL_PERSONA_MODEL": MODEL}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        await request.read()
        self.asked_at.append(self.clock.now_ms())
        said: dict[str, int] = {}
        self.said_at.append(said)
        if self.hung:
            await self.clock.sleep(_HUNG)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for piece in self.pieces:
            await self.clock.sleep(self.pause)
            said.setdefault(piece, self.clock.now_ms())
            await response.write(_frame({"content": piece}))
        await response.write(_frame({}, "stop") + b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """A model at work on a free port of 127.0.0.1."""
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


def tagged(reply: str, thought: str = "They want an answer.") -> str:
    """A proper answer to the one step of an ordinary reply."""
    return (
        "<stimulus_verb>asked</stimulus_verb>\n"
        f'<internal_monologue verb="noticed">{thought}</internal_monologue>\n'
        f'<external_dialogue verb="said">{reply}</external_dialogue>\n'
        "<user_model_check>false</user_model_check>\n<soul_state_check>false</soul_state_check>"
    )


def _frame(delta: dict[str, str], finish: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-loopback",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "loopback",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
