"""Ends visits that fell silent without a look at them, and queues all that wait to be looked through."""

from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Episode
from daemon.memory.knowledge.records.store import select
from daemon.memory.knowledge.visits import REMEMBERED, end_episode
from daemon.memory.queues.jobs import TRIED_AGAIN_MS, enqueue_job
from daemon.memory.queues.occasions import note_end_of_visit
from daemon.memory.worker_store import WorkerStore


class EndedVisits(WorkerStore):
    """The visits of one worker's soul that nothing else ends or looks through."""

    async def sweep(self, silent_ms: int, then: str, *, wakes: bool = False) -> int:
        """End each visit that is silent for so long, and queue the job `then` where one waits; gives how many wait.

        These are also visits that lost their words with a deleted message, and are looked through anew. `wakes`: the
        soul thinks by itself about those that end.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            silent = await select(
                transaction,
                Episode,
                """
                r.soul = :soul AND r.workspace = :workspace AND k.state = 'open' AND NOT EXISTS (
                  SELECT 1 FROM conversations c WHERE c.id = r.conversation AND c.spoken_ms >= :since)
                """,
                since=now - silent_ms,
                **self._worker.scope,
            )
            for one in silent:
                await end_episode(transaction, one, now)
                if wakes and one.conversation:
                    await note_end_of_visit(transaction, ConversationKey.parse(one.conversation), now)
            rows = await transaction.rows(
                f"""
                SELECT DISTINCT c.id, c.version FROM records r JOIN episodes k ON k.id = r.id
                  JOIN conversations c ON c.id = r.conversation
                WHERE r.soul = :soul AND r.workspace = :workspace AND r.kind = 'episode' AND k.state = 'closing'
                  AND {REMEMBERED} AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation = c.id AND j.kind = :then
                    AND (j.state IN ('ready', 'running') OR (j.state = 'dead' AND j.settled_ms > :tried)))
                """,  # noqa: S608 - a constant of this package
                then=then,
                tried=now - TRIED_AGAIN_MS,
                **self._worker.scope,
            )
            for row in rows:
                await enqueue_job(transaction, then, ConversationKey.parse(row["id"]), row["version"], now)
            return len(rows)

        return await self._database.write(unit)
