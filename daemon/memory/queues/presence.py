"""Living daemons, each with a row and a heartbeat, and the release of claims that dead daemons held."""

import json
import os
import socket
from collections.abc import Mapping, Sequence

from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.claims import SLACK_MS, any_too_long, shorten
from daemon.memory.spending.reservations import settle_lost

SILENT_MS = 60_000
"""Milliseconds without a heartbeat after which a daemon counts as hanging, or its machine as asleep."""

GHOST_MS = 24 * 3600 * 1000
"""Milliseconds of silence after which a row belongs to no living daemon, on any host."""


class OtherDaemon(Value):
    """A living daemon on the same memory.db, as its last heartbeat says.

    `account` is the platform account whose messages it hears. `souls` are those it hosts, with their channels. Both are
    empty in rows of older programs.
    """

    workspace: str
    account: str
    souls: Mapping[str, Sequence[str]]


class Presence:
    """The row of this daemon, and the release of what dead daemons held.

    A process is dead if its lock is free (`daemon/memory/database/process_locks.py`). In doubt it counts as alive, and
    its leases decide. `lease` is that of this daemon's claims, in seconds.
    """

    def __init__(
        self, database: Database, clock: Clock, *, soul: str, workspace: str, kind: str, version: str, lease: float
    ) -> None:
        self._database = database
        self._processes = database.processes
        self._clock = clock
        self._soul = soul
        self._workspace = workspace
        self._kind = kind
        self._version = version
        self._lease = lease
        self._started = clock.now_ms()

    async def beat(self, state: str, detail: Mapping[str, object]) -> None:
        """Write the heartbeat of this daemon, with its state and details."""
        await self._database.write(
            lambda transaction: transaction.insert(
                "presence",
                """
                ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, state = excluded.state,
                                               detail = excluded.detail
                """,
                id=self._processes.own,
                soul=self._soul,
                workspace=self._workspace,
                kind=self._kind,
                host=socket.gethostname(),
                pid=os.getpid(),
                version=self._version,
                sqlite=sqlite3.sqlite_version,
                started_ms=self._started,
                seen_ms=self._clock.now_ms(),
                state=state,
                detail=json.dumps(detail),
            ),
            passing=True,
        )

    async def others(self) -> tuple[OtherDaemon, ...]:
        """Return the other living daemons. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT id, workspace, detail FROM presence
            WHERE id <> :me AND seen_ms > :now - :silence AND seen_ms <= :now + :slack ORDER BY id
            """,
            me=self._processes.own,
            now=self._clock.now_ms(),
            silence=SILENT_MS,
            slack=SLACK_MS,
        )
        return tuple(_other(row) for row in rows if not self._processes.has_ended(row["id"]))

    async def leave(self) -> None:
        """Delete this daemon's row on a clean stop, and the presence of its souls at shared contexts."""

        async def unit(transaction: Transaction) -> None:
            for statement in _ROWS:
                await transaction.run(statement, id=self._processes.own)

        await self._database.write(unit, passing=True)

    def anyone_died(self) -> bool:
        return bool(self._processes.ended())

    async def release_dead_claims(self, in_doubt: float) -> int:
        """Release the claims of dead daemons before their leases lapse, and return how many were dead.

        Their reservations for model calls count as spent. Their last request may still be under way: posts they were
        sending are looked up after `in_doubt` seconds. Rows that were silent for a day, or are dated a day ahead, are
        deleted on any host. Leases that a wrong clock wrote are shortened.
        """
        look_up_ms = self._clock.now_ms() + int(in_doubt * 1000)
        ended = self._processes.ended()  # looked for first: what they held is in the rows below
        rows = await self._database.rows(
            """
            SELECT lease_owner AS id FROM conversations WHERE lease_owner <> ''
            UNION SELECT lease_owner FROM outbox WHERE lease_owner <> '' AND state IN ('pending', 'sending')
            UNION SELECT lease_owner FROM jobs WHERE lease_owner <> '' AND state IN ('ready', 'running')
            UNION SELECT lease_owner FROM consolidation_slots WHERE lease_owner <> ''
            UNION SELECT lease_owner FROM duties WHERE lease_owner <> ''
            UNION SELECT holder FROM reservations
            UNION SELECT process FROM awareness WHERE until_ms IS NULL
            UNION SELECT id FROM presence
            """
        )
        dead = [row["id"] for row in rows if self._processes.has_ended(row["id"])]

        async def release(transaction: Transaction) -> None:
            for holder in dead:
                for statement in _RELEASE:
                    await transaction.run(statement, id=holder, look_up=look_up_ms)
                await settle_lost(transaction, "holder = :which", holder)

        if dead:
            await self._database.write(release)
        for name in ended:
            self._processes.remove(name)
        silent = await self._database.rows(
            "SELECT id FROM presence WHERE seen_ms < :now - :day OR seen_ms > :now + :day",
            now=self._clock.now_ms(),
            day=GHOST_MS,
        )
        for row in silent:
            if self._processes.has_ended(row["id"]) is not False:
                await self._database.run("DELETE FROM presence WHERE id = :id", id=row["id"])
        await self._shorten_leases(in_doubt)
        await self._forget_leases()
        return len(dead)

    async def _shorten_leases(self, in_doubt: float) -> None:
        """Shorten claims that bind longer than a new one, or than a post waits to be looked up."""
        last = self._clock.now_ms() + int(max(self._lease, in_doubt) * 1000) + SLACK_MS
        if await self._database.read(lambda transaction: any_too_long(transaction, last)):
            await self._database.write(lambda transaction: shorten(transaction, last), passing=True)

    async def _forget_leases(self) -> None:
        gone, now = f"FROM awareness WHERE until_ms < :now OR until_ms > :now + {GHOST_MS}", self._clock.now_ms()
        if await self._database.one(f"SELECT 1 {gone} LIMIT 1", now=now):
            await self._database.write(lambda transaction: transaction.run(f"DELETE {gone}", now=now), passing=True)


def _other(row: sqlite3.Row) -> OtherDaemon:
    detail = json.loads(row["detail"])
    souls = {soul: tuple(map(str, channels)) for soul, channels in detail.get("souls", {}).items()}
    return OtherDaemon(row["workspace"], str(detail.get("account", "")), souls)


_ROWS = ("DELETE FROM presence WHERE id = :id", "DELETE FROM awareness WHERE process = :id")
_RELEASE = (
    "UPDATE conversations SET lease_until = 0, lease_owner = '' WHERE lease_owner <> '' AND lease_owner = :id",
    """
    UPDATE outbox SET lease_until = :look_up, lease_owner = ''
    WHERE state IN ('pending', 'sending') AND lease_owner = :id
    """,
    "UPDATE jobs SET lease_until = 0, lease_owner = '' WHERE state IN ('ready', 'running') AND lease_owner = :id",
    "UPDATE consolidation_slots SET lease_until = 0, lease_owner = '' WHERE lease_owner = :id",
    "UPDATE duties SET lease_until = 0, lease_owner = '' WHERE lease_owner = :id",
    *_ROWS,
)
