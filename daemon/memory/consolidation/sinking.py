"""What is never used weighs less with time, and is found less readily; it never goes for that."""

from typing import Final

from daemon.core.perception import Audience
from daemon.memory.consolidation.items import note_seen
from daemon.memory.consolidation.recorder import Recorder
from daemon.memory.consolidation.runs import Run, Runs
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.knowledge.records.store import get

PART: Final = "lets_sink"
UNUSED_MS: Final = 60 * 86_400_000
"""How long a fact keeps its significance without being used, quoted, corrected or noted anew."""

LEAST: Final = 1
_AT_ONCE: Final = 200  # facts of one audience in a night

# The newest of: noted, used, quoted, linked with what corrected or confirmed it, sunk, looked at.
_UNUSED: Final = f"""
    r.significance > {LEAST} AND r.created_ms <= :before AND coalesce(f.used_ms, 0) <= :before
    AND NOT EXISTS (SELECT 1 FROM links l WHERE l.origin = r.id AND l.linked_ms > :before
                    AND l.relation IN ('evidence', 'supersedes'))
    AND NOT EXISTS (SELECT 1 FROM consolidation_items i WHERE i.part = '{PART}' AND i.object = r.id
                    AND (i.parked = 1 OR i.seen_ms > :before))
"""  # noqa: S608 - constants


class Sinking:
    """Facts of one audience that were not used for long."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def unused(self, audience: Audience, now: int) -> tuple[str, ...]:
        """The ids of facts that hold now and were not used, quoted or corrected for long, oldest first."""
        return await self._runs.facts(audience, _UNUSED, _AT_ONCE, before=now - UNUSED_MS)

    async def sink(self, run: Run, fact_id: str) -> None:
        """Take one from the significance of a fact, unless it was used meanwhile. Raises LostLease."""

        async def unit(recorder: Recorder) -> None:
            fact = await get(recorder.transaction, fact_id)
            if not isinstance(fact, Fact) or fact.significance <= LEAST or fact.valid_until_ms is not None:
                return
            if fact.used_ms is not None and fact.used_ms > recorder.now - UNUSED_MS:
                return
            await recorder.change(fact_id, "not used for long", significance=fact.significance - 1)
            await note_seen(recorder.transaction, PART, [fact_id], recorder.now)

        await self._runs.write(run, PART, unit)
