"""A soul's first thought in a workspace, and what it perceives in its inner room from then on (seed 002)."""

from typing import Final

from daemon.core.lineage import inner_room
from daemon.core.perception import Audience, AudienceKind, Place
from daemon.core.sensing import HouseSense
from daemon.core.tempo import FIRST_PAUSE_MS, LONGEST_PAUSE_MS, TickKind, span_in_words
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import conversation_columns
from daemon.memory.senses.readings import NewReading, keep_reading
from daemon.memory.worker_store import WorkerStore

LEAST_AWAY_MS: Final = 90_000
"""The shortest absence after which a soul perceives that it is awake again. An absence is known to half a minute."""

_AWAKENING: Final[TickKind] = "awakening"
_SCOPE: Final = "soul = :soul AND workspace = :workspace"
_AWAKE: Final = "thinks = 1 AND woke_ms IS NOT NULL"


class Awakenings(WorkerStore):
    """The awakening of one worker's soul. Each call may raise StoreError."""

    async def is_begun(self) -> bool:
        """Return whether the soul's first thought was thought or is queued."""
        return await self._database.one(f"SELECT 1 FROM awakenings WHERE {_SCOPE}", **self._worker.scope) is not None  # noqa: S608

    async def begin(self) -> bool:
        """Open the inner room and queue the first thought there, or return False if that was done before."""
        now, where = self._clock.now_ms(), inner_room(self._worker.soul, self._worker.workspace)

        async def unit(transaction: Transaction) -> bool:
            new = await transaction.one(
                """
                INSERT INTO awakenings (soul, workspace, began_ms, seen_ms, thinks)
                VALUES (:soul, :workspace, :now, :now, 1) ON CONFLICT (soul, workspace) DO NOTHING RETURNING 1
                """,
                now=now,
                **self._worker.scope,
            )
            if new is None:
                return False
            everybody = Audience(AudienceKind.WORKSPACE, where.workspace)
            await open_conversation(transaction, where, Place.TERMINAL, everybody, now)
            await transaction.insert(
                "ticks",
                "ON CONFLICT (conversation, kind, about) DO NOTHING",
                **conversation_columns(where),
                kind=_AWAKENING,
                about="",
                due_ms=now,
            )
            return True

        return await self._database.write(unit)

    async def resume(self) -> None:
        """Note that the soul thinks, and have an awake soul perceive an absence of LEAST_AWAY_MS or more."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            row = await transaction.one(
                f"SELECT seen_ms FROM awakenings WHERE {_SCOPE} AND woke_ms IS NOT NULL",  # noqa: S608 - a constant
                **self._worker.scope,
            )
            if row is None:
                return
            if (away_ms := now - row["seen_ms"]) >= LEAST_AWAY_MS:
                reading = NewReading(HouseSense.DAEMON, f"awake again after {span_in_words(away_ms / 1000, units=2)}")
                await keep_reading(transaction, inner_room(self._worker.soul, self._worker.workspace), reading, now)
            await self._seen(transaction, now, thinks=True)

        await self._database.write(unit)

    async def note(self, *, thinks: bool) -> None:
        """Note that a daemon hosts the soul now, and whether the soul thinks by itself."""
        now = self._clock.now_ms()
        await self._database.write(lambda transaction: self._seen(transaction, now, thinks=thinks), passing=True)

    async def perceive(self, sense: HouseSense, words: str) -> None:
        """Have every soul of this file that is awake perceive something in its inner room."""
        now, awake = self._clock.now_ms(), f"SELECT 1 FROM awakenings WHERE {_AWAKE} LIMIT 1"  # noqa: S608 - a constant
        if await self._database.one(awake) is not None:
            await self._database.write(lambda unit: perceive_inside(unit, NewReading(sense, words), now))

    async def _seen(self, transaction: Transaction, now: int, *, thinks: bool) -> None:
        """Note that the soul is hosted, and retry a first thought that was given up after an hour."""
        await transaction.run(
            f"UPDATE awakenings SET seen_ms = :now, thinks = :thinks WHERE {_SCOPE}",  # noqa: S608 - a constant
            now=now,
            thinks=int(thinks),
            **self._worker.scope,
        )
        await transaction.run(
            f"""
            UPDATE ticks SET due_ms = :later, inbox = '' WHERE conversation = :room AND kind = :kind AND due_ms IS NULL
              AND EXISTS (SELECT 1 FROM awakenings WHERE {_SCOPE} AND woke_ms IS NULL)
              AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.id = ticks.inbox AND i.state IN ('new', 'claimed'))
            """,  # noqa: S608 - a constant
            later=now + FIRST_PAUSE_MS,
            room=str(inner_room(self._worker.soul, self._worker.workspace)),
            kind=_AWAKENING,
            **self._worker.scope,
        )


async def perceive_inside(transaction: Transaction, reading: NewReading, now: int) -> None:
    """Have every soul that is awake and thinks by itself perceive something in its inner room."""
    rows = await transaction.rows(f"SELECT soul, workspace FROM awakenings WHERE {_AWAKE}")  # noqa: S608 - a constant
    for row in rows:
        await keep_reading(transaction, inner_room(row["soul"], row["workspace"]), reading, now)


async def settle_awakening(transaction: Transaction, tick: sqlite3.Row, skipped: str, now: int) -> int | None:
    """Settle the tick of a first thought in its commit.

    Notes that the soul woke, or returns the pause (ms) before a retry. Returns None for all other ticks, and for a tick
    that waits for the budget. The first thought is retried until it succeeds.
    """
    if tick["kind"] != _AWAKENING or skipped == "budget":
        return None
    if skipped:
        return min(LONGEST_PAUSE_MS, max(FIRST_PAUSE_MS, int(tick["pause_ms"]) * 2))
    await transaction.run(
        f"UPDATE awakenings SET woke_ms = coalesce(woke_ms, :now) WHERE {_SCOPE}",  # noqa: S608 - a constant
        now=now,
        soul=tick["soul"],
        workspace=tick["workspace"],
    )
    return None
