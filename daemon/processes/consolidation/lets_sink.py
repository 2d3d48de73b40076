"""Lets facts that are never used weigh less."""

from functools import partial

from daemon.memory.consolidation.sinking import PART
from daemon.processes.consolidation.night import Night


async def lets_sink(night: Night) -> None:
    """Take one from the significance of each fact that was not used for two months. Raises StoreError."""
    sinking = night.stores.sinking
    unused = await sinking.unused(night.audience, night.clock.now_ms())
    await night.each(PART, unused, partial(sinking.sink, night.run))
