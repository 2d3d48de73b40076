"""The common part of the queues and the knowledge that one worker reads and writes."""

from daemon.core.ports import Clock
from daemon.memory.database import Database
from daemon.memory.records import Worker


class WorkerStore:
    """Holds the database, the clock and the worker; a subclass adds the statements."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def _due_ms(self, sql: str) -> int | None:
        """The value of column `due` for the soul and workspace of the worker."""
        row = await self._database.one(sql, **self._worker.scope)
        return row["due"] if row else None
