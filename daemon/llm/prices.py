"""The traits and costs of models, by a table and by the price list in the package `genai-prices`, without downloads."""

import math
from enum import StrEnum
from functools import cache
from typing import Any, Final

from daemon.core.packaged import packaged_table
from daemon.core.ports.services import Completion, Cost, Effort, Prompt
from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens
from daemon.llm.answers import ModelId, Vendor, parse_model_id
from daemon.llm.endpoint import schema_in_words

THINKING_ROOM: Final = {Effort.LOW: 4096, Effort.MEDIUM: 8192, Effort.HIGH: 16384}
"""Tokens that a model may spend on hidden thinking, by effort, in addition to its answer."""


class Thinks(StrEnum):
    """The condition under which a model thinks before it answers."""

    NEVER = "never"
    ALWAYS = "always"
    ASKED = "asked"
    """The model thinks only if asked for adaptive thinking."""
    BUDGET = "budget"
    """The model thinks only if given a budget."""


class ModelTraits(Value):
    """The traits of one model.

    `max_output` counts tokens with hidden thinking. `smallest_cached` is None if no cache marks are sent. `temperature`
    is allowed while the model doesn't think. `sees`: the model takes pictures.
    """

    max_output: int
    thinks: Thinks
    effort: bool
    temperature: bool
    sees: bool = False
    smallest_cached: int | None = None

    def limit(self, answer: int, *, thinking: int = 0) -> int:
        """Return the output limit to ask for, in tokens: room for answer and thinking, within the model's limit."""
        return min(answer + thinking, self.max_output)


def room_for(effort: Effort | None) -> int:
    """Return the tokens for hidden thinking. Without an effort, medium is assumed, the vendors' default."""
    return THINKING_ROOM[effort or Effort.MEDIUM]


@cache
def traits_of(model: ModelId) -> ModelTraits:
    """Return the traits of the longest prefix of the model's name, else of its vendor's unknown models."""
    entries = [each for each in _table()["model"] if each["vendor"] == model.vendor]
    fitting = [each for each in entries if model.name.startswith(each["prefix"])]
    best = max(fitting, key=lambda each: len(each["prefix"]))
    given = {name: value for name, value in best.items() if name not in {"vendor", "prefix", "thinks"}}
    return ModelTraits(thinks=Thinks(best["thinks"]), **given)


def dearest_like(model: ModelId) -> str | None:
    """Return the name in the price list whose price bounds an unknown model's, or None if calls are free."""
    entries = [each for each in _table()["dearest"] if each["vendor"] == model.vendor]
    fitting = [each for each in entries if each.get("named", "") in model.name]
    return max(fitting, key=lambda each: len(each.get("named", "")))["model"] if fitting else None


@cache
def _table() -> dict[str, Any]:
    return packaged_table("llm/models.toml")


_PRICED: Final = (Vendor.ANTHROPIC, Vendor.OPENAI, Vendor.GROQ, Vendor.OPENROUTER)  # by their names in the price list

_BESIDE: Final = 1_000  # tokens that vendors add: the frame of a prompt, and their text about its form
_PER_MESSAGE: Final = 16
_MARGIN: Final = 1.25  # vendors count up to this factor more than our estimate
_PER_PICTURE: Final = {Vendor.ANTHROPIC: 6_000}  # tokens; they depend on the picture's size and the model
_PER_PICTURE_ELSEWHERE: Final = 30_000


_PER_LETTER: Final = {"tts-1": 15e-6, "tts-1-hd": 30e-6}
"""US dollars for each letter read aloud by OpenAI's models with a price by letters (its price list)."""

_PER_LETTER_AT_MOST: Final = 125e-6
"""The upper bound for a model with a price by the minute, $0.015: no letter takes longer than half a second."""


def load() -> None:
    """Load the price list, which takes a fifth of a second and 12 MB, before a vendor's first call needs it."""
    cost_of(Completion("openai/gpt-4o", tokens_in=1))


def cost_of(completion: Completion) -> Cost:
    """Return the cost of a call. Models on this machine cost nothing.

    A model without a known price counts as the dearest of its vendor, an upper bound.
    """
    model = parse_model_id(completion.model)
    if model.vendor not in _PRICED or completion.model.startswith("scripted/"):
        return Cost(0.0)
    known = _price(model, model.name, completion)
    if known is not None:
        return Cost(known)
    return Cost(_price(model, dearest_like(model) or "", completion) or 0.0, bound=True)


def cost_of_speech(model: str, letters: int) -> Cost:
    """Return the cost of letters read aloud by an OpenAI model: an upper bound if its price isn't by letters."""
    known = _PER_LETTER.get(parse_model_id(model).name)
    return Cost(letters * (_PER_LETTER_AT_MOST if known is None else known), bound=known is None)


def most_of(prompt: Prompt) -> Cost:
    """Return the most that a call can cost, for a prompt that names its model.

    The prompt counts as our estimate with a margin, at the full price or at that of a cache write. The answer with its
    hidden thinking counts to its limit.
    """
    model = parse_model_id(prompt.model)
    if cost_of(Completion(model.full, tokens_in=1, tokens_out=1)).usd == 0.0:
        return Cost(0.0)
    asked, given = _most_in_and_out(model, prompt)
    costs = [cost_of(Completion(model.full, asked, tokens_out=given, tokens_written=one)) for one in (0, asked)]
    return max(costs, key=lambda cost: cost.usd)


def most_tokens_of(prompt: Prompt) -> int:
    """Return the most tokens that a call can take, in, out and hidden thinking, counted as in `most_of`."""
    return sum(_most_in_and_out(parse_model_id(prompt.model), prompt))


def _most_in_and_out(model: ModelId, prompt: Prompt) -> tuple[int, int]:
    traits = traits_of(model)
    thinks = traits.thinks is Thinks.ALWAYS or (
        traits.thinks is not Thinks.NEVER and prompt.effort in {Effort.MEDIUM, Effort.HIGH}
    )
    given = traits.limit(prompt.max_output_tokens, thinking=room_for(prompt.effort) if thinks else 0)
    return _most_tokens(model, prompt), given


def _most_tokens(model: ModelId, prompt: Prompt) -> int:
    """Return the most tokens of a prompt: our estimate with a margin, and the vendors' additions."""
    texts = [*(part.text for part in prompt.system), *(each.text for each in prompt.messages)]
    if prompt.json_schema is not None:
        texts.append(schema_in_words(prompt))
    pictures = sum(len(each.images) for each in prompt.messages)
    per_picture = _PER_PICTURE.get(model.vendor, _PER_PICTURE_ELSEWHERE)
    size = math.ceil(sum(map(estimate_tokens, texts)) * _MARGIN)
    return size + _BESIDE + _PER_MESSAGE * len(texts) + per_picture * pictures


def price_is_known(model: ModelId) -> bool:
    """Return True if the price list has the model, or its calls are free."""
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
