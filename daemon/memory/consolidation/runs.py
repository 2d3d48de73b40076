"""The runs of consolidation (one row per slot and audience with work), and the records that its parts failed at."""

import datetime as dt
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Literal, TypeVar

from daemon.core.errors import LostLease
from daemon.core.last_line import FAULTS
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import LLMCall
from daemon.core.value import Value
from daemon.memory.consolidation.undo import Recorder
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.records import as_json
from daemon.memory.spending.reservations import store_calls
from daemon.memory.worker_store import WorkerStore

T = TypeVar("T")

RunState = Literal["running", "done", "cut", "failed", "undone"]
"""`cut`: the budget did not suffice. `failed`: a part raised an error. The next slot takes up the rest."""

_PAGE: Final = 2_000  # facts in one read
_AT_ONCE: Final = 100  # audiences in one read
_FOLLOWING: Final = """
    SELECT n.audience,
      EXISTS (SELECT 1 FROM records INDEXED BY records_by_audience
              WHERE soul = :soul AND audience = n.audience AND workspace = :workspace)
      AS here,
      (SELECT max(began_ms) FROM consolidations WHERE soul = :soul AND workspace = :workspace
         AND audience = n.audience AND (state = 'done' OR state IN ('cut', 'failed') AND (tokens > 0 OR did <> '{}')))
         AS last,
      EXISTS (SELECT 1 FROM consolidations WHERE soul = :soul AND workspace = :workspace AND slot_ms = :slot_ms
         AND audience = n.audience AND state IN ('done', 'cut', 'undone')) AS done
    FROM (SELECT min(audience) AS audience FROM records INDEXED BY records_by_audience
          WHERE soul = :soul AND audience > :after) n
"""
_KEY: Final = "soul = :soul AND workspace = :workspace AND slot_ms = :slot_ms"


class Slot(Value):
    """A slot that this worker has claimed: its time in ms, and the fence of the claim.

    `by_hand`: an admin asked for it. `tries` counts how often its failed audiences were retried.
    """

    at_ms: int
    fence: int
    by_hand: bool = False
    tries: int = 0


class Run(Value):
    """The work of one slot for one audience."""

    slot: Slot
    audience: Audience


