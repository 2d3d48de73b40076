"""What both SDK adapters share: a client built at the first call, the fallback for refused features, error translation.

The price list is read in the thread in which the client is built.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, ClassVar, Final, Generic, TypeVar

from daemon.core import long_lived
from daemon.core.ports.models import Completion, Prompt
from daemon.llm import prices
from daemon.llm.endpoint import Endpoint
from daemon.llm.errors import allowed_limit, may_refuse_schema, refused_feature, refuses_schema, translated
from daemon.llm.model_id import ModelId
from daemon.llm.model_traits import ModelTraits, traits_of
from daemon.llm.sdk_client import Client, SdkClient
from daemon.llm.usage import CallUsage

_LOWERED: Final = 2  # times in one call; a server that refuses every limit is not asked for ever

Event = TypeVar("Event")


class SdkAdapter(ABC, Generic[Client, Event]):
    """A `Provider` on an SDK; a subclass builds the client and the request and reads the events.

    `features` are the optional parts of a request. One that a model refuses is left out for that model from then on; a
    schema that is too large for it is asked for in words from then on, also where its refusal can't be understood and
    the request without a schema is taken; and an output limit that it refuses is lowered to what it allows.
    """

    features: ClassVar[tuple[str, ...]]

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = SdkClient[Client](self._prepare)
        self._refused: set[tuple[str, str]] = set()
        self._too_large: set[tuple[str, str]] = set()  # schemas, by model and step
        self._limits: dict[str, int] = {}

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `Provider.stream`."""
        client = await self._client.get()
        with translated(self._endpoint, model, self._sdk_error()):
            usage = CallUsage(model)
            async with await self._open(client, model, prompt) as events:
                async for event in events:
                    yield self._take(event, usage)
            completion = usage.completion()
        yield completion

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        await self._client.aclose()

    async def _open(
        self, client: Client, model: ModelId, prompt: Prompt
    ) -> AbstractAsyncContextManager[AsyncIterable[Event]]:
        """Send the request, again without each feature that the model refuses."""
        lowered, in_words = 0, False
        while True:
            features = {name for name in self.features if (model.name, name) not in self._refused}
            if in_words or (model.name, prompt.step) in self._too_large:
                features.discard("json_schema")
            body, offered = self._request(model, prompt, features)
            try:
                events = await self._send(client, body)
            except self._sdk_error() as error:
                asked = body.get("max_tokens") or body.get("max_completion_tokens") or 0
                if lowered < _LOWERED and (limit := allowed_limit(error, asked)) is not None:
                    self._limits[model.name] = limit
                    lowered += 1
                elif "json_schema" in offered and refuses_schema(error):
                    self._too_large.add((model.name, prompt.step))
                elif (feature := refused_feature(error, offered)) is not None:
                    self._refused.add((model.name, feature))
                elif "json_schema" in offered and may_refuse_schema(error):
                    in_words = True
                else:
                    raise
            else:
                if in_words:
                    self._too_large.add((model.name, prompt.step))
                return events

    def _traits(self, model: ModelId) -> ModelTraits:
        """What a model takes, by the table and by what it has refused so far."""
        known = traits_of(model)
        return replace(known, max_output=min(known.max_output, self._limits.get(model.name, known.max_output)))

    def _prepare(self) -> Client:
        """Read the price list and build the client; runs in a thread."""
        prices.load()
        client = self._connect()
        long_lived.imported()
        return client

    @abstractmethod
    def _connect(self) -> Client:
        """Import the SDK and build its client; runs in a thread."""

    @abstractmethod
    def _sdk_error(self) -> type[Exception]:
        """The base of the SDK's errors; asked only once the SDK is imported."""

    @abstractmethod
    def _request(self, model: ModelId, prompt: Prompt, features: set[str]) -> tuple[dict[str, Any], set[str]]:
        """The body of a request, and which of the `features` it uses."""

    @abstractmethod
    async def _send(self, client: Client, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncIterable[Event]]:
        """Send a request; leaving the context hangs up."""

    @abstractmethod
    def _take(self, event: Event, usage: CallUsage) -> str:
        """Count what an event says about usage and return its text; '' for events without one, such as thinking."""
