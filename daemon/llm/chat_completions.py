"""OpenAI and everything that speaks its Chat Completions protocol: OpenRouter, Groq, Ollama.

These back-ends cache prompt prefixes by themselves, so the system parts only have to keep their order. JSON by schema
falls back to asking for it in words where a model refuses the parameter.
"""

from typing import TYPE_CHECKING, Any

from daemon.core.ports import Prompt
from daemon.llm.clean_text import clean
from daemon.llm.http_client import open_http_client
from daemon.llm.messages import chat_of, schema_in_words
from daemon.llm.model_id import ModelId, Vendor
from daemon.llm.sdk_adapter import SdkAdapter
from daemon.llm.strict_schema import can_be_strict, strict
from daemon.llm.usage import CallUsage, count

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

REASONING_ROOM = 4096
"""Tokens that OpenAI's own models may spend on hidden reasoning, added to the prompt's max_output_tokens."""

_STOPS = {"length": "length", "content_filter": "refusal"}


class ChatCompletions(SdkAdapter["AsyncOpenAI", "ChatCompletionChunk"]):
    """A `Provider` for every vendor but Anthropic."""

    features = ("json_schema", "temperature", "usage")

    def _connect(self) -> "AsyncOpenAI":
        import openai
        import openai.resources.chat  # otherwise the first request pays for it, on the event loop

        return openai.AsyncOpenAI(
            api_key=self._endpoint.api_key.get_secret_value(),
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=None,
            http_client=open_http_client(self._endpoint),
        )

    def _sdk_error(self) -> type[Exception]:
        import openai

        return openai.OpenAIError

    async def _send(self, client: "AsyncOpenAI", body: dict[str, Any]) -> "AsyncStream[ChatCompletionChunk]":
        stream: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(**body, stream=True)
        return stream

    def _request(self, model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
        body: dict[str, Any] = _limit(model, prompt)
        system = [clean(part.text) for part in prompt.system if part.text.strip()]
        offered = set()
        if prompt.json_schema is not None:
            if "json_schema" in features and can_be_strict(prompt.json_schema):
                form = {"name": _schema_name(prompt.step), "schema": strict(prompt.json_schema), "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": form}
                offered.add("json_schema")
            else:
                system.append(schema_in_words(prompt))
        if prompt.creativity is not None and "temperature" in features:
            body |= _sampling(model, prompt.creativity)
            offered.add("temperature")
        if "usage" in features:
            body["stream_options"] = {"include_usage": True}
            offered.add("usage")
        # One system message: some of the templates behind these servers refuse several.
        opening = [{"role": "system", "content": "\n\n".join(system)}] if system else []
        messages = [{"role": each.speaker.value, "content": each.text} for each in chat_of(prompt)]
        return body | {"model": model.name, "messages": opening + messages}, offered

    def _take(self, chunk: "ChatCompletionChunk", usage: CallUsage) -> str:
        if chunk.usage is not None:  # the last chunk has the usage and no choices
            details = chunk.usage.prompt_tokens_details
            usage.tokens_in = count(chunk.usage.prompt_tokens)
            usage.tokens_out = count(chunk.usage.completion_tokens)
            usage.tokens_cached = count(details.cached_tokens if details else None)
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        if choice.finish_reason is not None and usage.stop is None:
            usage.stop = _STOPS.get(choice.finish_reason, "end")
        if choice.delta.refusal:
            usage.stop = "refusal"
        return usage.text(choice.delta.content)


def _limit(model: ModelId, prompt: Prompt) -> dict[str, Any]:
    """OpenAI's own models count hidden reasoning towards the limit and know only its newer name."""
    if model.vendor is Vendor.OPENAI:
        return {"max_completion_tokens": prompt.max_output_tokens + REASONING_ROOM}
    return {"max_tokens": prompt.max_output_tokens}


def _sampling(model: ModelId, creativity: float) -> dict[str, Any]:
    """Temperature; for Qwen also the companions that its makers advise."""
    if model.vendor is Vendor.OPENROUTER and model.name.startswith("qwen/"):
        return {"temperature": creativity, "top_p": 0.8, "extra_body": {"top_k": 20}}
    return {"temperature": creativity}


def _schema_name(step: str) -> str:
    """A step's name in the only letters that the protocol allows here, at most 64 of them."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in step)[:64] or "answer"
