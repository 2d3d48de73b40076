"""The slots of consolidation: one daemon at a time claims a slot, also over restarts, and no slot is done twice."""

from daemon.core.errors import LostLease
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.memory.consolidation.distilling import Distilling
from daemon.memory.consolidation.merging import Merging
from daemon.memory.consolidation.runs import Items, Runs, Slot
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.jobs import LEARNS
from daemon.memory.records import Worker
from daemon.memory.worker_store import WorkerStore

_KEY = "soul = :soul AND workspace = :workspace"


class Newest(Value):
    """The newest slot of a soul, with times in ms. `free`: no daemon holds the slot, and it may be claimed now.

    `ordered_ms` is when an admin asked for another slot.
    """

    at_ms: int
    is_open: bool
    by_hand: bool
    ordered_ms: int | None
    free: bool


class NightSlots(WorkerStore):
    async def newest(self) -> Newest:
        """Return the newest slot. The first call stores the present time as a slot that is done."""
        now = self._clock.now_ms()

        async def look(transaction: Transaction) -> Newest | None:
            row = await transaction.one(f"SELECT * FROM consolidation_slots WHERE {_KEY}", **self._worker.scope)  # noqa: S608 - a constant
            if row is None:
                return None
            free = (not row["lease_owner"] or row["lease_until"] <= now) and row["not_before"] <= now
            return Newest(row["slot_ms"], row["state"] == "open", bool(row["by_hand"]), row["ordered_ms"], free)

        found = await self._database.read(look)
        if found is not None:
            return found
        await self._database.write(
            lambda transaction: transaction.insert(
                "consolidation_slots", "ON CONFLICT DO NOTHING", slot_ms=now, state="done", **self._worker.scope
            )
        )
        return Newest(now, False, False, None, True)

    async def order(self) -> int:
        """Ask for a slot now, for the next daemon of the soul that looks. Return its time in ms."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            row = await transaction.insert(
                "consolidation_slots",
                """
                ON CONFLICT (soul, workspace) DO UPDATE
                  SET ordered_ms = max(excluded.ordered_ms, consolidation_slots.slot_ms + 1) RETURNING ordered_ms
                """,
                slot_ms=now - 1,
                state="done",
                ordered_ms=now,
                **self._worker.scope,
            )
            assert row is not None
            return int(row["ordered_ms"])

        return await self._database.write(unit)

    async def take(self, seen: Newest, at_ms: int, *, by_hand: bool) -> Slot | None:
        """Claim a slot, or resume the open one. None when another daemon was faster. Older runs end as `cut`."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Slot | None:
            row = await transaction.one(
                f"""
                UPDATE consolidation_slots SET slot_ms = :at_ms, state = 'open', by_hand = :by_hand,
                  tries = CASE WHEN slot_ms = :at_ms THEN tries ELSE 0 END, not_before = 0,
                  learned_tokens = CASE WHEN slot_ms = :at_ms THEN learned_tokens ELSE 0 END,
                  ordered_ms = CASE WHEN ordered_ms <= :at_ms THEN NULL ELSE ordered_ms END,
                  lease_owner = :owner, lease_until = :until, fence = fence + 1
                WHERE {_KEY} AND slot_ms = :seen AND state = :state AND (lease_owner = '' OR lease_until <= :now)
                RETURNING fence, tries
                """,  # noqa: S608 - a constant
                at_ms=at_ms,
                by_hand=int(by_hand),
                owner=self._worker.id,
                until=now + self._worker.lease_ms,
                seen=seen.at_ms,
                state="open" if seen.is_open else "done",
                now=now,
                **self._worker.scope,
            )
            if row is None:
                return None
            await transaction.run(
                f"""
                UPDATE consolidations SET state = 'cut', ended_ms = :now
                WHERE {_KEY} AND slot_ms < :at_ms AND state = 'running'
                """,  # noqa: S608 - a constant
                now=now,
                at_ms=at_ms,
                **self._worker.scope,
            )
            return Slot(at_ms, row["fence"], by_hand, row["tries"])

        return await self._database.write(unit)

    @property
    def renew_every(self) -> float:
        return self._worker.lease_ms / 3000

    async def renew(self, slot: Slot) -> None:
        """Renew the lease of a slot. Raises LostLease."""
        held = await self._database.run(
            f"""
            UPDATE consolidation_slots SET lease_until = :until WHERE {_KEY} AND fence = :fence RETURNING slot_ms
            """,  # noqa: S608 - a constant
            until=self._clock.now_ms() + self._worker.lease_ms,
            fence=slot.fence,
            **self._worker.scope,
        )
        if not held:
            raise LostLease("another daemon consolidates now", hint="nothing to do: it goes on")

    async def release(self, slot: Slot, *, done: bool, wait_ms: int = 0, again: bool = False) -> None:
        """Release a slot: done, or open to be resumed after `wait_ms`. `again` counts a failed try."""
        await self._database.run(
            f"""
            UPDATE consolidation_slots SET state = :state, tries = tries + :again, not_before = :not_before,
              lease_owner = '', lease_until = 0 WHERE {_KEY} AND fence = :fence
            """,  # noqa: S608 - a constant
            state="done" if done else "open",
            again=int(again),
            not_before=self._clock.now_ms() + wait_ms if wait_ms else 0,
            fence=slot.fence,
            **self._worker.scope,
        )

    async def quiet(self, for_ms: int) -> bool:
        """Return True if no user has spoken to the soul for `for_ms`, and no message waits for an answer."""
        row = await self._database.one(
            f"""
            SELECT EXISTS (SELECT 1 FROM inbox WHERE {_KEY} AND state IN ('new', 'claimed') AND modality = 'words')
                OR EXISTS (SELECT 1 FROM conversations WHERE {_KEY} AND spoken_ms > :since) AS busy
            """,  # noqa: S608 - a constant
            since=self._clock.now_ms() - for_ms,
            **self._worker.scope,
        )
        return row is not None and not row["busy"]

    async def hurry_learning(self) -> None:
        """Make the learning jobs that wait for a lull due now."""
        await self._database.run(
            f"""
            UPDATE jobs SET not_before = 0 WHERE {_KEY} AND kind IN ('{LEARNS[0]}', '{LEARNS[1]}')
              AND state = 'ready' AND attempts = 0 AND not_before > 0
            """,  # noqa: S608 - constants
            **self._worker.scope,
        )

    async def is_learning(self) -> bool:
        """Return True if a job that consolidation waits for is due or running."""
        row = await self._database.one(
            f"""
            SELECT 1 FROM jobs WHERE {_KEY} AND kind IN ('{LEARNS[0]}', '{LEARNS[1]}')
              AND state IN ('ready', 'running') AND (state = 'running' OR not_before <= :now) LIMIT 1
            """,  # noqa: S608 - constants
            now=self._clock.now_ms(),
            **self._worker.scope,
        )
        return row is not None

    async def zone(self) -> str:
        """Return the most frequent known time zone of the workspace's users. Empty if none is known."""
        row = await self._database.one(
            """
            SELECT zone FROM person_zones WHERE workspace = :workspace AND zone <> ''
            GROUP BY zone ORDER BY count(*) DESC, zone LIMIT 1
            """,
            workspace=self._worker.workspace,
        )
        return str(row["zone"]) if row else ""


class NightStores(Value):
    """The stores that consolidation uses."""

    slots: NightSlots
    runs: Runs
    items: Items
    merging: Merging
    distilling: Distilling


def night_stores(database: Database, clock: Clock, worker: Worker) -> NightStores:
    runs = Runs(database, clock, worker)
    return NightStores(
        slots=NightSlots(database, clock, worker),
        runs=runs,
        items=Items(database, clock, worker),
        merging=Merging(runs),
        distilling=Distilling(runs),
    )
