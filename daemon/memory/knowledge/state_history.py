"""The path of a conversation through the mental processes, each step with its reason, for `soul mind trace`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daemon.core.perception import ConversationKey
from daemon.memory.database import Database, Transaction
from daemon.memory.records import as_json, read_row


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step; `hop` counts from 0 within one perception, `origin` and `target` are mental processes.

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
    """A stored step of the perception handled under `trace_id`, at `at_ms` (milliseconds UTC).

    `model` is the id of the model that gave the reply to that perception, empty where there is none.
    """

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
    model: str


async def store_path(
    transaction: Transaction, conversation: ConversationKey, trace_id: str, steps: Sequence[PathStep], now: int
) -> None:
    """Append the steps of one perception in their order."""
    for step in steps:
        await transaction.insert(
            "transitions",
            conversation=str(conversation),
            trace_id=trace_id,
            hop=step.hop,
            act=step.act,
            origin=step.origin,
            target=step.target,
            decided_by=step.decided_by,
            reason=step.reason,
            params=as_json(dict(step.params)),
            at_ms=now,
        )


async def state_path(database: Database, conversation: ConversationKey, limit: int) -> tuple[TracedStep, ...]:
    """The newest `limit` steps of a conversation, oldest first."""
    rows = await database.rows(
        """
        SELECT s.*, coalesce((SELECT max(t.model) FROM turns t
                              WHERE t.trace_id = s.trace_id AND t.speaker = 'soul'), '') AS model
        FROM transitions s WHERE s.conversation = :id ORDER BY s.seq DESC LIMIT :limit
        """,
        id=str(conversation),
        limit=limit,
    )
    return tuple(read_row(TracedStep, row, params=json.loads) for row in reversed(rows))
