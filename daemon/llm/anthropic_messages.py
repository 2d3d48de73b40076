"""Claude through Anthropic's Messages API, on the official SDK.

The last stable system part carries a cache marker. Current Claude models refuse temperature, top_p and top_k, so a
step's creativity becomes effort. They may think before they answer, and thinking counts towards `max_tokens`, so room
for it is added to what the answer may take.
"""

from typing import TYPE_CHECKING, Any

from daemon.core.ports import Prompt
from daemon.llm.clean_text import clean
from daemon.llm.http_client import open_http_client
from daemon.llm.messages import chat_of, schema_in_words
from daemon.llm.model_id import ModelId
from daemon.llm.sdk_adapter import SdkAdapter
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


class AnthropicMessages(SdkAdapter["AsyncAnthropic", "RawMessageStreamEvent"]):
    """A `Provider` for Anthropic's models."""

    features = ("effort", "json_schema")

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

    def _sdk_error(self) -> type[Exception]:
        import anthropic

        return anthropic.AnthropicError

    async def _send(self, client: "AsyncAnthropic", body: dict[str, Any]) -> "AsyncStream[RawMessageStreamEvent]":
        stream: AsyncStream[RawMessageStreamEvent] = await client.messages.create(**body, stream=True)
        return stream

    def _request(self, model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
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

    def _take(self, event: "RawMessageStreamEvent", usage: CallUsage) -> str:
        if event.type == "message_start":
            given = event.message.usage
            usage.tokens_cached = count(given.cache_read_input_tokens)
            usage.tokens_in = count(given.input_tokens) + count(given.cache_creation_input_tokens) + usage.tokens_cached
        elif event.type == "message_delta":
            if event.delta.stop_reason is not None:
                usage.stop = _STOPS.get(event.delta.stop_reason, "end")
            usage.tokens_out = count(event.usage.output_tokens)
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            return usage.text(event.delta.text)
        return ""


def _system(prompt: Prompt) -> list[dict[str, Any]]:
    """The system parts in order; the last stable one carries the cache marker, which covers all before it."""
    parts = [part for part in prompt.system if part.text.strip()]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": clean(part.text)} for part in parts]
    stable = [index for index, part in enumerate(parts) if part.stable]
    if stable:
        blocks[stable[-1]]["cache_control"] = {"type": "ephemeral"}
    return blocks


def effort_for(creativity: float) -> str:
    """Effort for a temperature in 0..1: yes-or-no questions are quick, talk is ordinary, brainstorms take longer."""
    if creativity <= _LOW_EFFORT_UP_TO:
        return "low"
    return "medium" if creativity <= _MEDIUM_EFFORT_UP_TO else "high"
