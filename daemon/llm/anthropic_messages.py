"""Claude through Anthropic's Messages API, on the official SDK.

The prompt's stable system parts end in a cache marker. Current Claude models refuse temperature, top_p and top_k, so a
step's creativity becomes effort (design, ruling 10). They may think before they speak and pay for it out of
`max_tokens`, so room for that is added on top of what the answer may take.
"""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from daemon.core.ports import Completion, Prompt
from daemon.llm.clean_text import clean
from daemon.llm.endpoint import Endpoint
from daemon.llm.errors import refused_feature, translated
from daemon.llm.http_client import open_http_client
from daemon.llm.lazy_client import LazyClient
from daemon.llm.messages import chat_of, schema_in_words
from daemon.llm.model_id import ModelId
from daemon.llm.strict_schema import can_be_strict, strict
from daemon.llm.usage import CallUsage, count

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic.types import RawMessageStreamEvent

THINKING_ROOM = 4096
"""Tokens a model may spend on hidden thinking, added to the prompt's max_output_tokens."""

_LOW_EFFORT_UP_TO = 0.35
_MEDIUM_EFFORT_UP_TO = 0.8
_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}


class AnthropicMessages:
    """A `Provider`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = LazyClient(self._connect)
        self._refused: set[tuple[str, str]] = set()

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `Provider.stream`."""
        client = await self._client.get()
        import anthropic

        with translated(self._endpoint, model, anthropic.AnthropicError):
            tally = CallUsage(model)
            async with await self._open(client, model, prompt) as events:
                async for event in events:
                    yield _take(event, tally)
            completion = tally.completion()
        yield completion

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        await self._client.close()

    def _connect(self) -> "AsyncAnthropic":
        import anthropic
        import anthropic.resources.messages  # otherwise the first request pays for it, on the event loop

        return anthropic.AsyncAnthropic(
            api_key=self._endpoint.api_key.get_secret_value(),
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=None,
            http_client=open_http_client(self._endpoint),
        )

    async def _open(
        self, client: "AsyncAnthropic", model: ModelId, prompt: Prompt
    ) -> "AsyncStream[RawMessageStreamEvent]":
        """Send the request; once more without a feature that this very model refuses."""
        import anthropic

        while True:
            features = {name for name in ("effort", "json_schema") if (model.name, name) not in self._refused}
            body, offered = _request(model, prompt, features)
            try:
                stream: AsyncStream[RawMessageStreamEvent] = await client.messages.create(**body, stream=True)
            except anthropic.APIStatusError as error:
                feature = refused_feature(error, offered)
                if feature is None:
                    raise
                self._refused.add((model.name, feature))
            else:
                return stream


def _request(model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
    """The body of a request and which of the features it makes use of."""
    system = _system(prompt)
    config: dict[str, object] = {}
    offered = set()
    if prompt.json_schema is not None:
        if "json_schema" in features and can_be_strict(prompt.json_schema):
            config["format"] = {"type": "json_schema", "schema": strict(prompt.json_schema)}
            offered.add("json_schema")
        else:
            system.append({"type": "text", "text": schema_in_words(prompt)})
    if prompt.creativity is not None and "effort" in features:
        config["effort"] = effort_for(prompt.creativity)
        offered.add("effort")
    body: dict[str, Any] = {
        "model": model.name,
        "max_tokens": prompt.max_output_tokens + THINKING_ROOM,
        "messages": [{"role": each.speaker.value, "content": each.text} for each in chat_of(prompt)],
    }
    body |= {"system": system} if system else {}
    body |= {"output_config": config} if config else {}
    return body, offered


def _system(prompt: Prompt) -> list[dict[str, Any]]:
    """The system parts in order; the last stable one carries the cache marker, which covers all before it."""
    parts = [part for part in prompt.system if part.text.strip()]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": clean(part.text)} for part in parts]
    stable = [index for index, part in enumerate(parts) if part.stable]
    if stable:
        blocks[stable[-1]]["cache_control"] = {"type": "ephemeral"}
    return blocks


def effort_for(creativity: float) -> str:
    """Effort for a temperature in 0..1: gates are quick, talk is ordinary, brainstorms may take their time."""
    if creativity <= _LOW_EFFORT_UP_TO:
        return "low"
    return "medium" if creativity <= _MEDIUM_EFFORT_UP_TO else "high"


def _take(event: "RawMessageStreamEvent", tally: CallUsage) -> str:
    """Note an event and return the text in it, if any; thinking and the like are signs of life."""
    if event.type == "message_start":
        usage = event.message.usage
        tally.tokens_cached = count(usage.cache_read_input_tokens)
        tally.tokens_in = count(usage.input_tokens) + count(usage.cache_creation_input_tokens) + tally.tokens_cached
    elif event.type == "message_delta":
        if event.delta.stop_reason is not None:
            tally.stop = _STOPS.get(event.delta.stop_reason, "end")
        tally.tokens_out = count(event.usage.output_tokens)
    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
        return tally.text(event.delta.text)
    return ""
