"""The vendors' addresses and keys, their HTTP clients, and the clean texts of a prompt."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace
from pydantic import SecretStr

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.core.http import UNCOMPRESSED, bound_responses, is_loopback
from daemon.core.ports.services import LLM, Completion, Message, Prompt, Speaker, SystemPart
from daemon.core.text import storable
from daemon.core.value import Value
from daemon.llm.answers import ECHO, REHEARSAL, ModelId, Vendor

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI


class Provider(Protocol):
    """A wire protocol without retries, deadlines or limits."""

    def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """Yield text as it arrives, then exactly one Completion.

        An empty string is a sign of life while the model thinks. Closing the generator, or cancelling the task that
        waits on it, closes the connection. Raises ModelUnavailable (also for an answer that broke off) or ModelRefused
        (also if the model declined before its first text; after that the Completion's `stop` is `refusal`).
        """

    async def aclose(self) -> None:
        """Close all connections. Calls in progress fail."""


class ClosableLLM(LLM, Protocol):
    """An `LLM` that may hold connections."""

    async def aclose(self) -> None: ...


class ProviderExtension(Value):
    """The object behind an entry point of `soul_daemon.providers`. `open` makes the provider at its first call."""

    open: Callable[[], Provider]


def provider_named(model: ModelId) -> ProviderExtension:
    """Return the provider of a model. Raises ConfigError."""
    name, slash, rest = model.name.partition("/")
    if not (name and slash and rest):
        raise ConfigError(f"{model.full} names no model of a provider", hint="write extension/NAME/MODEL")
    try:
        found = extension(ExtensionGroup.PROVIDER, name)
    except ExtensionFault as fault:
        raise ConfigError(f"{model.full}: {fault.message}", hint=fault.hint) from fault
    if not isinstance(found, ProviderExtension):
        what = f"{name!r} is a {type(found).__name__}, no ProviderExtension"
        raise ConfigError(f"{model.full}: {what}", hint="see docs/EXTENDING.md")
    return found


class Endpoint(Value):
    """One vendor's address and key. `key_variable` is empty for vendors that need no key."""

    vendor: Vendor
    base_url: str
    api_key: SecretStr
    key_variable: str
    url_variable: str

    @property
    def on_loopback(self) -> bool:
        return is_loopback(urlsplit(self.base_url).hostname or "")


def endpoint_for(settings: Settings, model: ModelId) -> Endpoint:
    """Return the endpoint of a model's vendor. Raises ConfigError, with the variable's name if the key is not set.

    A model of another package has no address; ConfigError then names the package's error.
    """
    if model.vendor is Vendor.EXTENSION:
        provider_named(model)
    if model.vendor is Vendor.PLACEHOLDER and model.full not in {ECHO, REHEARSAL}:
        raise ConfigError(f"there is no model {model.full}", hint=f"the placeholders are {ECHO} and {REHEARSAL}")
    url, key, key_variable, url_variable = _endpoints(settings)[model.vendor]
    if key is None:
        raise ConfigError(
            f"{model.full} needs a key, and {key_variable} is not set",
            hint=f"set {key_variable}, or choose another model in SOUL_PERSONA_MODEL and SOUL_THINKING_MODEL",
        )
    return Endpoint(model.vendor, url, key, key_variable, url_variable)


def _endpoints(settings: Settings) -> dict[Vendor, tuple[str, SecretStr | None, str, str]]:
    return {
        Vendor.ANTHROPIC: (
            settings.anthropic_base_url,
            settings.anthropic_api_key,
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
        ),
        Vendor.OPENAI: (settings.openai_base_url, settings.openai_api_key, "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        Vendor.OPENROUTER: (
            settings.openrouter_url,
            settings.openrouter_api_key,
            "OPENROUTER_API_KEY",
            "SOUL_OPENROUTER_URL",
        ),
        Vendor.GROQ: (settings.groq_url, settings.groq_api_key, "GROQ_API_KEY", "SOUL_GROQ_URL"),
        # The client library requires a key; servers on this machine ignore it.
        Vendor.OLLAMA: (settings.ollama_url, SecretStr("ollama"), "", "SOUL_OLLAMA_URL"),
        Vendor.LOCAL: (settings.local_url, SecretStr("local"), "", "SOUL_LOCAL_URL"),
        Vendor.EXTENSION: ("", SecretStr(""), "", ""),
        Vendor.PLACEHOLDER: ("", SecretStr(""), "", ""),
    }


_HIGH_SURROGATES = ("\ud800", "\udbff")


class PieceCleaner:
    """The cleaner of a text that arrives in pieces. It joins surrogate pairs that are split over two pieces."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Take the next piece and return the text that is complete now. May be empty."""
        text = self._half + piece
        self._half = ""
        if text and _HIGH_SURROGATES[0] <= text[-1] <= _HIGH_SURROGATES[1]:
            text, self._half = text[:-1], text[-1]
        return clean(text)

    def flush(self) -> str:
        rest, self._half = self._half, ""
        return clean(rest)


def clean(text: str) -> str:
    """Return the text without NULs, as UTF-8 can hold it."""
    return storable(text.replace("\0", ""))


_LISTENER: Final[ContextVar[Callable[[], None] | None]] = ContextVar("listener", default=None)


@contextmanager
def listening(hear: Callable[[], None]) -> Iterator[None]:
    """Call `hear` at each piece of an HTTP answer that this task reads within the block."""
    token = _LISTENER.set(hear)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def heard() -> None:
    """Call the listener, since bytes have come."""
    if (hear := _LISTENER.get()) is not None:
        hear()


_CONNECT_SECONDS = 10.0


def load_http() -> None:
    """Import the modules of a client's first request: its transport, its backend, the certificates."""
    for name in ("httpcore2", "httpx2", "truststore", "anyio._backends._asyncio"):
        import_module(name)


def open_http_client(endpoint: Endpoint) -> "httpx2.AsyncClient":
    """Return a client for one endpoint. Reads have no timeout here: `daemon.llm.resilience` has the deadlines.

    Redirects are not followed: they would send prompts to a host that is not configured.
    """
    import httpx2

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=not endpoint.on_loopback,
        headers=UNCOMPRESSED,
        event_hooks={"response": [bound_responses(on_chunk=lambda _: heard())]},
    )


