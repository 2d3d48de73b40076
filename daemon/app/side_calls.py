"""Accounting of calls to endpoints besides the models': embeddings, speech and recordings."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from daemon.channels.http.daemon_side import PaySpeech
from daemon.core.config import Settings
from daemon.core.errors import CapMet, ModelUnavailable, StoreError
from daemon.core.http import is_loopback
from daemon.core.ports.services import (
    Clock,
    Completion,
    Cost,
    Emit,
    LLMCall,
    Message,
    ModelRole,
    Prompt,
    Speaker,
    Transcriber,
)
from daemon.core.ports.vectors import Embedder, Unrelated
from daemon.core.spending import Caps, Charge
from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens
from daemon.llm.prices import cost_of, cost_of_speech, load, most_of
from daemon.memory.database import Database
from daemon.memory.records import Worker
from daemon.memory.spending.reservations import Reservations
from daemon.runtime.till import SpendingBudget, Terms

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector


T = TypeVar("T")

_OPENAI: Final = "api.openai.com"
_NOBODY: Final = Charge("")


class SideEndpoint(Value):
    """The endpoint of a step. `model` is a prefixed id; `priced`: the price of a text is known there."""

    step: str
    model: str
    priced: bool


def endpoint_of(step: str, url: str, model: str, *, by_text: bool) -> SideEndpoint | None:
    """Return the endpoint of a step. None on this machine, where calls are free. Only OpenAI's has a known price.

    `by_text`: the price depends on the text.
    """
    host = urlsplit(url).hostname or ""
    if is_loopback(host):
        return None
    priced = host == _OPENAI and by_text
    return SideEndpoint(step, f"openai/{model}" if host == _OPENAI else f"{model}@{host}", priced)


@dataclass(eq=False)
class SideCalls:
    """The payment of calls in the main soul's name, under its cap alone. `price` returns the cost of texts."""

    till: SpendingBudget
    clock: Clock
    price: Callable[[str, Sequence[str]], Cost]

    async def paid(self, to: SideEndpoint, texts: Sequence[str], call: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a call, and count it in any case. Raises ModelUnavailable over the cap."""
        if to.priced:
            await asyncio.to_thread(load)
        reservation = await self._reserve(to, texts) if to.priced else ""
        started_ms, began, outcome = self.clock.now_ms(), self.clock.monotonic(), "unavailable"
        try:
            result = await call()
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        else:
            outcome = "ok"
            return result
        finally:
            counted = texts if outcome != "unavailable" else ()
            tokens = sum(map(estimate_tokens, counted))
            cost = self.price(to.model, counted) if to.priced else None
            took = round((self.clock.monotonic() - began) * 1000)
            made = _call(to, (started_ms, took), outcome, tokens, cost)
            await asyncio.shield(self._count(made, reservation))

    async def _reserve(self, to: SideEndpoint, texts: Sequence[str]) -> str:
        messages = tuple(Message(Speaker.USER, text) for text in texts)
        prompt = Prompt(ModelRole.THINKING, to.step, (), messages, model=to.model, max_output_tokens=1)
        try:
            return await self.till.reserve(_NOBODY, prompt)
        except CapMet as met:
            raise ModelUnavailable(met.message, hint=met.hint) from met
        except StoreError as error:
            raise ModelUnavailable(error.message, hint=error.hint) from error

    async def _count(self, call: LLMCall, reservation: str) -> None:
        with suppress(StoreError):  # the reservation is settled with the next one, or when it is forgotten
            await self.till.count(call, _NOBODY, reservation)


def _call(to: SideEndpoint, times: tuple[int, int], outcome: str, tokens: int, cost: Cost | None) -> LLMCall:
    started_ms, took_ms = times
    return LLMCall(
        "",
        ModelRole.THINKING,
        to.step,
        to.model,
        started_ms,
        took_ms,
        outcome,
        tokens_in=tokens,
        cost_usd=cost.usd if cost else None,
        cost_bound=cost is not None and cost.bound,
    )


def side_calls(settings: Settings, database: Database, clock: Clock, emit: Emit) -> SideCalls:
    """Build the payment of embeddings and transcriptions, under the settings' cap for each soul."""
    return SideCalls(_till(settings, database, clock, emit, most=most_of), clock, _by_tokens)


def paid_speech(settings: Settings, database: Database, clock: Clock, emit: Emit) -> PaySpeech | None:
    """Build the payment of texts read aloud, under the same cap. None where that costs nothing."""
    to = endpoint_of("speak", settings.tts_url, settings.tts_model, by_text=True)
    if to is None or not settings.tts_url:
        return None
    till = _till(settings, database, clock, emit, most=_most_of_speech)
    calls = SideCalls(till, clock, _by_letters)
    return lambda text, call: calls.paid(to, (text,), call)


def _till(
    settings: Settings, database: Database, clock: Clock, emit: Emit, *, most: Callable[[Prompt], Cost]
) -> SpendingBudget:
    worker = Worker(database.processes.own, settings.name, "", int(settings.lease * 1000))
    terms = Terms(cost_of, most, lambda: Caps(settings.max_usd_a_day), settings.cap_zone)
    return SpendingBudget(Reservations(database, clock, worker), terms, clock, emit)


def _by_tokens(model: str, texts: Sequence[str]) -> Cost:
    return cost_of(Completion(model, tokens_in=sum(map(estimate_tokens, texts))))


def _by_letters(model: str, texts: Sequence[str]) -> Cost:
    return cost_of_speech(model, sum(map(len, texts)))


def _most_of_speech(prompt: Prompt) -> Cost:
    return _by_letters(prompt.model, [message.text for message in prompt.messages])


class PaidEmbedder(Value):
    """An embedder whose calls are counted. Implements `Embedder`."""

    inner: Embedder
    calls: SideCalls
    to: SideEndpoint

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def unrelated(self) -> Unrelated | None:
        return self.inner.unrelated

    async def embed(self, texts: Sequence[str]) -> "Sequence[Vector]":
        return await self.calls.paid(self.to, texts, lambda: self.inner.embed(texts))

    async def aclose(self) -> None:
        await self.inner.aclose()


class CountedTranscriber(Value):
    """A transcriber whose calls are counted. Their price is unknown: no response reports tokens."""

    inner: Transcriber
    calls: SideCalls
    to: SideEndpoint

    async def transcribe(self, name: str, data: bytes) -> str:
        return await self.calls.paid(self.to, (), lambda: self.inner.transcribe(name, data))

    async def aclose(self) -> None:
        await self.inner.aclose()
