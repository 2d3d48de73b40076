"""What the model calls of a soul may cost, by the settings and the soul's own file."""

from collections.abc import Callable

from daemon.core.config import Settings
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.spending import Caps
from daemon.llm.prices import cost_of, most_of
from daemon.memory.store import Store
from daemon.runtime.till import Terms, Till
from daemon.soul import Soul


def caps_of(settings: Settings, soul: Soul) -> Caps:
    """The caps under which a soul works."""
    caps = Caps(settings.max_usd_a_day, settings.max_usd_a_day_person, settings.max_usd_a_day_room)
    return caps.with_own(soul.max_usd_a_day)


def build_till(settings: Settings, store: Store, soul: Callable[[], Soul], clock: Clock, emit: Emit) -> Till:
    """What pays for a soul's model calls; `store` is that soul's."""
    terms = Terms(cost_of, most_of, lambda: caps_of(settings, soul()), settings.cap_zone)
    return Till(store.reservations, terms, clock, emit)
