"""Marks the readings that a thought perceived, in its commit."""

import hashlib
from dataclasses import dataclass

from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.senses.perceiving import Sensed
from daemon.memory.senses.readings import wait_on


@dataclass(frozen=True, slots=True)
class ReadingsPerceived:
    """These stood in the prompt of a thought, and so did how many had gone; `trace` is the id of its cycle."""

    sensed: Sensed
    trace: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        said = await self._said(transaction, asker.conversation)
        for one in self.sensed.readings:
            row = await transaction.one(
                """
                UPDATE readings SET state = 'perceived', perceived_by = :trace, perceived_ms = :now, said = :said,
                  wakes_ms = NULL
                WHERE seq = :seq AND state = 'waiting' RETURNING *
                """,
                trace=self.trace,
                now=now,
                said=said,
                seq=one.seq,
            )
            if row is not None and (more := row["n"] - one.n) > 0:
                await transaction.run("UPDATE readings SET n = :n WHERE seq = :seq", n=one.n, seq=one.seq)
                await wait_on(transaction, row, more, now)
        if self.sensed.dropped:
            await transaction.run(
                """
                UPDATE readings SET perceived_by = :trace WHERE seq IN
                  (SELECT seq FROM readings WHERE conversation = :id AND state = 'dropped' AND perceived_by = ''
                   ORDER BY seq LIMIT :many)
                """,
                trace=self.trace,
                id=str(asker.conversation),
                many=self.sensed.dropped,
            )

    async def _said(self, transaction: Transaction, where: ConversationKey) -> str:
        """What this cycle thought, as a digest; empty where it stored no thought."""
        row = await transaction.one(
            "SELECT output, trace_id FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1", id=str(where)
        )
        if row is None or row["trace_id"] != self.trace:
            return ""
        return hashlib.sha256(row["output"].encode("utf-8", "surrogatepass")).hexdigest()[:16]
