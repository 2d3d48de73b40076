"""What calls cost, by the kept price list of `genai-prices`; the list comes with the package, nothing is fetched."""

from typing import Final

from daemon.core.ports import Completion, Cost
from daemon.llm.model_id import ModelId, Vendor, parse_model_id
from daemon.llm.model_traits import dearest_like

_PRICED: Final = (Vendor.ANTHROPIC, Vendor.OPENAI, Vendor.GROQ, Vendor.OPENROUTER)  # as the price list calls them


def load() -> None:
    """Read the price list, which takes a fifth of a second and 12 MB; `cost_of` needs it for a vendor's first call."""
    from genai_prices import data_snapshot

    data_snapshot.get_snapshot()


def cost_of(completion: Completion) -> Cost:
    """What a call costs; models on this machine cost nothing.

    A model whose price is not known is counted as the dearest of its vendor's, so that the cost is an upper bound.
    """
    model = parse_model_id(completion.model)
    if model.vendor not in _PRICED or completion.model.startswith("scripted/"):
        return Cost(0.0)
    known = _price(model, model.name, completion)
    if known is not None:
        return Cost(known)
    return Cost(_price(model, dearest_like(model) or "", completion) or 0.0, bound=True)


def price_is_known(model: ModelId) -> bool:
    """Whether the price list has a model, or it costs nothing."""
    return model.vendor not in _PRICED or _price(model, model.name, Completion(model.full)) is not None


def _price(model: ModelId, name: str, completion: Completion) -> float | None:
    from genai_prices import Usage, calc_price

    fresh = completion.tokens_in - completion.tokens_cached - completion.tokens_written
    usage = Usage(
        input_tokens=completion.tokens_in if fresh >= 0 else completion.tokens_cached + completion.tokens_written,
        cache_read_tokens=completion.tokens_cached,
        cache_write_tokens=completion.tokens_written,
        output_tokens=completion.tokens_out,
    )
    try:
        return float(calc_price(usage, name, provider_id=model.vendor.value).total_price)
    except LookupError:
        return None
