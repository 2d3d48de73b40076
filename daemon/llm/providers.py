"""The common base of the two SDK adapters, the cache marks, and the adapter for Anthropic."""

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from msgspec.structs import replace

from daemon.core import concurrency as long_lived
from daemon.core.ports.services import Completion, Effort, Image, Message, Prompt, SystemPart
from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens
from daemon.llm import prices
from daemon.llm.answers import CallUsage, ModelId, can_be_strict, count, strict
from daemon.llm.endpoint import Client, Endpoint, SdkClient, open_http_client, schema_in_words, system_of
from daemon.llm.errors import (
    allowed_limit,
    may_refuse_schema,
    refused_feature,
    refuses_schema,
    room_left,
    translated,
)
from daemon.llm.media import seen_by
from daemon.llm.prices import ModelTraits, Thinks, room_for, traits_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic.types import RawMessageStreamEvent


_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_LOWERED: Final = 2  # times in one call, to bound the attempts at a server that refuses every limit

Event = TypeVar("Event")


class SdkAdapter(ABC, Generic[Client, Event]):
    """A `Provider` on an SDK. A subclass builds the client and the request and reads the events.

    `features` are the optional parts of a request. A feature that a model refuses is left out for that model from then
    on. A schema that is too large for it is requested in words from then on. So is one whose refusal is not understood,
    if the request without a schema succeeds. A refused output limit is lowered to the allowed one, or, for one request,
    to the rest of the context.
    """

    features: ClassVar[tuple[str, ...]]

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = SdkClient[Client](self._prepare)
        self._refused: set[tuple[str, str]] = set()
        self._too_large: set[tuple[str, str]] = set()  # schemas, by model and step
        self._limits: dict[str, int] = {}

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        client = await self._client.get()
        with translated(self._endpoint, model, self._sdk_error()):
            usage = CallUsage(model)
            async with await self._open(client, model, prompt) as events:
                async for event in events:
                    yield self._take(event, usage)
            completion = usage.completion()
        yield completion

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _open(
        self, client: Client, model: ModelId, prompt: Prompt
    ) -> AbstractAsyncContextManager[AsyncIterable[Event]]:
        """Send the request, again without each feature that the model refuses."""
        lowered, in_words, room = 0, False, None
        while True:
            body, offered = self._request(model, prompt, self._features(model, prompt, in_words=in_words))
            asked = _limit_of(body, room)
            try:
                events = await self._send(client, body)
            except self._sdk_error() as error:
                room = room_left(error, asked)
                if lowered < _LOWERED and (room is not None or self._lowers(error, model, asked)):
                    lowered += 1
                elif self._learns(error, model, prompt.step, offered):
                    continue
                elif "json_schema" in offered and may_refuse_schema(error):
                    in_words = True
                else:
                    raise
            else:
                if in_words:
                    self._too_large.add((model.name, prompt.step))
                return events

    def _features(self, model: ModelId, prompt: Prompt, *, in_words: bool) -> set[str]:
        features = {name for name in self.features if (model.name, name) not in self._refused}
        spelt = in_words or (model.name, prompt.step) in self._too_large
        return features - {"json_schema"} if spelt else features

    def _lowers(self, error: Exception, model: ModelId, asked: int) -> bool:
        if (limit := allowed_limit(error, asked)) is None:
            return False
        self._limits[model.name] = limit
        return True

    def _learns(self, error: Exception, model: ModelId, step: str, offered: set[str]) -> bool:
        """Record the feature that a refusal names, and return True if there is one."""
        if "json_schema" in offered and refuses_schema(error):
            self._too_large.add((model.name, step))
        elif (feature := refused_feature(error, offered)) is not None:
            self._refused.add((model.name, feature))
        else:
            return False
        return True

    def _traits(self, model: ModelId) -> ModelTraits:
        known = traits_of(model)
        return replace(known, max_output=min(known.max_output, self._limits.get(model.name, known.max_output)))

    def _prepare(self) -> Client:
        prices.load()
        self.load()
        client = self._connect()
        long_lived.imported()
        return client

    @staticmethod
    @abstractmethod
    def load() -> None:
        """Import all of the SDK that a call needs. Call it in a thread."""

    @abstractmethod
    def _connect(self) -> Client:
        """Build the SDK's client. Runs in a thread."""

    @abstractmethod
    def _sdk_error(self) -> type[Exception]:
        """Return the base of the SDK's errors. Called only once the SDK is imported."""

    @abstractmethod
    def _request(self, model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
        """Return the body of a request, and those of the `features` that it uses."""

    @abstractmethod
    async def _send(self, client: Client, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncIterable[Event]]:
        """Send a request. Leaving the context closes the connection."""

    @abstractmethod
    def _take(self, event: Event, usage: CallUsage) -> str:
        """Count an event's usage and return its text, or '' for events without text, such as thinking."""


def _limit_of(body: dict[str, Any], room: int | None) -> int:
    """Return the output limit of a request, lowered to `room` if given, or 0 if it has none."""
    for name in _LIMITS:
        if name in body:
            body[name] = limit = int(body[name]) if room is None else min(int(body[name]), room)
            return limit
    return 0


MOST_MARKS: Final = 4
"""Anthropic's limit for one request."""

MARK: Final = {"type": "ephemeral"}


class CacheMarks(Value):
    """The places of the system parts and of the messages at whose end a cached prefix ends."""

    system: frozenset[int] = frozenset()
    messages: frozenset[int] = frozenset()


def cache_marks(system: Sequence[SystemPart], chat: Sequence[Message], smallest: int | None) -> CacheMarks:
    """Return marks at the end of each stable part and each message worth caching; of too many, the last ones.

    A prefix of less than `smallest` tokens, by our estimate, is not marked: no provider caches it. None: no marks.
    """
    if smallest is None:
        return CacheMarks()
    ends = [part.stable for part in system] + [message.cached for message in chat]
    texts = [part.text for part in system] + [message.text for message in chat]
    places, size = [], 0
    for place, (ends_here, text) in enumerate(zip(ends, texts, strict=True)):
        size += estimate_tokens(text)
        if ends_here and size >= smallest:
            places.append(place)
    kept = places[-MOST_MARKS:]
    count = len(system)
    return CacheMarks(
        frozenset(place for place in kept if place < count),
        frozenset(place - count for place in kept if place >= count),
    )


def text_block(text: str, *, marked: bool) -> dict[str, Any]:
    """Return one block of text, as Anthropic and OpenRouter take it."""
    return {"type": "text", "text": text} | ({"cache_control": dict(MARK)} if marked else {})


_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}


