"""The adapter for OpenAI's Chat Completions protocol: OpenAI, OpenRouter, Groq, Ollama and others."""

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from daemon.core.ports.services import Image, Message, Prompt, SystemPart
from daemon.llm.answers import CallUsage, ModelId, Vendor, can_be_strict, count, strict
from daemon.llm.endpoint import openai_client, schema_in_words, system_of
from daemon.llm.media import seen_by
from daemon.llm.prices import ModelTraits, Thinks, room_for
from daemon.llm.providers import CacheMarks, SdkAdapter, cache_marks, text_block

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

_Chunk = dict[str, Any]
_QWENS_SAMPLING: Final = {"top_p": 0.8, "top_k": 20}  # recommended by its makers (seed 000)
_STOPS = {"length": "length", "content_filter": "refusal"}


class ChatCompletions(SdkAdapter["AsyncOpenAI", "_Chunk"]):
    """A `Provider` for every vendor but Anthropic. It bypasses the SDK's request and chunk models, which are slow.

    These back-ends cache prompt prefixes by themselves, and the system parts only have to keep their order. OpenAI is
    sent a cache key for prompts with the same beginning. The few models behind OpenRouter that want cache marks receive
    them. A model that takes an effort is sent no temperature. Without JSON by schema the schema is requested in words.
    Without a system role the system message opens the first user message.
    """

    features = (
        *("cache_key", "cache_marks", "effort", "images", "json_schema"),
        *("old_limit", "system_role", "temperature", "usage"),
    )

    @staticmethod
    def load() -> None:
        from openai import AsyncOpenAI, AsyncStream, OpenAIError  # noqa: F401 - a call asks for them

    def _connect(self) -> "AsyncOpenAI":
        return openai_client(self._endpoint, timeout=None)

    def _sdk_error(self) -> type[Exception]:
        import openai

        return openai.OpenAIError

    async def _send(self, client: "AsyncOpenAI", body: dict[str, Any]) -> "AsyncStream[Any]":
        from openai import AsyncStream

        return await client.post(
            "/chat/completions",
            body={**body, "stream": True},
            options={"security": {"bearer_auth": True}},  # else the SDK would also accept an administrator's key
            cast_to=object,
            stream=True,
            stream_cls=AsyncStream[object],
        )

    def _request(self, model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
        traits, system = self._traits(model), system_of(prompt)
        chat = seen_by(model, prompt, traits.sees and "images" in features)
        marks = cache_marks(system, chat, traits.smallest_cached if "cache_marks" in features else None)
        offered = {"cache_marks"} if marks.system or marks.messages else set()
        if any(each.images for each in chat):
            offered.add("images")
        body = _limit(model, prompt, traits, old_name="old_limit" in features)
        if "max_tokens" in body:
            offered.add("old_limit")
        if prompt.json_schema is not None:
            if "json_schema" in features and can_be_strict(prompt.json_schema):
                form = {"name": _schema_name(prompt.step), "schema": strict(prompt.json_schema), "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": form}
                offered.add("json_schema")
            else:
                system.append(SystemPart(schema_in_words(prompt)))
        if system and "system_role" in features:
            offered.add("system_role")
        elif system:  # the first message is always a user's
            chat[0] = replace(chat[0], text="\n\n".join([*(part.text for part in system), chat[0].text]))
            system = []
        more, used = _optional(model, prompt, traits, features)
        messages = [
            *_opening(system, marks),
            *(_message(each, place in marks.messages) for place, each in enumerate(chat)),
        ]
        return body | more | {"model": model.name, "messages": messages}, offered | used

    def _take(self, chunk: _Chunk, usage: CallUsage) -> str:
        if (used := chunk.get("usage")) is not None:  # the last chunk has the usage and no choices
            details = used.get("prompt_tokens_details") or {}
            usage.tokens_in = count(used.get("prompt_tokens"))
            usage.tokens_out = count(used.get("completion_tokens"))
            usage.tokens_cached = count(details.get("cached_tokens"))
            usage.tokens_written = count(details.get("cache_write_tokens"))
        if not chunk.get("choices"):
            return ""
        choice = chunk["choices"][0]
        reason, delta = choice.get("finish_reason"), choice["delta"]
        if reason is not None and usage.stop is None:
            usage.stop = _STOPS.get(reason, "end")
        if delta.get("refusal"):
            usage.stop = "refusal"
        return usage.text(delta.get("content"))


def _limit(model: ModelId, prompt: Prompt, traits: ModelTraits, *, old_name: bool) -> dict[str, Any]:
    """Return the output limit, including hidden reasoning. OpenAI takes only the newer name."""
    room = room_for(prompt.effort) if traits.thinks is Thinks.ALWAYS else 0
    name = "max_tokens" if old_name and model.vendor is not Vendor.OPENAI else "max_completion_tokens"
    return {name: traits.limit(prompt.max_output_tokens, thinking=room)}


def _optional(
    model: ModelId, prompt: Prompt, traits: ModelTraits, features: set[str]
) -> tuple[dict[str, Any], set[str]]:
    """Return the effort or sampling, usage and cache key that the model has not refused, and the features used."""
    body: dict[str, Any] = {}
    offered = set()
    if prompt.effort is not None and traits.effort and "effort" in features:
        body["reasoning_effort"] = prompt.effort.value
        offered.add("effort")
    elif "temperature" in features and (sampling := _sampling(model, prompt, traits)):
        body |= sampling
        offered.add("temperature")
    if "usage" in features:
        body["stream_options"] = {"include_usage": True}
        offered.add("usage")
    first = next((part.text for part in prompt.system if part.stable), "")  # the same in every mode
    if model.vendor is Vendor.OPENAI and first and "cache_key" in features:
        body["prompt_cache_key"] = sha256(first.encode(errors="replace")).hexdigest()[:32]
        offered.add("cache_key")
    return body, offered


def _sampling(model: ModelId, prompt: Prompt, traits: ModelTraits) -> dict[str, Any]:
    qwen = model.vendor is Vendor.OPENROUTER and model.name.startswith("qwen/")
    sampling: dict[str, Any] = dict(_QWENS_SAMPLING) if qwen else {}
    if prompt.creativity is not None and traits.temperature:
        sampling["temperature"] = prompt.creativity
    return sampling


def _opening(system: list[SystemPart], marks: CacheMarks) -> list[dict[str, Any]]:
    """Return one system message, in blocks if it is marked. Some templates refuse several system messages."""
    if not system:
        return []
    texts = [part.text for part in system]
    if not marks.system:
        return [{"role": "system", "content": "\n\n".join(texts)}]
    blocks = [text_block(text, marked=place in marks.system) for place, text in enumerate(texts)]
    return [{"role": "system", "content": blocks}]


def _message(message: Message, marked: bool) -> dict[str, Any]:
    if not marked and not message.images:
        return {"role": message.speaker.value, "content": message.text}
    pictures = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in message.images]
    return {"role": message.speaker.value, "content": [*pictures, text_block(message.text, marked=marked)]}


def _data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{b64encode(image.data).decode('ascii')}"


def _schema_name(step: str) -> str:
    """Return a step's name in the letters that the protocol allows, at most 64 of them."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in step)[:64] or "answer"
