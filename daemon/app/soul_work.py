"""The work of one soul: its lanes, scheduler, consolidation and chores."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from daemon.app.lifecycle import Chore
from daemon.core.concurrency import Bell
from daemon.core.config import Settings
from daemon.core.sentences import Words
from daemon.memory.queues.jobs import LEARNS
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes
from daemon.mind.process import Interrupts
from daemon.processes.consolidation import PARTS
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.runtime.consolidation import Consolidator, NightPlan
from daemon.runtime.conversation import ConversationHandler, Deadlines
from daemon.runtime.courier import Courier
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.dispatcher import AnyLane, lanes_of_soul, ring
from daemon.runtime.jobs import JobRunner, Titler, VisitSweep
from daemon.runtime.people.rooms import tell_of_readings
from daemon.runtime.scheduler import Awakener, Scheduler
from daemon.runtime.slots import Slots

_TO_TELL = 0.05  # of the deadline: an apology must be out in time, too


@dataclass(frozen=True, slots=True)
class SoulWork:
    """The work of one soul. `chores` have their names in the log."""

    lanes: tuple[AnyLane, ...]
    scheduler: Scheduler
    night: Consolidator
    chores: Mapping[str, Chore]


def build_work(settings: Settings, services: CycleServices, interrupts: Interrupts, bell: Bell) -> SoulWork:
    """Build the work of the soul with these services. `bell` rings when a message arrives."""
    runner = JobRunner(services, services.store.jobs, SUBPROCESSES, interrupts)
    store, clock, emit, alarm = services.store, services.clock, services.emit, Bell()
    lanes = _lanes(settings, services, runner, interrupts, bell, alarm)
    on_due = partial(ring, lanes)
    due = (store.intentions, store.approvals, services.asking, store.due_predictions)
    scheduler = Scheduler(*due, clock=clock, emit=emit, alarm=alarm, on_due=on_due)
    sweep = VisitSweep(store.ended_visits, store.unread_words, services.soul, services.tick_budget, on_due)
    night = _night(settings, services, runner, sweep)
    find_room, quiet = services.channels.main.find_room, services.quiet_hours
    name = services.soul().name
    chores: dict[str, Chore] = {
        f"scheduler of {name}": scheduler.run,
        f"consolidation of {name}": night.run,
        f"awakening of {name}": Awakener(
            store.awakenings, services.soul, partial(_may_tick, services), clock, on_due
        ).run,
        f"money of {name}": services.till.run,
        f"visits of {name}": partial(sweep.run, clock, services.timing.visit_timeout_ms),
        f"telling of {name}": partial(tell_of_readings, store.readings, find_room, clock, emit, on_due, quiet=quiet),
        f"what {name} does": services.at_work.run,
    }
    return SoulWork(lanes, scheduler, night, chores)


def _lanes(  # noqa: PLR0917 - one of each
    settings: Settings,
    services: CycleServices,
    runner: JobRunner,
    interrupts: Interrupts,
    bell: Bell,
    alarm: Bell,
) -> tuple[AnyLane, ...]:
    store, clock, emit = services.store, services.clock, services.emit
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
    return lanes_of_soul(
        store,
        ConversationHandler(services, Deadlines(deadline, settings.lease), interrupts, slots),
        courier,
        runner.do,
        Titler(store.titles, services.channels, emit, words_in),
        slots=slots,
        deadline=deadline,
        bell=bell,
        alarm=alarm,
        may_tick=partial(_may_tick, services),
        quiet=services.quiet_hours,
    )


def _may_tick(services: CycleServices) -> bool:
    return services.tick_budget(services.soul()) is not None


def _night(settings: Settings, services: CycleServices, runner: JobRunner, sweep: VisitSweep) -> Consolidator:
    async def learn() -> bool:
        job = await services.store.jobs.claim_next(LEARNS)
        if job is not None:
            await runner.do(job)
        return job is not None

    return Consolidator(
        services.clock,
        services.emit,
        services.soul,
        services.mind,
        services.store.night,
        PARTS,
        NightPlan(settings.consolidate, settings.consolidate_zone, settings.consolidate_tokens),
        sweep=sweep.once,
        learn=learn,
        has_room=lambda: free_bytes(settings.home) >= LEAST_ROOM,
    )
