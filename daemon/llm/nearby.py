"""Finds a model on this machine for the first minute, at the usual ports of Ollama, llama.cpp, LM Studio and vLLM.

Each is asked for its list of models (`GET /v1/models`, OpenAI's protocol) and for nothing else. Addresses beyond
loopback are never asked, no proxy and no redirect is followed, and models that run at a server's maker are left out.
"""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from daemon.core.bounded_http import UNCOMPRESSED, OversizedResponseError, bound_responses
from daemon.core.config import Settings
from daemon.core.network import is_loopback
from daemon.llm.model_id import Vendor

if TYPE_CHECKING:
    import httpx2

_PATIENCE_S: Final = 1.5  # for all servers, which are asked at once
_MOST_MODELS: Final = 500
_LONGEST_ID: Final = 200  # characters
_NO_TALKER: Final = re.compile(
    r"embed|rerank|bge-|whisper|(?:^|[-_/])(?:tts|clip|guard|ocr)(?:$|[-_:.])", re.IGNORECASE
)
_ELSEWHERE: Final = re.compile(r"[-:]cloud$", re.IGNORECASE)  # Ollama runs these at its maker's, not here


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A program that may serve models on this machine; `url` is the base of OpenAI's protocol there."""

    name: str
    vendor: Vendor
    url: str


@dataclass(frozen=True, slots=True)
class NearbyModel:
    """A model that was found; `full` is its prefixed id."""

    server: ModelServer
    name: str

    @property
    def full(self) -> str:
        """Its id as in the settings."""
        return f"{self.server.vendor}/{self.name}"

    @property
    def where(self) -> str:
        """The program and its address, for people."""
        return f"{self.server.name} at {urlsplit(self.server.url).netloc}"

    def speaking(self, settings: Settings) -> Settings:
        """The settings with which this model speaks and thinks."""
        address = "ollama_url" if self.server.vendor is Vendor.OLLAMA else "local_url"
        return settings.model_copy(update={"persona_model": self.full, address: self.server.url})


def model_servers(settings: Settings) -> tuple[ModelServer, ...]:
    """Whom to ask, in this order: what the settings name, then the usual ports; only addresses on this machine."""
    known = (
        ModelServer("Ollama", Vendor.OLLAMA, settings.ollama_url),
        ModelServer("a model server", Vendor.LOCAL, settings.local_url),
        ModelServer("llama.cpp", Vendor.LOCAL, "http://127.0.0.1:8080/v1"),
        ModelServer("LM Studio", Vendor.LOCAL, "http://127.0.0.1:1234/v1"),
        ModelServer("vLLM", Vendor.LOCAL, "http://127.0.0.1:8000/v1"),
    )
    by_url = {one.url.rstrip("/"): one for one in known if is_loopback(urlsplit(one.url).hostname or "")}
    return tuple(by_url.values())


async def find_model(settings: Settings) -> NearbyModel | None:
    """The first model that talks, of the first server that has one; None, within two seconds, where there is none."""
    import httpx2

    servers = model_servers(settings)
    async with (
        httpx2.AsyncClient(
            timeout=httpx2.Timeout(_PATIENCE_S),
            follow_redirects=False,
            trust_env=False,
            headers=UNCOMPRESSED,
            event_hooks={"response": [bound_responses()]},
        ) as client,
        asyncio.TaskGroup() as group,
    ):
        asked = [(server, group.create_task(_models_of(client, server))) for server in servers]
    return next((NearbyModel(server, name) for server, names in asked for name in names.result()), None)


async def _models_of(client: "httpx2.AsyncClient", server: ModelServer) -> tuple[str, ...]:
    """The names of the models that talk; none where nobody listens, or something else does."""
    import httpx2

    try:
        async with asyncio.timeout(_PATIENCE_S):
            answer = await client.get(f"{server.url.rstrip('/')}/models")
            listed = answer.json() if answer.status_code == httpx2.codes.OK else None
    except (httpx2.HTTPError, httpx2.InvalidURL, OversizedResponseError, TimeoutError, ValueError, RecursionError):
        return ()
    entries = listed.get("data") if isinstance(listed, dict) else None
    return tuple(_talkers(entries)) if isinstance(entries, list) else ()


def _talkers(entries: list[Any]) -> Iterable[str]:
    for entry in entries[:_MOST_MODELS]:
        name = entry.get("id") if isinstance(entry, dict) else None
        if (
            not isinstance(name, str)
            or not 0 < len(name) <= _LONGEST_ID
            or not name.isascii()
            or not name.isprintable()
        ):
            continue
        if " " not in name and not _NO_TALKER.search(name) and not _ELSEWHERE.search(name):
            yield name
