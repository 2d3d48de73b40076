"""Checks whether souls think by themselves, as somebody set them to, and on what budget."""

from typing import Final

from daemon.app.money import tick_budget_of
from daemon.cli.checks.finding import Finding, ok, warn
from daemon.cli.checks.mind import souls_of
from daemon.core.config import Settings
from daemon.core.errors import SoulError
from daemon.core.spending import TickBudget
from daemon.core.tempo import REFLECTING
from daemon.soul import Soul

_SET_ASIDE: Final = 12_000  # tokens for one such thought, since each byte of its prompt counts as one (docs/MIND.md)


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
        return [_budget(name, budget, settings.quiet_hours)]
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
        found = f"{name} hardly thinks by itself: {shown}, and one thought sets about {_SET_ASIDE:,} tokens aside"
        return warn(
            "mind", found, "raise SOUL_CYCLE_TOKENS_HOUR and SOUL_CYCLE_TOKENS_DAY, or [cycle] in its soul.toml"
        )
    quiet = f"says nothing unasked {quiet_hours}" if quiet_hours else "may speak unasked at any hour"
    return ok("mind", f"{name} thinks by itself, for at most {shown}; it {quiet}")
