"""The lanes, schedulers and chores of each soul of a daemon."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from daemon.app.lifecycle import Chore
from daemon.app.side_calls import build_consolidator, build_lanes, thinks_by_itself
from daemon.core.channels import Channels
from daemon.core.concurrency import Bell
from daemon.core.config import Settings
from daemon.memory.store import Store
from daemon.mind.process import Interrupts
from daemon.runtime.consolidation import Consolidator
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.dispatcher import AnyLane, ring
from daemon.runtime.jobs import VisitSweep
from daemon.runtime.people.rooms import tell_of_readings
from daemon.runtime.scheduler import Awakener, Scheduler


@dataclass(frozen=True, slots=True)
class Home:
    """A soul in one workspace, and the channels on which people of that workspace reach it. `label` is for the log.

    `bell` rings when a message arrives.
    """

    soul: str
    workspace: str
    channels: Channels
    label: str
    bell: Bell = field(default_factory=Bell)


def souls_in(homes: Iterable[Home]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.soul for one in homes))


class WorkAtHomes:
    """The work in all homes of a daemon's souls: lanes, schedulers, nights, and chores by their names in the log."""

    def __init__(self, settings: Settings, interrupts: Interrupts) -> None:
        self.lanes = list[AnyLane]()
        self.schedulers = list[Scheduler]()
        self.nights = dict[str, Consolidator]()
        self.chores = dict[str, Chore]()
        self._settings = settings
        self._interrupts = interrupts

    def add(self, home: Home, store: Store, services: CycleServices) -> None:
        """Add the work in a home. `store` and `services` are its own."""
        lanes, scheduler = build_lanes(self._settings, store, services, self._interrupts, home.bell)
        on_due = partial(ring, lanes)
        night = build_consolidator(self._settings, store, services, self._interrupts, on_due)
        self.lanes += lanes
        self.schedulers.append(scheduler)
        self.nights[home.label] = night
        self.chores |= {
            f"scheduler of {home.label}": scheduler.run,
            f"consolidation of {home.label}": night.run,
            **self._of_soul(home, store, services, on_due),
        }

    def _of_soul(
        self, home: Home, store: Store, services: CycleServices, on_due: Callable[[], None]
    ) -> dict[str, Chore]:
        clock, emit, channel = services.clock, services.emit, home.channels.main
        sweep = VisitSweep(store.ended_visits, store.unread_words, services.soul, services.tick_budget, on_due)
        quiet = services.quiet_hours
        telling = partial(tell_of_readings, store.readings, channel.find_room, clock, emit, on_due, quiet=quiet)
        may_tick = partial(thinks_by_itself, services)
        awakener = Awakener(store.awakenings, services.soul, may_tick, clock, on_due)
        return {
            f"awakening of {home.label}": awakener.run,
            f"money of {home.label}": services.till.run,
            f"visits of {home.label}": partial(sweep.run, clock, services.timing.visit_timeout_ms),
            f"telling of {home.label}": telling,
        }