_EARLIER = Message(Speaker.USER, "(The conversation began earlier.)")
_SILENCE = Message(Speaker.USER, "(Nothing new was said.)")


def chat_of(prompt: Prompt) -> list[Message]:
    """Return the prompt's messages. APIs refuse blank ones, and newer ones refuse an assistant's message at the end."""
    cleaned = [replace(each, text=clean(each.text)) for each in prompt.messages]
    messages = [each for each in cleaned if each.text.strip()]
    if messages and messages[0].speaker is not Speaker.USER:
        messages.insert(0, _EARLIER)
    if not messages or messages[-1].speaker is not Speaker.USER:
        messages.append(_SILENCE)
    return messages


def system_of(prompt: Prompt) -> list[SystemPart]:
    """Return the prompt's system parts, cleaned. A cache mark on a blank part is refused too."""
    cleaned = [replace(each, text=clean(each.text)) for each in prompt.system]
    return [each for each in cleaned if each.text.strip()]


def schema_in_words(prompt: Prompt) -> str:
    """Return the instruction that replaces structured output for a back-end without it."""
    schema = clean(json.dumps(prompt.json_schema, ensure_ascii=False))  # in the order of the requested fields
    return f"Answer with one JSON value that fits this JSON Schema, without a code fence or any other word:\n{schema}"


Client = TypeVar("Client", bound="AsyncAnthropic | AsyncOpenAI")


class SdkClient(Generic[Client]):
    """A client that `connect` builds, in a thread, at the first use."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._client: Client | None = None
        self._connecting = asyncio.Lock()

    async def get(self) -> Client:
        """Return the client, which all uses share."""
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
            return self._client

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()


def openai_client(endpoint: Endpoint, *, timeout: float | None) -> "AsyncOpenAI":
    """Return a client of OpenAI's SDK without retries. Imports the SDK; call it in a thread."""
    import openai

    return openai.AsyncOpenAI(
        api_key=endpoint.api_key.get_secret_value(),
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=timeout,
        http_client=open_http_client(endpoint),
    )
