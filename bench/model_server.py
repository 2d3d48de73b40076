"""A scripted model behind both vendors' protocols on loopback; it notes when it was asked and answered."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from aiohttp import web

from bench.protocols import PROTOCOLS, VendorProtocol
from daemon.core.ports.services import SystemClock
from tests.loopback import served

_HUNG: Final = 3600.0
_CHARACTERS_PER_TOKEN: Final = 4
MODEL: Final = "openai/loopback"


class Answering(Protocol):
    """Makes the answers of a scripted model."""

    def answer(self, body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
        """The text of the answer to a request, and the usage to be reported, if any; both as in Chat Completions."""


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
        return self.settings_for(MODEL, MODEL)

    def settings_for(self, persona: str, thinking: str) -> Mapping[str, str]:
        """The settings that make a daemon use it as these models, of OpenAI's or of Anthropic's."""
        models = {"SOUL_PERSONA_MODEL": persona, "SOUL_THINKING_MODEL": thinking}
        if persona.startswith("anthropic/"):
            return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-loopback", **models}
        return {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "sk-loopback", **models}

    async def answer(self, protocol: VendorProtocol, request: web.Request) -> web.StreamResponse:
        """POST to the path of a protocol."""
        body = protocol.as_chat(await request.json())
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
        with suppress(ConnectionError):  # the daemon cuts an answer that leads to another process
            await response.write(protocol.opening(usage))
            for piece in pieces:
                await self.clock.sleep(self.pause)
                said.setdefault(piece, self.clock.now_ms())
                await response.write(protocol.piece(piece[: max(0, room)]))
                room -= len(piece)
            await response.write(protocol.closing(usage, whole=room >= 0))
        return response


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """A running model server on a free port of 127.0.0.1."""
    server = ModelServer(SystemClock())
    app = web.Application(client_max_size=64 << 20)
    for protocol in PROTOCOLS:
        app.router.add_post(protocol.path, partial(server.answer, protocol))
    async with served(app) as url:
        server.url = url
        yield server
