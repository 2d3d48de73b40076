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
from daemon.llm.errors import (
    allowed_limit,
    may_refuse_schema,
    refused_feature,
    refuses_schema,
    room_left,
    translated,
)
from daemon.llm.model_id import ModelId
from daemon.llm.model_traits import ModelTraits, traits_of
from daemon.llm.sdk_client import Client, SdkClient
from daemon.llm.usage import CallUsage

_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_LOWERED: Final = 2  # times in one call; a server that refuses every limit is not asked for ever

Event = TypeVar("Event")


class SdkAdapter(ABC, Generic[Client, Event]):
    """A `Provider` on an SDK; a subclass builds the client and the request and reads the events.

    `features` are the optional parts of a request. One that a model refuses is left out for that model from then on; a
    schema that is too large for it is asked for in words from then on, also where its refusal can't be understood and
    the request without a schema is taken; and an output limit that it refuses is lowered to what it allows, for one
    request to what the prompt leaves of its context.
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
        """The features that a model has not refused so far; without its schema where that is asked for in words."""
        features = {name for name in self.features if (model.name, name) not in self._refused}
        spelt = in_words or (model.name, prompt.step) in self._too_large
        return features - {"json_schema"} if spelt else features

    def _lowers(self, error: Exception, model: ModelId, asked: int) -> bool:
        """Whether a refusal names the limit that the model allows, which is asked for from then on."""
        if (limit := allowed_limit(error, asked)) is None:
            return False
        self._limits[model.name] = limit
        return True

    def _learns(self, error: Exception, model: ModelId, step: str, offered: set[str]) -> bool:
        """Whether a refusal names what the model does not take, which is left out from then on."""
        if "json_schema" in offered and refuses_schema(error):
            self._too_large.add((model.name, step))
        elif (feature := refused_feature(error, offered)) is not None:
            self._refused.add((model.name, feature))
        else:
            return False
        return True

    def _traits(self, model: ModelId) -> ModelTraits:
        """What a model takes, by the table and by what it has refused so far."""
        known = traits_of(model)
        return replace(known, max_output=min(known.max_output, self._limits.get(model.name, known.max_output)))

    def _prepare(self) -> Client:
        """Read the price list and build the client; runs in a thread."""
        prices.load()
        self.load()
        client = self._connect()
        long_lived.imported()
        return client

    @staticmethod
    @abstractmethod
    def load() -> None:
        """Import all of the SDK that a call needs; call it in a thread."""

    @abstractmethod
    def _connect(self) -> Client:
        """Build the SDK's client; runs in a thread."""

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


def _limit_of(body: dict[str, Any], room: int | None) -> int:
    """The output limit of a request, which is first lowered to the room that is left for it; 0 where it has none."""
    for name in _LIMITS:
        if name in body:
            body[name] = limit = int(body[name]) if room is None else min(int(body[name]), room)
            return limit
    return 0
