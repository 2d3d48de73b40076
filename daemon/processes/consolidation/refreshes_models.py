"""Keeps the models of people fresh: guesses that nothing renewed for a month are let go of."""

from daemon.processes.consolidation.night import Night


async def refreshes_models(night: Night) -> None:
    """Empty stale guesses; lines need no refreshing, since they are the facts that hold. Raises StoreError."""
    refreshing = night.stores.refreshing
    for person in await refreshing.stale(night.audience, night.clock.now_ms()):
        if person not in night.paused:
            await refreshing.let_go(night.run, person)
