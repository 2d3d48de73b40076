"""OpenAI and everything that speaks its Chat Completions protocol: OpenRouter, Groq, Ollama.

These back-ends cache prompt prefixes by themselves, so the parts only have to keep their order. A part of the request
that a model refuses (its 400 names it) is left out from then on: JSON by schema falls back to asking in words.
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
from daemon.llm.model_id import ModelId, Vendor
from daemon.llm.strict_schema import can_be_strict, strict
from daemon.llm.usage import CallUsage, count

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

REASONING_ROOM = 4096
"""Tokens that OpenAI's own models may spend on hidden reasoning, added to the prompt's max_output_tokens."""

_FEATURES = ("json_schema", "temperature", "usage")
_STOPS = {"length": "length", "content_filter": "refusal"}


class ChatCompletions:
    """A `Provider`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = LazyClient(self._connect)
        self._refused: set[tuple[str, str]] = set()

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `Provider.stream`."""
        client = await self._client.get()
        import openai

        with translated(self._endpoint, model, openai.OpenAIError):
            tally = CallUsage(model)
            async with await self._open(client, model, prompt) as chunks:
                async for chunk in chunks:
                    yield _take(chunk, tally)
            completion = tally.completion()
        yield completion

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        await self._client.close()

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

    async def _open(self, client: "AsyncOpenAI", model: ModelId, prompt: Prompt) -> "AsyncStream[ChatCompletionChunk]":
        """Send the request; once more without a feature that this very model refuses."""
        import openai

        while True:
            features = {name for name in _FEATURES if (model.name, name) not in self._refused}
            body, offered = _request(model, prompt, features)
            try:
                stream: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(**body, stream=True)
            except openai.APIStatusError as error:
                feature = refused_feature(error, offered)
                if feature is None:
                    raise
                self._refused.add((model.name, feature))
            else:
                return stream


def _request(model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
    """The body of a request and which of the features it makes use of."""
    body: dict[str, Any] = _limit(model, prompt)
    system = [clean(part.text) for part in prompt.system if part.text.strip()]
    offered = set()
    if prompt.json_schema is not None:
        if "json_schema" in features and can_be_strict(prompt.json_schema):
            asked = {"name": _schema_name(prompt.step), "schema": strict(prompt.json_schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": asked}
            offered.add("json_schema")
        else:
            system.append(schema_in_words(prompt))
    if prompt.creativity is not None and "temperature" in features:
        body |= _sampling(model, prompt.creativity)
        offered.add("temperature")
    if "usage" in features:
        body["stream_options"] = {"include_usage": True}
        offered.add("usage")
    # One system message: several are refused by some of the templates behind these servers.
    opening = [{"role": "system", "content": "\n\n".join(system)}] if system else []
    messages = [{"role": each.speaker.value, "content": each.text} for each in chat_of(prompt)]
    return body | {"model": model.name, "messages": opening + messages}, offered


def _limit(model: ModelId, prompt: Prompt) -> dict[str, Any]:
    """OpenAI's own models count hidden reasoning and know the limit under its newer name only."""
    if model.vendor is Vendor.OPENAI:
        return {"max_completion_tokens": prompt.max_output_tokens + REASONING_ROOM}
    return {"max_tokens": prompt.max_output_tokens}


def _sampling(model: ModelId, creativity: float) -> dict[str, Any]:
    """Temperature; for Qwen also the companions that its makers advise (design, ruling 10)."""
    if model.vendor is Vendor.OPENROUTER and model.name.startswith("qwen/"):
        return {"temperature": creativity, "top_p": 0.8, "extra_body": {"top_k": 20}}
    return {"temperature": creativity}


def _schema_name(step: str) -> str:
    """A step's name in the only letters that the protocol allows here, at most 64 of them."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in step)[:64] or "answer"


def _take(chunk: "ChatCompletionChunk", tally: CallUsage) -> str:
    """Note a chunk and return the text in it, if any; the last chunk has no choices but the usage."""
    if chunk.usage is not None:
        details = chunk.usage.prompt_tokens_details
        tally.tokens_in = count(chunk.usage.prompt_tokens)
        tally.tokens_out = count(chunk.usage.completion_tokens)
        tally.tokens_cached = count(details.cached_tokens if details else None)
    if not chunk.choices:
        return ""
    choice = chunk.choices[0]
    if choice.finish_reason is not None and tally.stop is None:
        tally.stop = _STOPS.get(choice.finish_reason, "end")
    if choice.delta.refusal:
        tally.stop = "refusal"
    return tally.text(choice.delta.content)
