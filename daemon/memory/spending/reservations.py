"""Reservations of what a call can cost at most, each settled later to the real cost, for all daemons."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import asdict, replace

from daemon.core.initiative import DAY_MS
from daemon.core.ports.services import LLMCall
from daemon.core.spending import NANO, PaidBy, Payer, TickBudget, nano_of_cap
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.goals_in_force import OWED
from daemon.memory.knowledge.model_habits import store_habits
from daemon.memory.worker_store import WorkerStore

_COLUMNS = (
    *("trace_id", "role", "step", "model", "tokens_in", "tokens_cached", "tokens_out", "cost_usd"),
    *("cost_bound", "started_ms", "first_ms", "latency_ms", "outcome", "day"),
)


async def store_calls(transaction: Transaction, calls: Sequence[LLMCall]) -> None:
    """Add model calls to the ledger, or later if paid from a reservation, and to their models' habits."""
    for call in calls:
        if not call.reservation:
            await store_call(transaction, call)
    await store_habits(transaction, calls)


async def store_call(transaction: Transaction, call: LLMCall, *, tick: bool = False) -> None:
    """Add one call to the ledger. `tick`: it was unasked."""
    columns = {name: getattr(call, name) for name in _COLUMNS}
    await transaction.insert("llm_calls", **columns, **asdict(call.payer), tick=int(tick))


FORGOTTEN_MS: Final = 3_600_000
"""Milliseconds after which no call is under way any more."""

LOST: Final = "lost"
"""The outcome of a call whose daemon died before it was settled. It counts with its highest possible cost."""


class WantedCall(Value):
    """A call to pay for: its id, payer and day, its highest cost in nano-dollars, and the caps on it.

    `limits` are nano-dollars for the day, by the payer of the cap. A `tick` call also keeps to that budget, with at
    most `tokens`.
    """

    id: str
    payer: Payer
    day: str
    nano: int
    limits: Mapping[PaidBy, int]
    trace_id: str
    role: str
    step: str
    model: str
    tokens: int = 0
    tick: TickBudget | None = None


class BudgetReached:
    """A refusal: the budget of unasked thoughts doesn't suffice for a call."""


class CapReached(Value):
    """A cap under which a call doesn't fit. `may_fit`: it may once calls under way are settled."""

    paid_by: PaidBy
    may_fit: bool


@dataclass(slots=True)
class Settlements:
    """The finished calls to settle, and the unused reservations to drop."""

    calls: list[LLMCall] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.calls or self.unused)

    def taken(self) -> "Settlements":
        """Move all of it into a new object, and return that."""
        taken = Settlements(self.calls, self.unused)
        self.calls, self.unused = [], []
        return taken

    def put_back(self, taken: "Settlements") -> None:
        """Add back what could not be stored. A call that was stored after all is settled once."""
        self.calls, self.unused = taken.calls + self.calls, taken.unused + self.unused


class Reservations(WorkerStore):
    """The reservations of one worker, in a memory.db that it may share with others.

    A cap is compared with what was spent plus all that is reserved. What a dead daemon had reserved counts as spent.
    """

    @property
    def payer(self) -> Payer:
        return Payer(**self._worker.scope)

    async def reserve(self, wanted: WantedCall, settled: Settlements) -> CapReached | BudgetReached | None:
        """Settle what waits, then reserve the highest cost of a call, or return the limit that the call exceeds.

        Raises StoreError, and has then settled and reserved nothing.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> CapReached | BudgetReached | None:
            await _settle(transaction, settled)
            if wanted.tick is not None and not await _within(transaction, wanted, wanted.tick, now):
                return BudgetReached()
            for paid_by, limit in wanted.limits.items():
                spent, reserved = await _counted(transaction, wanted, paid_by)
                if spent + reserved + wanted.nano > limit:
                    return CapReached(paid_by, may_fit=spent + wanted.nano <= limit)
            await transaction.insert(
                "reservations",
                id=wanted.id,
                holder=self._worker.id,
                day=wanted.day,
                **asdict(wanted.payer),
                trace_id=wanted.trace_id,
                role=wanted.role,
                step=wanted.step,
                model=wanted.model,
                nano=wanted.nano,
                made_ms=now,
                tick=int(wanted.tick is not None),
                tokens=wanted.tokens,
            )
            return None

        return await self._database.write(unit)

    async def settle(self, settled: Settlements) -> None:
        """Settle finished calls, and drop unused reservations. A settled call stays as it is. Raises StoreError."""
        await self._database.write(lambda transaction: _settle(transaction, settled))

    async def count(self, call: LLMCall) -> None:
        """Store a finished call for which nothing was reserved. Raises StoreError."""
        await self._database.write(lambda transaction: store_call(transaction, call))

    async def settle_forgotten(self) -> int:
        """Count as spent what has been reserved for so long that its call is over. Raises StoreError."""
        rows = await self._database.rows(
            "SELECT id FROM reservations WHERE abs(made_ms - :now) > :hour",  # or of a clock that was far ahead
            now=self._clock.now_ms(),
            hour=FORGOTTEN_MS,
        )
        if not rows:
            return 0

        async def unit(transaction: Transaction) -> None:
            for row in rows:
                await settle_lost(transaction, "id = :which", row["id"])

        await self._database.write(unit)
        return len(rows)


async def settle_lost(transaction: Transaction, where: str, which: str) -> None:
    """Count reservations as spent in full. `where` is a literal of this package, about `:which`."""
    await transaction.run(
        f"""
        INSERT INTO llm_calls (trace_id, role, step, model, tokens_in, tokens_cached, tokens_out, cost_usd, cost_bound,
                               started_ms, first_ms, latency_ms, outcome, soul, workspace, person, room, day, tick)
        SELECT trace_id, role, step, model, tokens, 0, 0, nano / {NANO}.0, 1, made_ms, NULL, 0, '{LOST}', soul,
               workspace, person, room, day, tick
        FROM reservations WHERE {where}
        """,  # noqa: S608 - literals of this package
        which=which,
    )
    await transaction.run(f"DELETE FROM reservations WHERE {where}", which=which)  # noqa: S608 - as above


async def _settle(transaction: Transaction, settled: Settlements) -> None:
    for call in settled.calls:
        row = await transaction.one(
            "DELETE FROM reservations WHERE id = :id RETURNING day, person, tick", id=call.reservation
        )
        if row is not None:  # else it was settled before, perhaps as lost; the person may be forgotten since
            payer = replace(call.payer, person=row["person"])
            await store_call(
                transaction, dataclasses.replace(call, payer=payer, day=row["day"]), tick=bool(row["tick"])
            )
    for unused in settled.unused:
        await transaction.run("DELETE FROM reservations WHERE id = :id", id=unused)


class TickUse(Value):
    """The use by unasked thoughts, including reservations under way: tokens and nano-dollars."""

    tokens_hour: int
    tokens_day: int
    nano_day: int


async def tick_use(transaction: Transaction, soul: str, day: str, now: int) -> TickUse:
    """Return the use by a soul's unasked thoughts within the last hour and on a day. Whole calls count."""
    row = await transaction.one(
        f"""
        WITH used AS (
          SELECT started_ms AS at_ms, day, tokens_in + tokens_out AS tokens, coalesce(cost_usd, 0) * {NANO} AS nano
          FROM llm_calls WHERE tick = 1 AND soul = :soul AND started_ms > :since
          UNION ALL
          SELECT made_ms, day, tokens, nano FROM reservations WHERE tick = 1 AND soul = :soul
        )
        SELECT coalesce(sum(CASE WHEN at_ms > :hour THEN tokens END), 0) AS hour,
               coalesce(sum(CASE WHEN day = :day THEN tokens END), 0) AS day,
               coalesce(sum(CASE WHEN day = :day THEN nano END), 0) AS nano
        FROM used
        """,  # noqa: S608 - a constant
        since=now - 2 * 24 * FORGOTTEN_MS,  # a day is never longer, wherever it is reckoned
        hour=now - FORGOTTEN_MS,
        day=day,
        soul=soul,
    )
    return TickUse(0, 0, 0) if row is None else TickUse(int(row["hour"]), int(row["day"]), math.ceil(row["nano"]))


