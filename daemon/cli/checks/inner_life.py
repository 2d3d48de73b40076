"""Checks whether souls think by themselves, as somebody set them to, and on what budget."""

from typing import Final

from daemon.app.money import tick_budget_of
from daemon.cli.checks.finding import Finding, ok, warn
from daemon.cli.checks.mind import souls_of
from daemon.core.config import Settings
from daemon.core.errors import ConfigError, SoulError
from daemon.core.spending import TickBudget
from daemon.core.tempo import REFLECTING
from daemon.llm.model_id import parse_model_id
from daemon.llm.prices import price_is_known
from daemon.llm.router import choose_models
from daemon.soul import Soul

_SET_ASIDE: Final = 12_000  # tokens for one such thought, with its hidden thinking (docs/MIND.md)


def inner_life(settings: Settings) -> list[Finding]:
    """A finding for each soul that thinks whole thoughts, or that is set to think by itself and can't."""
    try:
        souls = souls_of(settings)
    except SoulError:
        return []  # the check of the souls says so
    return [finding for soul in souls for finding in _of(soul, settings)]


def _of(soul: Soul, settings: Settings) -> list[Finding]:
    name, budget = soul.display_name, tick_budget_of(settings, soul)
    if budget is not None:
        return [_budget(name, budget, settings.quiet_hours), *_unpriced(soul, settings, budget)]
    if not (settings.cycle_enabled if soul.cycle.enabled is None else soul.cycle.enabled):
        asleep = f"{name} thinks when people write, and not by itself: SOUL_CYCLE_ENABLED is not set"
        return [ok("mind", asleep)] if soul.mind == "cycle" else []
    if soul.mind != "cycle":
        found = f'{name} is set to think by itself, and does not: its mind is "{soul.mind}"'
        return [warn("mind", found, 'put mind = "cycle" into its soul.toml (docs/MIND.md), or switch it off')]
    found = f"{name} is set to think by itself, and does not: its processes leave {REFLECTING} out"
    return [warn("mind", found, f"add {REFLECTING} to processes in its soul.toml")]


def _budget(name: str, budget: TickBudget, quiet_hours: str) -> Finding:
    shown = f"{budget.tokens_hour:,} tokens an hour, {budget.tokens_day:,} and ${budget.usd_day:g} a day"
    if min(budget.tokens_hour, budget.tokens_day) < _SET_ASIDE:
        found = f"{name} hardly thinks by itself: {shown}, and one thought sets up to {_SET_ASIDE:,} tokens aside"
        return warn(
            "mind", found, "raise SOUL_CYCLE_TOKENS_HOUR and SOUL_CYCLE_TOKENS_DAY, or [cycle] in its soul.toml"
        )
    quiet = f"says nothing unasked {quiet_hours}" if quiet_hours else "may speak unasked at any hour"
    return ok("mind", f"{name} thinks by itself, for at most {shown}; it {quiet}")


def _unpriced(soul: Soul, settings: Settings, budget: TickBudget) -> list[Finding]:
    """A warning where nothing is known of what such a thought costs: its budget in dollars may be too small for one."""
    try:
        models = dict(zip(("persona", "thinking"), choose_models(settings), strict=True))
    except ConfigError:
        return []  # the check of the models says so
    model = parse_model_id(models[soul.cycle.role])
    if price_is_known(model):
        return []
    found = f"{soul.display_name} may hardly think by itself: the price of {model.full} is not known, so that each "
    found += f"thought counts with the most that it can cost, of ${budget.usd_day:g} a day"
    return [warn("mind", found, "raise SOUL_CYCLE_USD_DAY, or upgrade the package genai-prices")]