class AnthropicMessages(SdkAdapter["AsyncAnthropic", "RawMessageStreamEvent"]):
    features = ("cache_marks", "effort", "images", "json_schema", "temperature", "thinking")

    @staticmethod
    def load() -> None:
        from anthropic.resources.messages import AsyncMessages  # noqa: F401 - the first request asks for it

    def _connect(self) -> "AsyncAnthropic":
        import anthropic

        return anthropic.AsyncAnthropic(
            api_key=self._endpoint.api_key.get_secret_value(),
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=None,
            http_client=open_http_client(self._endpoint),
        )

    def _sdk_error(self) -> type[Exception]:
        import anthropic

        return anthropic.AnthropicError

    async def _send(self, client: "AsyncAnthropic", body: dict[str, Any]) -> "AsyncStream[RawMessageStreamEvent]":
        stream: AsyncStream[RawMessageStreamEvent] = await client.messages.create(**body, stream=True)
        return stream

    def _request(self, model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
        traits = self._traits(model)
        thinking, room = _thinking(traits, prompt.effort, features)
        config: dict[str, object] = {}
        system, chat = system_of(prompt), seen_by(model, prompt, traits.sees and "images" in features)
        marks = cache_marks(system, chat, traits.smallest_cached if "cache_marks" in features else None)
        if prompt.json_schema is not None:
            if "json_schema" in features and can_be_strict(prompt.json_schema):
                config["format"] = {"type": "json_schema", "schema": strict(prompt.json_schema)}
            else:
                system.append(SystemPart(schema_in_words(prompt)))
        if prompt.effort is not None and traits.effort and "effort" in features:
            config["effort"] = prompt.effort.value
        body: dict[str, Any] = {
            "model": model.name,
            "max_tokens": traits.limit(prompt.max_output_tokens, thinking=room),
            "messages": [_message(each, marked=place in marks.messages) for place, each in enumerate(chat)],
        }
        if system:
            body["system"] = [text_block(part.text, marked=place in marks.system) for place, part in enumerate(system)]
        if config:
            body["output_config"] = config
        if thinking:
            body["thinking"] = thinking
        elif prompt.creativity is not None and traits.temperature and "temperature" in features:
            body["extra_body"] = {"temperature": prompt.creativity}  # only older models take it, and the SDK lacks it
        uses = {
            "cache_marks": bool(marks.system or marks.messages),
            "effort": "effort" in config,
            "images": any(each.images for each in chat),
            "json_schema": "format" in config,
            "temperature": "extra_body" in body,
            "thinking": "thinking" in body,
        }
        return body, {name for name, used in uses.items() if used}

    def _take(self, event: "RawMessageStreamEvent", usage: CallUsage) -> str:
        if event.type == "message_start":
            given = event.message.usage
            usage.tokens_cached = count(given.cache_read_input_tokens)
            usage.tokens_written = count(given.cache_creation_input_tokens)
            usage.tokens_in = count(given.input_tokens) + usage.tokens_written + usage.tokens_cached
        elif event.type == "message_delta":
            if event.delta.stop_reason is not None:
                usage.stop = _STOPS.get(event.delta.stop_reason, "end")
            usage.tokens_out = count(event.usage.output_tokens)
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            return usage.text(event.delta.text)
        return ""


def _thinking(traits: ModelTraits, effort: Effort | None, features: set[str]) -> tuple[dict[str, object], int]:
    """Return the parameter that requests thinking, if the model needs one, and the tokens that thinking may take."""
    room = room_for(effort)
    if traits.thinks is Thinks.ALWAYS:
        return {}, room
    if "thinking" not in features:
        return {}, 0
    if traits.thinks is Thinks.ASKED and effort in {Effort.MEDIUM, Effort.HIGH}:
        return {"type": "adaptive"}, room
    if traits.thinks is Thinks.BUDGET and effort is Effort.HIGH and room < traits.max_output:
        return {"type": "enabled", "budget_tokens": room}, room
    return {}, 0


def _message(message: Message, *, marked: bool) -> dict[str, Any]:
    if not marked and not message.images:
        return {"role": message.speaker.value, "content": message.text}
    pictures = [{"type": "image", "source": _source(image)} for image in message.images]
    return {"role": message.speaker.value, "content": [*pictures, text_block(message.text, marked=marked)]}


def _source(image: Image) -> dict[str, Any]:
    return {"type": "base64", "media_type": image.media_type, "data": b64encode(image.data).decode("ascii")}
