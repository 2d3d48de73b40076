"""The queues of one soul, and what works on each: conversations, posts, jobs, titles, and its scheduler."""

from functools import partial

from daemon.core.concurrency import Bell
from daemon.core.config import Settings
from daemon.core.sentences import Words
from daemon.memory.store import Store
from daemon.mind.interrupts import Interrupts
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.runtime.background_jobs import JobRunner
from daemon.runtime.conversation import ConversationHandler, Deadlines
from daemon.runtime.courier import Courier
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.dispatcher import AnyLane, lanes_of_soul, ring
from daemon.runtime.scheduler import Scheduler
from daemon.runtime.slots import Slots
from daemon.runtime.titling import Titler

_TO_TELL = 0.05  # of the deadline: an apology has to be out in time, too


def build_lanes(
    settings: Settings, store: Store, services: CycleServices, interrupts: Interrupts, bell: Bell
) -> tuple[tuple[AnyLane, ...], Scheduler]:
    """The lanes and the scheduler of one soul; `store` and `services` are that soul's."""
    clock, emit, alarm, asks = services.clock, services.emit, Bell(), services.asking
    slots, deadline = Slots(settings.max_cycles, clock), (1 - _TO_TELL) * settings.deadline

    def words_in(language: str) -> Words:
        return services.soul().words_in(language)

    courier = Courier(
        store.outbox,
        services.channels,
        clock,
        emit,
        in_doubt=settings.in_doubt,
        stale_after=settings.stale_after,
        lease=settings.lease,
        words_in=words_in,
    )
    lanes = lanes_of_soul(
        store,
        ConversationHandler(services, Deadlines(deadline, settings.lease), interrupts, slots),
        courier,
        JobRunner(services, store.jobs, SUBPROCESSES, interrupts).do,
        Titler(store.titles, services.channels, emit, words_in),
        slots=slots,
        deadline=deadline,
        bell=bell,
        alarm=alarm,
        may_tick=partial(thinks_by_itself, services),
        quiet=services.quiet_hours,
    )
    due = (store.intentions, store.approvals, asks, store.due_predictions)
    return lanes, Scheduler(*due, clock=clock, emit=emit, alarm=alarm, on_due=partial(ring, lanes))


def thinks_by_itself(services: CycleServices) -> bool:
    """Whether a soul thinks unasked, as the settings and its own file say now."""
    return services.tick_budget(services.soul()) is not None
