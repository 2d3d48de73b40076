"""The path of states that a conversation took, each step with its reason and who decided it, for whoever traces it."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daemon.core.perception import ConversationKey
from daemon.memory.database import Database, Transaction
from daemon.memory.records import as_json


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step: `hop` counts from 0 within one perception, `origin` and `target` are mental processes.

    `act` is `enter`, `stay`, `move`, `visit`, `return` or `refuse`; `decided_by` is `rule`, `model` or `schedule`;
    `reason` is one sentence.
    """

    hop: int
    act: str
    origin: str
    target: str
    decided_by: str
    reason: str
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A stored step: of the perception handled under `trace_id`, at `at_ms` (milliseconds UTC)."""

    seq: int
    trace_id: str
    at_ms: int
    hop: int
    act: str
    origin: str
    target: str
    decided_by: str
    reason: str
    params: Mapping[str, object]

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "TracedStep":
        """Read a `transitions` row."""
        values = {name: row[name] for name in cls.__dataclass_fields__}
        return cls(**values | {"params": json.loads(row["params"])})


async def store_path(
    transaction: Transaction, conversation: ConversationKey, trace_id: str, steps: Sequence[PathStep], now: int
) -> None:
    """Append the steps that one perception led through, in their order."""
    for step in steps:
        await transaction.run(
            """
            INSERT INTO transitions (conversation, trace_id, hop, act, origin, target, decided_by, reason, params,
                                     at_ms)
            VALUES (:conversation, :trace_id, :hop, :act, :origin, :target, :decided_by, :reason, :params, :now)
            """,
            conversation=str(conversation),
            trace_id=trace_id,
            hop=step.hop,
            act=step.act,
            origin=step.origin,
            target=step.target,
            decided_by=step.decided_by,
            reason=step.reason,
            params=as_json(dict(step.params)),
            now=now,
        )


class Transitions:
    """The paths of all conversations in one memory.db."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def path(self, conversation: ConversationKey, limit: int) -> tuple[TracedStep, ...]:
        """The newest `limit` steps of a conversation, oldest first."""

        async def unit(transaction: Transaction) -> tuple[TracedStep, ...]:
            rows = await transaction.rows(
                "SELECT * FROM transitions WHERE conversation = :id ORDER BY seq DESC LIMIT :limit",
                id=str(conversation),
                limit=limit,
            )
            return tuple(TracedStep.from_row(row) for row in reversed(rows))

        return await self._database.read(unit)
