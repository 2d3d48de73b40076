"""Builds what looks through a soul's memory while nobody speaks."""

from collections.abc import Callable

from daemon.core.config import Settings
from daemon.memory.queues.jobs import LEARNS
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes
from daemon.memory.store import Store
from daemon.mind.interrupts import Interrupts
from daemon.processes.consolidation import PARTS
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.runtime.background_jobs import JobRunner
from daemon.runtime.consolidation import Consolidator, NightPlan
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.visit_sweep import VisitSweep


def build_consolidator(
    settings: Settings, store: Store, services: CycleServices, interrupts: Interrupts, on_due: Callable[[], None]
) -> Consolidator:
    """The consolidation of one soul; `on_due` is called when there are jobs to do."""
    runner = JobRunner(services, store.jobs, SUBPROCESSES, interrupts)

    async def learn() -> bool:
        job = await store.jobs.claim_next(LEARNS)
        if job is not None:
            await runner.do(job)
        return job is not None

    return Consolidator(
        services.clock,
        services.emit,
        services.soul,
        services.mind,
        store.night,
        PARTS,
        NightPlan(settings.consolidate, settings.consolidate_zone, settings.consolidate_tokens),
        sweep=VisitSweep(store.ended_visits, store.unread_words, services.soul, services.tick_budget, on_due).once,
        learn=learn,
        has_room=lambda: free_bytes(settings.home) >= LEAST_ROOM,
    )
