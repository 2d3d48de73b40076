"""All that consolidation reads and writes in memory.db, for one soul."""

from dataclasses import dataclass

from daemon.core.ports.clock import Clock
from daemon.memory.consolidation.distilling import Distilling
from daemon.memory.consolidation.items import Items
from daemon.memory.consolidation.merging import Merging
from daemon.memory.consolidation.runs import Runs
from daemon.memory.consolidation.slots import NightSlots
from daemon.memory.database import Database
from daemon.memory.records import Worker


@dataclass(frozen=True, slots=True)
class NightStores:
    """The slots and runs, and what each part works on."""

    slots: NightSlots
    runs: Runs
    items: Items
    merging: Merging
    distilling: Distilling


def night_stores(database: Database, clock: Clock, worker: Worker) -> NightStores:
    """The stores of one worker."""
    runs = Runs(database, clock, worker)
    return NightStores(
        slots=NightSlots(database, clock, worker),
        runs=runs,
        items=Items(database, clock, worker),
        merging=Merging(runs),
        distilling=Distilling(runs),
    )
