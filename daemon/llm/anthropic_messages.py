"""Claude through Anthropic's Messages API, on the official SDK.

What a model takes stands in the table of models: newer ones think by themselves, take an effort and refuse a
temperature; older ones think when asked to, and take a temperature while they don't. Thinking counts towards
`max_tokens`, so room for it is added to what the answer may take. Cache marks stand at the ends of what is sent again.
"""

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from daemon.core.ports.models import Effort, Image, Message, Prompt, SystemPart
from daemon.llm.cache_marks import cache_marks, text_block
from daemon.llm.eyes import seen_by
from daemon.llm.http_client import open_http_client
from daemon.llm.messages import schema_in_words, system_of
from daemon.llm.model_id import ModelId
from daemon.llm.model_traits import ModelTraits, Thinks, room_for
from daemon.llm.sdk_adapter import SdkAdapter
from daemon.llm.strict_schema import can_be_strict, strict
from daemon.llm.usage import CallUsage, count

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic.types import RawMessageStreamEvent

_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}


class AnthropicMessages(SdkAdapter["AsyncAnthropic", "RawMessageStreamEvent"]):
    """A `Provider` for Anthropic's models."""

    features = ("cache_marks", "effort", "images", "json_schema", "temperature", "thinking")

    @staticmethod
    def load() -> None:
        """See `SdkAdapter.load`."""
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
            body["extra_body"] = {"temperature": prompt.creativity}  # older models alone take it, and the SDK no more
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
    """The parameter that asks for thinking, where a model has to be asked, and the tokens that thinking may take."""
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
