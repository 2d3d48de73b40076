"""What each model takes: its output limit, effort, temperature and cache marks, from the kept table `models.toml`."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from daemon.core.ports.models import Effort
from daemon.llm.model_id import ModelId

THINKING_ROOM: Final = {Effort.LOW: 4096, Effort.MEDIUM: 8192, Effort.HIGH: 16384}
"""Tokens that a model may spend on hidden thinking, by effort; they are added to what its answer may take."""


class Thinks(StrEnum):
    """Whether a model thinks before it answers."""

    NEVER = "never"
    ALWAYS = "always"
    ASKED = "asked"
    """Only when asked for adaptive thinking."""
    BUDGET = "budget"
    """Only when given a budget for it."""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """One model: `max_output` counts tokens with hidden thinking, `smallest_cached` is None where no marks are sent.

    `temperature` holds while it doesn't think, `sees` says that it takes pictures.
    """

    max_output: int
    thinks: Thinks
    effort: bool
    temperature: bool
    sees: bool = False
    smallest_cached: int | None = None

    def limit(self, answer: int, *, thinking: int = 0) -> int:
        """The output limit to ask for, in tokens: room for the answer and for thinking, within the model's own."""
        return min(answer + thinking, self.max_output)


def room_for(effort: Effort | None) -> int:
    """Tokens for hidden thinking; without an effort the vendors' own usual one, a medium one, is supposed."""
    return THINKING_ROOM[effort or Effort.MEDIUM]


@cache
def traits_of(model: ModelId) -> ModelTraits:
    """The traits of a model: those of the longest prefix of its name, else of its vendor's unknown models."""
    entries = [each for each in _table()["model"] if each["vendor"] == model.vendor]
    fitting = [each for each in entries if model.name.startswith(each["prefix"])]
    best = max(fitting, key=lambda each: len(each["prefix"]))
    given = {name: value for name, value in best.items() if name not in {"vendor", "prefix", "thinks"}}
    return ModelTraits(thinks=Thinks(best["thinks"]), **given)


def dearest_like(model: ModelId) -> str | None:
    """The model whose price bounds that of an unknown one, by its name in the price list; None where calls are free."""
    entries = [each for each in _table()["dearest"] if each["vendor"] == model.vendor]
    fitting = [each for each in entries if each.get("named", "") in model.name]
    return max(fitting, key=lambda each: len(each.get("named", "")))["model"] if fitting else None


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("daemon.llm").joinpath("models.toml").read_text(encoding="utf-8"))
