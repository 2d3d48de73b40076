"""Model ids, model servers on this machine, strict JSON schemas, and the token counts of one call."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from daemon.core.config import Settings
from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.core.http import UNCOMPRESSED, OversizedResponseError, bound_responses, is_loopback
from daemon.core.ports.services import Completion
from daemon.core.value import Value

if TYPE_CHECKING:
    import httpx2


ECHO: Final = "placeholder/echo"
"""The model of a daemon without a configured model: it repeats the user's message."""

REHEARSAL: Final = "placeholder/rehearsal"
"""The model whose thoughts follow the lines of a message, to try a mind without a language model."""


class Vendor(StrEnum):
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENROUTER = "openrouter"
    GROQ = "groq"
    OLLAMA = "ollama"
    LOCAL = "local"
    EXTENSION = "extension"
    PLACEHOLDER = "placeholder"


class ModelId(Value):
    """A parsed id: `full` as in the settings, `name` as in the vendor's API."""

    full: str
    vendor: Vendor
    name: str


def parse_model_id(text: str) -> ModelId:
    """Split `groq/…`, `anthropic/…` and so on. An id with another prefix belongs to OpenRouter and stays whole."""
    prefix, slash, name = text.strip().partition("/")
    if slash and name and prefix in set(Vendor) - {Vendor.OPENROUTER}:
        return ModelId(text.strip(), Vendor(prefix), name)
    return ModelId(text.strip(), Vendor.OPENROUTER, text.strip())


_PATIENCE_S: Final = 1.5  # seconds for all servers, which are asked concurrently
_MOST_MODELS: Final = 500
_LONGEST_ID: Final = 200  # characters
_NO_TALKER: Final = re.compile(
    r"embed|rerank|bge-|whisper|(?:^|[-_/])(?:tts|clip|guard|ocr)(?:$|[-_:.])", re.IGNORECASE
)
_ELSEWHERE: Final = re.compile(r"[-:]cloud$", re.IGNORECASE)  # Ollama runs these at its maker's servers


class ModelServer(Value):
    """A program that may serve models on this machine. `url` is the base URL of OpenAI's protocol there."""

    name: str
    vendor: Vendor
    url: str


class NearbyModel(Value):
    """A model that was found. `full` is its prefixed id."""

    server: ModelServer
    name: str

    @property
    def full(self) -> str:
        return f"{self.server.vendor}/{self.name}"

    @property
    def where(self) -> str:
        return f"{self.server.name} at {urlsplit(self.server.url).netloc}"

    def speaking(self, settings: Settings) -> Settings:
        address = "ollama_url" if self.server.vendor is Vendor.OLLAMA else "local_url"
        return settings.model_copy(update={"persona_model": self.full, address: self.server.url})


def model_servers(settings: Settings) -> tuple[ModelServer, ...]:
    """Return the servers to ask, in order: those of the settings, then the usual ports, all on loopback."""
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
    """Return the first chat model of the first server that has one, or None within two seconds.

    The servers are asked for their list of models only (`GET /v1/models`), at loopback addresses, without proxies or
    redirects. Models that a server forwards to its maker are left out.
    """
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


_KEPT = ("type", "enum", "const", "$ref", "description")
_BRANCHES = ("anyOf", "oneOf", "allOf")

# Constraints that the APIs refuse go into the description; the caller still validates the answer.
_DESCRIBED = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
)


def strict(schema: Mapping[str, object]) -> dict[str, object]:
    """Return a strict copy: `oneOf` becomes `anyOf`, constraints that the APIs refuse move into the description.

    Source: Anthropic and OpenAI, structured outputs, supported schemas.
    """
    out: dict[str, object] = {key: schema[key] for key in _KEPT if key in schema}
    if constraints := ", ".join(f"{key}: {schema[key]}" for key in _DESCRIBED if key in schema):
        out["description"] = f"{out.get('description', '')} ({constraints})".strip()
    for key in _BRANCHES:
        if isinstance(branches := schema.get(key), list):
            out["anyOf" if key == "oneOf" else key] = [_sub(each) for each in branches]
    if isinstance(definitions := schema.get("$defs"), Mapping):
        out["$defs"] = {name: _sub(each) for name, each in definitions.items()}
    if "items" in schema:
        out["items"] = _sub(schema["items"])
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties")
        named = dict(properties) if isinstance(properties, Mapping) else {}
        out["properties"] = {name: _sub(each) for name, each in named.items()}
        out["required"] = list(named)
        out["additionalProperties"] = False
    return out


def can_be_strict(schema: Mapping[str, object]) -> bool:
    """Return True if the strict copy means the same. Maps with free keys and tuples have no strict form."""
    return not any(_is_open(each) for each in _walk(schema))


def _is_open(schema: Mapping[str, object]) -> bool:
    free = schema.get("additionalProperties", False) is not False or "patternProperties" in schema
    shapeless = schema.get("type") == "object" and "properties" not in schema
    return free or shapeless or "prefixItems" in schema or not schema


def _walk(schema: object) -> Iterator[Mapping[str, object]]:
    """Yield the schema and every schema inside it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("$defs", "properties"):
        if isinstance(named := schema.get(key), Mapping):
            yield from chain.from_iterable(_walk(each) for each in named.values())
    for key in _BRANCHES:
        if isinstance(branches := schema.get(key), list):
            yield from chain.from_iterable(_walk(each) for each in branches)
    yield from _walk(schema.get("items"))


def _sub(schema: object) -> object:
    return strict(schema) if isinstance(schema, Mapping) else schema


@dataclass(slots=True)
class CallUsage:
    """The token counts of one call. SDKs don't validate what they stream, and every value's type is checked here.

    `stop` is `end`, `length` or `refusal`, and None until the provider gives the reason.
    """

    model: ModelId
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_written: int = 0
    tokens_out: int = 0
    stop: str | None = None
    has_text: bool = False

    def text(self, value: object) -> str:
        """Return a piece of the answer, '' for None. Raises TypeError for any other type."""
        if value is None:
            return ""
        if not isinstance(value, str):
            raise TypeError(f"a piece of text arrived as {type(value).__name__}")
        self.has_text = self.has_text or bool(value)
        return value

    def completion(self) -> Completion:
        """Return the call's Completion.

        Raises ModelUnavailable for an answer that broke off, ModelRefused if the model declined without any text.
        """
        if self.stop is None:
            raise ModelUnavailable(f"{self.model.full} broke off in the middle of its answer", hint="try again")
        if self.stop == "refusal" and not self.has_text:
            raise ModelRefused(f"{self.model.full} declined to answer", hint="word the request differently")
        return Completion(
            self.model.full, self.tokens_in, self.tokens_cached, self.tokens_out, self.stop, self.tokens_written
        )


def count(value: object) -> int:
    """Return a number of tokens, or 0 if the provider sent none or an invalid value."""
    return value if isinstance(value, int) and value > 0 else 0
