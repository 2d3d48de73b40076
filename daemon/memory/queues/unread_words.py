"""Finds words of people that were to be learned from and were passed over, and queues the look at them."""

from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.knowledge.user_models import LEARNS_OF_PEOPLE
from daemon.memory.queues.jobs import TRIED_AGAIN_MS, enqueue_job
from daemon.memory.worker_store import WorkerStore

_MOST_FAILED = 3  # looks at the same words that failed for good, each after several tries

# It begins with the few rows that wait. What a person had forgotten meanwhile is no turn any more.
_WAITING = f"""
    SELECT DISTINCT c.id, c.version FROM looked_through l
    CROSS JOIN conversations c ON c.id = l.conversation
    CROSS JOIN user_models m ON m.soul = c.soul AND m.workspace = c.workspace AND m.person = l.person
      AND m.audience = c.audience
    WHERE l.wanted_to > l.up_to AND c.soul = :soul AND c.workspace = :workspace
      AND NOT EXISTS (SELECT 1 FROM remembering p WHERE p.soul = c.soul AND p.workspace = c.workspace
                        AND p.person = l.person AND p.paused_ms IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation = c.id AND j.kind = '{LEARNS_OF_PEOPLE}'
                        AND (j.state IN ('ready', 'running')
                          OR (j.state = 'dead' AND j.settled_ms BETWEEN :tried AND :now)))
      AND EXISTS (SELECT 1 FROM turns t WHERE t.author = l.person AND t.speaker = 'person' AND t.seq > l.up_to
                    AND t.seq <= l.wanted_to AND t.conversation = l.conversation AND t.passing = 0
                    AND (m.interactions >= :least OR EXISTS (
                      SELECT 1 FROM shown_facts s WHERE s.soul = c.soul AND s.workspace = c.workspace
                        AND s.person = l.person AND s.shown_ms >= t.said_ms))
                    AND (SELECT count(*) FROM jobs j WHERE j.conversation = c.id AND j.kind = '{LEARNS_OF_PEOPLE}'
                           AND j.state = 'dead' AND j.settled_ms > t.said_ms) < {_MOST_FAILED})
    """  # noqa: S608 - constants


class UnreadWords(WorkerStore):
    """What people said to one worker's soul that no job has looked through."""

    async def sweep(self, least: int) -> int:
        """Queue a look where none waits, for people with at least so many messages; gives in how many conversations.

        So it is with words of one who had said too little at the time, and behind a look that failed for good.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(
                _WAITING, least=least, tried=now - TRIED_AGAIN_MS, now=now, **self._worker.scope
            )
            for row in rows:
                await enqueue_job(transaction, LEARNS_OF_PEOPLE, ConversationKey.parse(row["id"]), row["version"], now)
            return len(rows)

        return await self._database.write(unit)
