"""Counts the steps of SQLite's virtual machine that a piece of work takes: they don't depend on the machine."""

from daemon.memory.database import Database

EVERY = 10  # steps between two counts


class Counter:
    """Counts the steps of all statements, and those of the longest transaction."""

    def __init__(self) -> None:
        self.steps = self.longest = self._here = 0

    def step(self) -> int:
        self.steps += EVERY
        self._here += EVERY
        self.longest = max(self.longest, self._here)
        return 0

    def statement(self, sql: str) -> None:
        if sql.startswith("BEGIN"):
            self._here = 0


async def count_steps(database: Database) -> Counter:
    """A counter of the steps that all statements take from now on."""
    counter = Counter()
    readers = [database._readers.get_nowait() for _ in range(2)]
    for connection in (database._writer, *readers):
        await connection.set_progress_handler(counter.step, EVERY)
        await connection.set_trace_callback(counter.statement)
    for reader in readers:
        database._readers.put_nowait(reader)
    return counter
