"""The work of one soul of a daemon: its lanes, its scheduler, its nights, and its chores."""

from collections.abc import Callable, Mapping
from functools import partial

from daemon.core.concurrency import Bell
from daemon.core.last_line import Loop, every
from daemon.core.sentences import Words
from daemon.core.value import Value
from daemon.memory.queues.jobs import LEARNS
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes
from daemon.mind.process import Interrupts
from daemon.processes.consolidation import PARTS
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.runtime.consolidation import POLL_S, Consolidator, NightPlan
from daemon.runtime.conversation import ConversationHandler
from daemon.runtime.courier import Courier
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.dispatcher import AnyLane, lanes_of_soul, ring
from daemon.runtime.jobs import VISITS_EVERY_S, JobRunner, Titler, sweep_visits
from daemon.runtime.people.rooms import TELLING_EVERY_S, tell_of_readings
from daemon.runtime.scheduler import AWAKENING_EVERY_S, POLL, Awakener, DueRows, Scheduler
from daemon.runtime.slots import Slots


class SoulsWork(Value):
    """The work of one soul. `chores` run as long as the daemon, by name. `alarm` wakes the scheduler."""

    lanes: tuple[AnyLane, ...]
    alarm: Bell
    night: Consolidator
    chores: Mapping[str, Loop]


def work_of(soul: str, services: CycleServices, interrupts: Interrupts, bell: Bell) -> SoulsWork:
    """Build the work of a soul. `bell` rings when a message arrives."""
    clock, emit, alarm = services.clock, services.emit, Bell()
    runner = JobRunner(services, SUBPROCESSES, interrupts)
    lanes = _lanes(services, runner, interrupts, bell, alarm)
    on_due = partial(ring, lanes)
    scheduler = Scheduler(_due_rows(services), clock, emit, on_due)
    night = _night(services, runner, on_due)
    sweep = partial(sweep_visits, services, on_due, services.visit_timeout_ms)
    return SoulsWork(
        lanes,
        alarm,
        night,
        {
            f"scheduler of {soul}": every(clock, POLL, scheduler.look, alarm),
            f"consolidation of {soul}": every(clock, POLL_S, night.look),
            f"awakening of {soul}": every(clock, AWAKENING_EVERY_S, Awakener(services, on_due).look),
            f"money of {soul}": services.till.run,
            f"visits of {soul}": every(clock, VISITS_EVERY_S, sweep),
            f"telling of {soul}": every(clock, TELLING_EVERY_S, partial(tell_of_readings, services, on_due)),
            f"what {soul} does": services.at_work.run,
        },
    )


def _due_rows(services: CycleServices) -> tuple[DueRows, ...]:
    intentions, approvals = services.store.intentions, services.store.approvals
    asking, predictions = services.asking, services.store.due_predictions

    async def now() -> int:
        return services.clock.now_ms()

    return (
        DueRows("schedule.due", intentions.next_due_ms, intentions.fall_due),
        DueRows("approvals.expired", approvals.next_due_ms, approvals.expire),
        DueRows("sessions.unanswered", now, asking.fall_due),
        DueRows("predictions.scored", predictions.next_due_ms, predictions.fall_due, is_work=False),
    )


def _lanes(
    services: CycleServices, runner: JobRunner, interrupts: Interrupts, bell: Bell, alarm: Bell
) -> tuple[AnyLane, ...]:
    store, settings = services.store, services.settings

    def words_in(language: str) -> Words:
        return services.soul().words_in(language)

    handler = ConversationHandler(services, interrupts, Slots(settings.max_cycles, services.clock))
    courier = Courier(
        store.outbox,
        services.channels,
        services.clock,
        services.emit,
        in_doubt=settings.in_doubt,
        stale_after=settings.stale_after,
        lease=settings.lease,
        words_in=words_in,
    )
    titler = Titler(store.titles, services.channels, services.emit, words_in)
    return lanes_of_soul(services, handler, courier, runner.do, titler, bell=bell, alarm=alarm)


def _night(services: CycleServices, runner: JobRunner, on_due: Callable[[], None]) -> Consolidator:
    settings, jobs = services.settings, services.store.jobs

    async def learn() -> bool:
        job = await jobs.claim_next(LEARNS)
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
        sweep=partial(sweep_visits, services, on_due),
        learn=learn,
        has_room=lambda: free_bytes(settings.home) >= LEAST_ROOM,
    )
