"""Prices of well-known models, as listed at the end of October 2026; other models have no known price."""

from dataclasses import dataclass
from typing import Final

from daemon.core.ports import Completion

_PER = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens: input, cached input, output."""

    fresh: float
    cached: float
    out: float


@dataclass(frozen=True, slots=True)
class Price:
    """A model's rates; `long_rates` hold for a whole call whose prompt exceeds `long_from` tokens."""

    rates: Rates
    long_from: int | None = None
    long_rates: Rates | None = None


PRICES: Final = {
    "anthropic/claude-opus-5-5": Price(Rates(4.00, 0.20, 20.00)),
    "anthropic/claude-sonnet-5-5": Price(Rates(2.00, 0.10, 10.00)),
    "anthropic/claude-haiku-5-5": Price(Rates(0.10, 0.01, 0.50), 100_000, Rates(0.50, 0.05, 2.50)),
    "anthropic/claude-haiku-4-5": Price(Rates(1.00, 0.10, 5.00)),
    "openai/gpt-5.6-terra": Price(Rates(2.00, 0.20, 12.00), 272_000, Rates(4.00, 0.40, 18.00)),
    "openai/gpt-6.1-terra": Price(Rates(1.00, 0.05, 5.00), 272_000, Rates(2.00, 0.10, 7.50)),
    # OpenRouter's price depends on the host that serves the call; this is the highest seen.
    "qwen/qwen3-30b-a3b-instruct-2507": Price(Rates(0.09, 0.09, 0.30)),
}


def cost_usd(completion: Completion) -> float | None:
    """US dollars for one call, None for an unknown price; models on this machine cost nothing.

    Cache writes count as ordinary input, although some vendors charge a quarter more.
    """
    if completion.model.startswith(("placeholder/", "ollama/", "scripted/")):
        return 0.0
    price = PRICES.get(completion.model)
    if price is None:
        return None
    rates = price.rates
    if price.long_from is not None and price.long_rates is not None and completion.tokens_in > price.long_from:
        rates = price.long_rates
    fresh = max(0, completion.tokens_in - completion.tokens_cached)
    spent = fresh * rates.fresh + completion.tokens_cached * rates.cached + completion.tokens_out * rates.out
    return spent / _PER
