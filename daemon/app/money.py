"""What the model calls of a soul may cost, by the settings and the soul's own file."""

from collections.abc import Callable

from daemon.core.config import Settings
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.spending import Caps, TickBudget
from daemon.core.tempo import REFLECTING
from daemon.llm.prices import cost_of, most_of, most_tokens_of
from daemon.memory.store import Store
from daemon.runtime.till import Terms, Till
from daemon.soul import Soul


def caps_of(settings: Settings, soul: Soul) -> Caps:
    """The caps under which a soul works."""
    caps = Caps(settings.max_usd_a_day, settings.max_usd_a_day_person, settings.max_usd_a_day_room)
    return caps.with_own(soul.max_usd_a_day)


def tick_budget_of(settings: Settings, soul: Soul) -> TickBudget | None:
    """What a soul may take for unasked thoughts; None where it has none: the lower figure counts."""
    own = soul.cycle
    enabled = settings.cycle_enabled if own.enabled is None else own.enabled
    if not enabled or soul.mind != "cycle" or not soul.may_be(REFLECTING):
        return None
    tokens_hour, tokens_day, usd = settings.cycle_tokens_hour, settings.cycle_tokens_day, settings.cycle_usd_day
    return TickBudget(
        min(tokens_hour, tokens_hour if own.tokens_hour is None else own.tokens_hour),
        min(tokens_day, tokens_day if own.tokens_day is None else own.tokens_day),
        min(usd, usd if own.usd_day is None else own.usd_day),
    )


def build_till(settings: Settings, store: Store, soul: Callable[[], Soul], clock: Clock, emit: Emit) -> Till:
    """What pays for a soul's model calls; `store` is that soul's."""
    terms = Terms(cost_of, most_of, lambda: caps_of(settings, soul()), settings.cap_zone, most_tokens_of)
    return Till(store.reservations, terms, clock, emit)
