"""A permission that is never used: its decision ended before anything was done."""

from daemon.core.questions import BUTTON
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.queues.memory_acts import Asker


class PermissionLapses(Value):
    """A permission whose decision ended in an apology before it was used. `id` is that of the question."""

    id: str

    async def perform(self, transaction: Transaction, asker: Asker, _: int) -> None:
        """Mark the permission as failed. A question to a session keeps its own outcome."""
        await transaction.run(
            """
            UPDATE approvals SET state = 'failed'
            WHERE id = :id AND soul = :soul AND workspace = :workspace AND state = 'approved'
              AND instr(id, :asking) <> 1
            """,
            id=self.id,
            asking=BUTTON,
            **asker.scope,
        )