class Runs(WorkerStore):
    @property
    def scope(self) -> dict[str, str]:
        return self._worker.scope

    async def audiences(self, slot: Slot) -> tuple[Audience, ...]:
        """Return the audiences that have memories and are not done in this slot.

        The audience with the oldest last run comes first. DMs of people who paused remembering are left out. The read
        is done in short transactions.
        """
        left = await self._private_of_paused()
        waiting: list[tuple[int, str]] = []
        after: str | None = ""
        while after is not None:
            found, after = await self._database.read(partial(self._next_audiences, slot=slot, after=after))
            waiting += [one for one in found if one[1] not in left]
        return tuple(_readable(audience for _, audience in sorted(waiting)))

    async def _next_audiences(
        self, transaction: Transaction, slot: Slot, after: str
    ) -> tuple[list[tuple[int, str]], str | None]:
        """Return audiences after `after` with the time of their last run, and the next `after` (None at the end)."""
        found: list[tuple[int, str]] = []
        last = after
        for _ in range(_AT_ONCE):
            row = await transaction.one(_FOLLOWING, after=last, slot_ms=slot.at_ms, **self._worker.scope)
            if row is None or row["audience"] is None:
                return found, None
            last = str(row["audience"])
            if row["here"] and not row["done"]:
                found.append((int(row["last"] or 0), last))
        return found, last

    async def _private_of_paused(self) -> frozenset[str]:
        rows = await self._database.rows(
            """
            SELECT m.audience FROM remembering p JOIN user_models m ON m.soul = p.soul AND m.workspace = p.workspace
              AND m.person = p.person
            WHERE p.soul = :soul AND p.workspace = :workspace AND p.paused_ms IS NOT NULL AND m.audience LIKE 'dm:%'
            """,
            **self._worker.scope,
        )
        return frozenset(row["audience"] for row in rows)

    async def paused(self) -> frozenset[str]:
        """Return the platform ids of the people who paused remembering."""
        rows = await self._database.rows(
            "SELECT person FROM remembering WHERE soul = :soul AND workspace = :workspace AND paused_ms IS NOT NULL",
            **self._worker.scope,
        )
        return frozenset(row["person"] for row in rows)

    async def read(self, unit: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._database.read(unit)

    async def facts(self, audience: Audience, wanted: str, most: int) -> tuple[str, ...]:
        """Return the ids of up to `most` facts of an audience that hold now, oldest first, read in short pages.

        Facts about people who paused remembering are left out, and claims by them. `wanted` is a literal of this
        package over `r` (records) and `f` (facts).
        """
        found: list[str] = []
        after = 0
        while len(found) < most:
            rows = await self._database.rows(
                f"""
                SELECT r.seq, r.id, f.valid_until_ms IS NULL AND {wanted} AND NOT EXISTS (
                  SELECT 1 FROM remembering p WHERE p.soul = :soul AND p.workspace = :workspace
                    AND p.person IN (r.person, f.claimed_by) AND p.paused_ms IS NOT NULL) AS wanted
                FROM records r INDEXED BY facts_by_audience JOIN facts f ON f.id = r.id
                WHERE r.soul = :soul AND r.workspace = :workspace
                  AND r.audience = :audience AND r.kind = 'fact' AND r.seq > :after ORDER BY r.seq LIMIT {_PAGE}
                """,  # noqa: S608 - literals
                audience=str(audience),
                after=after,
                **self._worker.scope,
            )
            found += [row["id"] for row in rows if row["wanted"]]
            if len(rows) < _PAGE:
                break
            after = rows[-1]["seq"]
        return tuple(found[:most])

    async def write(self, run: Run, part: str, unit: Callable[[Recorder], Awaitable[T]]) -> T:
        """Write one unit of a run in one transaction. Raises LostLease when another daemon has claimed the slot."""
        now = self._clock.now_ms()

        async def recorded(transaction: Transaction) -> T:
            row = await self._row(transaction, run, now)
            last = await transaction.one(
                "SELECT max(unit) AS unit FROM consolidation_changes WHERE run = :id", id=row["id"]
            )
            number = int(last["unit"] or 0) + 1 if last else 1
            recorder = Recorder(transaction, row["id"], part, number, now)
            value = await unit(recorder)
            if recorder.changed:
                did = json.loads(row["did"])
                did[part] = did.get(part, 0) + len(set(recorder.changed))
                await transaction.run(
                    "UPDATE consolidations SET did = :did WHERE id = :id", did=as_json(did), id=row["id"]
                )
            return value

        return await self._database.write(recorded)

    async def begin(self, run: Run) -> None:
        """Insert the row of a run before its first model call. Raises LostLease."""
        now = self._clock.now_ms()
        await self._database.write(lambda transaction: self._row(transaction, run, now))

    async def charge(self, run: Run, calls: Sequence[LLMCall]) -> None:
        used = sum(call.tokens_in + call.tokens_out for call in calls)

        async def unit(transaction: Transaction) -> None:
            await store_calls(transaction, calls)
            await transaction.run(
                f"UPDATE consolidations SET tokens = tokens + :used WHERE {_KEY} AND audience = :audience",  # noqa: S608 - a constant
                used=used,
                **self._key(run),
            )

        await self._database.write(unit)

    async def spent(self, slot: Slot) -> int:
        """Return the tokens that a slot has used, including those of the learning jobs that ran during it."""
        row = await self._database.one(
            f"""
            SELECT (SELECT coalesce(sum(tokens), 0) FROM consolidations WHERE {_KEY})
              + (SELECT coalesce(sum(learned_tokens), 0) FROM consolidation_slots WHERE {_KEY}) AS used
            """,  # noqa: S608 - a constant
            slot_ms=slot.at_ms,
            **self._worker.scope,
        )
        return int(row["used"]) if row else 0

    async def end(self, run: Run, state: RunState, error: str = "") -> None:
        """End a run. A run without a row gets one only if it failed or was cut."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            if state in {"failed", "cut"}:
                await self._row(transaction, run, now)
            await transaction.run(
                f"""
                UPDATE consolidations SET state = :state, error = :error, ended_ms = :now
                WHERE {_KEY} AND audience = :audience
                """,  # noqa: S608 - a constant
                state=state,
                error=error,
                now=now,
                **self._key(run),
            )

        await self._database.write(unit)

    def _key(self, run: Run) -> dict[str, object]:
        return {"slot_ms": run.slot.at_ms, "audience": str(run.audience), **self._worker.scope}

    async def _row(self, transaction: Transaction, run: Run, now: int) -> sqlite3.Row:
        """Return the row of a run, inserted if it is missing. Raises LostLease."""
        held = await transaction.one(
            "SELECT fence FROM consolidation_slots WHERE soul = :soul AND workspace = :workspace", **self._worker.scope
        )
        if held is None or held["fence"] != run.slot.fence:
            raise LostLease("another daemon consolidates now", hint="nothing to do: it goes on")
        key = self._key(run)
        found = await transaction.one(f"SELECT * FROM consolidations WHERE {_KEY} AND audience = :audience", **key)  # noqa: S608 - a constant
        if found is not None and found["state"] == "running":
            return found
        if found is not None:
            await transaction.run(
                "UPDATE consolidations SET state = 'running', error = '', ended_ms = NULL WHERE id = :id",
                id=found["id"],
            )
            return found
        row = await transaction.insert(
            "consolidations",
            "RETURNING *",
            id=await _new_id(transaction, now),
            state="running",
            began_ms=now,
            **key,
        )
        assert row is not None
        return row


def _readable(texts: Iterable[str]) -> Iterator[Audience]:
    for text in texts:
        with suppress(ValueError):
            audience = Audience.parse(text)
            if audience.kind is not AudienceKind.OPERATOR:
                yield audience


async def lost_in(transaction: Transaction, run: str, person: str) -> int:
    """Return how many lines about a person a run has ended so far, without those that were said twice."""
    row = await transaction.one(
        """
        SELECT count(*) AS n FROM consolidation_changes c JOIN records r ON r.id = c.object
        WHERE c.run = :run AND c.lost = 1 AND r.person = :person
        """,
        run=run,
        person=person,
    )
    return int(row["n"]) if row else 0


def may_lose(lost: int, standing: int, most_lost: float) -> bool:
    """Return True if one more line may be lost, after `lost` of `standing` lines. One may always be lost."""
    return lost == 0 or lost + 1 <= most_lost * standing


async def _new_id(transaction: Transaction, now: int) -> str:
    series = f"RUN_{dt.datetime.fromtimestamp(now / 1000, dt.UTC):%Y%m%d}"
    row = await transaction.insert(
        "record_ids",
        "ON CONFLICT (series) DO UPDATE SET last = record_ids.last + 1 RETURNING last",
        series=series,
        last=1,
    )
    assert row is not None
    return f"{series}_{row['last']:03d}"


_NEW: Final = "(consolidation_items.fault_slot_ms <> excluded.fault_slot_ms)"  # 1 for the first fault of a slot


def unseen(part: str) -> str:
    """Return the SQL condition that a part has neither finished nor parked record `r`. `part` must be a literal."""
    return f"""NOT EXISTS (SELECT 1 FROM consolidation_items i WHERE i.part = '{part}' AND i.object = r.id
               AND (i.seen_ms IS NOT NULL OR i.parked = 1))"""  # noqa: S608 - a literal


class Items(WorkerStore):
    """The records that parts of consolidation failed at."""

    async def parked(self, part: str, ids: Sequence[str]) -> frozenset[str]:
        """Return those of the records that are parked: the part failed at them too often."""

        async def unit(transaction: Transaction) -> frozenset[str]:
            found = [
                await transaction.one(
                    "SELECT object FROM consolidation_items WHERE part = :part AND object = :id AND parked = 1",
                    part=part,
                    id=one,
                )
                for one in ids
            ]
            return frozenset(row["object"] for row in found if row)

        return await self._database.read(unit)

    async def count_fault(self, part: str, record_id: str, reason: str, slot_ms: int) -> bool:
        """Count a failure at a record, at most one per slot. Return True when the record becomes parked."""

        async def unit(transaction: Transaction) -> bool:
            if await transaction.one("SELECT 1 FROM records WHERE id = :id", id=record_id) is None:
                return False
            row = await transaction.insert(
                "consolidation_items",
                f"""
                ON CONFLICT (part, object) DO UPDATE SET faults = consolidation_items.faults + {_NEW},
                  reason = excluded.reason, parked = consolidation_items.faults + {_NEW} >= {FAULTS},
                  fault_slot_ms = excluded.fault_slot_ms RETURNING parked
                """,
                part=part,
                object=record_id,
                faults=1,
                reason=reason,
                fault_slot_ms=slot_ms,
            )
            return bool(row and row["parked"])

        return await self._database.write(unit)


async def note_seen(transaction: Transaction, part: str, ids: Sequence[str], now: int) -> None:
    """Note that a part has finished with these records."""
    for one in ids:
        await transaction.insert(
            "consolidation_items",
            "ON CONFLICT (part, object) DO UPDATE SET seen_ms = excluded.seen_ms, faults = 0",
            part=part,
            object=one,
            seen_ms=now,
        )
