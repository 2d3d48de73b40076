"""What one daemon does for all that share memory.db, at a time: reading what was missed, copying, pruning.

Who does it holds a lease. One that doesn't count, or whose daemon is dead, is taken over; two that hold it for a
moment do no harm, since each of these may be done twice.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.queues.leases import holds

LEASE_MS: Final = 15_000
LOOK_S: Final = 5.0
"""Seconds after which one who found another at it looks again."""

_NEVER_MS: Final = 2**62


class Duty:
    """One duty, by its name. It is due `every_s` seconds after it was done, or with None only when it is asked for."""

    def __init__(self, database: Database, clock: Clock, name: str, *, every_s: float | None = None) -> None:
        self._database = database
        self._clock = clock
        self._name = name
        self._every_s = every_s

    async def ask(self) -> None:
        """Have it done by one of the daemons, once more if one is at it now. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.insert(
                "duties",
                "ON CONFLICT (name) DO UPDATE SET due_ms = excluded.due_ms, asked = duties.asked + 1",
                name=self._name,
                due_ms=now,
                asked=1,
            )

        await self._database.write(unit, passing=True)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Hold it while the block runs, if it is due and no living daemon is at it; then the block is to do it.

        Gives 0, else the seconds after which to look again. It is done once the block has ended without an error.
        Raises StoreError.
        """
        row = await self._database.one("SELECT * FROM duties WHERE name = :name", name=self._name)
        wait = self._seconds_until_due(row)
        asked = None if wait else await self._take(row)
        if asked is None:
            yield wait or LOOK_S
            return
        done = False
        try:
            async with alongside(self._renew()):
                yield 0.0
            done = True
        finally:
            with suppress(StoreError):  # else the lease ends by itself, and it is done once more
                await self._let_go(asked, done=done)

    def _seconds_until_due(self, row: sqlite3.Row | None) -> float:
        if row is None:
            return LOOK_S if self._every_s is None else 0.0
        left_ms = int(row["due_ms"]) - self._clock.now_ms()
        most_s = LOOK_S if self._every_s is None else self._every_s  # a clock that was ahead is not waited for
        return max(0.0, min(left_ms / 1000, most_s))

    async def _take(self, row: sqlite3.Row | None) -> int | None:
        """Take it as it was found; gives how often it was asked for. None: another daemon is at it, or was faster."""
        now, me = self._clock.now_ms(), self._database.processes.own
        owner, until = (row["lease_owner"], row["lease_until"]) if row else ("", 0)
        held = owner not in {"", me} and holds(until, now, LEASE_MS)
        if held and not self._database.processes.has_ended(owner):
            return None

        async def unit(transaction: Transaction) -> int | None:
            await transaction.insert("duties", "ON CONFLICT (name) DO NOTHING", name=self._name, due_ms=now)
            taken = await transaction.one(
                """
                UPDATE duties SET lease_owner = :me, lease_until = :lease
                WHERE name = :name AND lease_owner = :owner AND lease_until = :until RETURNING asked
                """,
                me=me,
                lease=now + LEASE_MS,
                name=self._name,
                owner=owner,
                until=until,
            )
            return int(taken["asked"]) if taken else None

        return await self._database.write(unit, passing=True)

    async def _let_go(self, asked: int, *, done: bool) -> None:
        """Give it back; done, it is due again as set, unless it was asked for meanwhile."""
        next_ms = _NEVER_MS if self._every_s is None else self._clock.now_ms() + int(self._every_s * 1000)

        async def unit(transaction: Transaction) -> None:
            await transaction.run(
                """
                UPDATE duties SET lease_owner = '', lease_until = 0,
                  due_ms = CASE WHEN :done AND asked = :asked THEN :next ELSE due_ms END
                WHERE name = :name AND lease_owner = :me
                """,
                done=int(done),
                asked=asked,
                next=next_ms,
                name=self._name,
                me=self._database.processes.own,
            )

        await self._database.write(unit, passing=True)

    async def _renew(self) -> None:
        while True:
            await self._clock.sleep(LEASE_MS / 3000)
            with suppress(StoreError):  # the next renewal may still be in time
                await self._database.write(self._hold_on, passing=True)

    async def _hold_on(self, transaction: Transaction) -> None:
        await transaction.run(
            "UPDATE duties SET lease_until = :until WHERE name = :name AND lease_owner = :me",
            until=self._clock.now_ms() + LEASE_MS,
            name=self._name,
            me=self._database.processes.own,
        )