async def _within(transaction: Transaction, wanted: WantedCall, budget: TickBudget, now: int) -> bool:
    used = await tick_use(transaction, wanted.payer.soul, wanted.day, now)
    calls = 1 if budget.first else 1 + await _promises_of_the_day(transaction, wanted.payer.soul, now)
    return (
        used.tokens_hour + wanted.tokens <= budget.tokens_hour
        and used.tokens_day + calls * wanted.tokens <= budget.tokens_day
        and used.nano_day + calls * wanted.nano <= nano_of_cap(budget.usd_day, background=False)
    )


async def _promises_of_the_day(transaction: Transaction, soul: str, now: int) -> int:
    row = await transaction.one(
        f"SELECT count(*) AS n FROM goals WHERE soul = :soul AND {OWED} AND due_ms <= :until",  # noqa: S608 - a constant
        soul=soul,
        until=now + DAY_MS,
    )
    return int(row["n"]) if row else 0


async def _counted(transaction: Transaction, wanted: WantedCall, paid_by: PaidBy) -> tuple[int, int]:
    """Return what was spent and what is reserved (nano-dollars), for the day and the payer of a call."""
    scope = "" if paid_by is PaidBy.SOUL else " AND workspace = :workspace"
    row = await transaction.one(
        f"""
        SELECT coalesce((SELECT nano FROM spending WHERE day = :day AND paid_by = :paid_by AND workspace = :in_
                           AND id = :id), 0) AS spent,
               coalesce((SELECT sum(nano) FROM reservations WHERE day = :day AND {paid_by} = :id{scope}), 0) AS reserved
        """,  # noqa: S608 - the name of a column
        day=wanted.day,
        paid_by=str(paid_by),
        in_="" if paid_by is PaidBy.SOUL else wanted.payer.workspace,
        workspace=wanted.payer.workspace,
        id=wanted.payer.id_of(paid_by),
    )
    assert row is not None  # a row without a table
    return int(row["spent"]), int(row["reserved"])


def limits_for(payer: Payer, limits: Mapping[PaidBy, int]) -> dict[PaidBy, int]:
    """Return the limits that concern a payer: no cap of people without a person, nor of rooms without a room."""
    return {paid_by: limit for paid_by, limit in limits.items() if payer.id_of(paid_by)}


class SpentToday(Value):
    """The US dollars of one soul for one day of the caps: settled, and reserved for calls under way."""

    usd: float
    reserved_usd: float

    def left_of(self, cap: float) -> float:
        return max(0.0, cap - self.usd - self.reserved_usd)


async def spent_today(database: Database, soul: str, day: str) -> SpentToday:
    """Return what a soul has spent on a day of its cap (`2026-07-06`), in all workspaces. Raises StoreError."""
    row = await database.one(
        """
        SELECT coalesce((SELECT sum(nano) FROM spending WHERE day = :day AND paid_by = 'soul' AND id = :soul), 0)
                 AS spent,
               coalesce((SELECT sum(nano) FROM reservations WHERE day = :day AND soul = :soul), 0) AS reserved
        """,
        day=day,
        soul=soul,
    )
    assert row is not None  # a row without a table
    return SpentToday(row["spent"] / NANO, row["reserved"] / NANO)
