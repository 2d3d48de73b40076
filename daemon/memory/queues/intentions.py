"""What the soul means to do later: one waiting intention a slot, moved into the inbox exactly once when it falls due.

Everything due stands in memory.db and a clock merely looks (design, section 8), so that neither a restart nor a second
daemon loses a slot or fires it twice.
"""

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from daemon.core.perception import Audience, ConversationKey, Modality, Place
from daemon.core.ports import Clock
from daemon.core.timetable import FARTHEST_MS, next_slot, require_seldom
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.internal_events import store_occurrence
from daemon.memory.records import Worker, as_json

IDLE = "idle"
"""The slot of the house's own look after a silence: it falls away when somebody speaks, and no cap counts it."""

_AT_ONCE = 100  # moved in one transaction, which has to be short


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIntention:
    """Something to be perceived at `due_ms`, or with a crontab in `every` at each of its slots from then on.

    `process` is the mental process that it visits with `params`, empty for whatever the conversation will be in;
    `content` is what is perceived. `behalf` is the platform id of whom it is done for: the gate is asked about them.
    """

    slot: str
    due_ms: int
    process: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    content: str = ""
    every: str = ""
    behalf: str


@dataclass(frozen=True, slots=True)
class Intention:
    """A row of `intentions`; `fired` counts how often it fell due, times are in milliseconds UTC."""

    id: str
    conversation: str
    slot: str
    due_ms: int
    every: str
    process: str
    params: Mapping[str, object]
    content: str
    behalf: str
    place: str
    audience: str
    state: str
    reason: str
    fired: int
    created_ms: int
    settled_ms: int | None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Intention":
        """Read an `intentions` row."""
        values = {name: row[name] for name in cls.__dataclass_fields__}
        return cls(**values | {"params": json.loads(row["params"])})


async def store_intentions(
    transaction: Transaction,
    *,
    conversation: ConversationKey,
    place: Place,
    audience: Audience,
    intentions: Sequence[NewIntention],
    now: int,
    most: int,
) -> tuple[str, ...]:
    """Have things fall due later; returns a sentence for each that was refused, which leaves its slot as it was.

    Refused is what comes round more often than every 15 minutes or never, what is due more than a year ahead, and what
    would be more than `most` waiting for one soul in one workspace. A new intention takes the place of the one waiting
    in its slot.
    """
    refused = []
    for new in intentions:
        try:
            due = _first_due(new, now)
            await _require_room(transaction, conversation, new.slot, most)
        except ValueError as refusal:
            refused.append(f"{new.slot}: {refusal}")
            continue
        if new.slot == IDLE:  # one a turn: kept, they would outnumber the turns
            await transaction.run(
                "DELETE FROM intentions WHERE conversation = :conversation AND slot = :slot",
                conversation=str(conversation),
                slot=IDLE,
            )
        else:
            await _cancel(transaction, conversation, (new.slot,), "another took its place", now)
        await transaction.run(
            """
            INSERT INTO intentions (id, conversation, soul, workspace, slot, due_ms, every, process, params, content,
                                    behalf, place, audience, state, created_ms)
            VALUES (:id, :conversation, :soul, :workspace, :slot, :due, :every, :process, :params, :content,
                    :behalf, :place, :audience, 'waiting', :now)
            """,
            id=secrets.token_hex(6),
            conversation=str(conversation),
            soul=conversation.soul,
            workspace=conversation.workspace,
            slot=new.slot,
            due=due,
            every=new.every,
            process=new.process,
            params=as_json(dict(new.params)),
            content=new.content,
            behalf=new.behalf,
            place=place,
            audience=str(audience),
            now=now,
        )
    return tuple(refused)


async def cancel_intentions(
    transaction: Transaction, conversation: ConversationKey, names: Iterable[str], now: int
) -> int:
    """Cancel what waits in a conversation, by slot or id; returns how many of them did wait."""
    return await _cancel(transaction, conversation, names, "cancelled", now)


class Intentions:
    """What one worker's soul means to do in its workspace."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def fall_due(self) -> int:
        """Move what is due into the inbox, each slot exactly once, and return how many were moved.

        What comes round again waits for its next slot after now: missed slots count as one. A look after a silence
        falls away where words wait for an answer.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(
                """
                SELECT i.*, EXISTS (SELECT 1 FROM inbox w WHERE w.conversation = i.conversation
                                    AND w.state IN ('new', 'claimed') AND w.modality = 'words') AS spoken
                FROM intentions i WHERE i.soul = :soul AND i.workspace = :workspace AND i.state = 'waiting'
                  AND i.due_ms <= :now ORDER BY i.due_ms, i.id LIMIT :most
                """,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                now=now,
                most=_AT_ONCE,
            )
            moved = 0
            for row in rows:
                if row["slot"] == IDLE and row["spoken"]:
                    await _cancel(
                        transaction, ConversationKey.parse(row["conversation"]), (IDLE,), "somebody spoke", now
                    )
                else:
                    await _fire(transaction, Intention.from_row(row), now)
                    moved += 1
            return moved

        return await self._database.write(unit)

    async def next_due_ms(self) -> int | None:
        """When the next falls due; None: nothing waits."""

        async def unit(transaction: Transaction) -> int | None:
            row = await transaction.one(
                """
                SELECT min(due_ms) AS due FROM intentions
                WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
                """,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
            return row["due"] if row else None

        return await self._database.read(unit)

    async def has_room(self, most: int) -> bool:
        """Whether one more may wait for this soul; what the house itself looks for after a silence doesn't count."""

        async def unit(transaction: Transaction) -> bool:
            row = await transaction.one(
                """
                SELECT count(*) AS n FROM intentions
                WHERE soul = :soul AND workspace = :workspace AND state = 'waiting' AND slot <> :idle
                """,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                idle=IDLE,
            )
            return row is not None and row["n"] < most

        return await self._database.read(unit)

    async def waiting(self, conversation: ConversationKey) -> tuple[Intention, ...]:
        """What waits in a conversation, the next first; the house's own look after a silence is left out."""

        async def unit(transaction: Transaction) -> tuple[Intention, ...]:
            rows = await transaction.rows(
                """
                SELECT * FROM intentions WHERE conversation = :id AND state = 'waiting' AND slot <> :idle
                ORDER BY due_ms, id
                """,
                id=str(conversation),
                idle=IDLE,
            )
            return tuple(map(Intention.from_row, rows))

        return await self._database.read(unit)


def _first_due(new: NewIntention, now: int) -> int:
    """When it falls due first. Raises ValueError when it may not."""
    if new.due_ms > now + FARTHEST_MS:
        raise ValueError("it is due more than a year ahead")
    if not new.every:
        return new.due_ms
    require_seldom(new.every, now)
    return next_slot(new.every, max(new.due_ms, now))


async def _require_room(transaction: Transaction, conversation: ConversationKey, slot: str, most: int) -> None:
    if slot == IDLE:
        return
    row = await transaction.one(
        """
        SELECT count(*) AS waiting FROM intentions WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
          AND slot <> :idle AND NOT (conversation = :conversation AND slot = :slot)
        """,
        soul=conversation.soul,
        workspace=conversation.workspace,
        idle=IDLE,
        conversation=str(conversation),
        slot=slot,
    )
    if row is not None and row["waiting"] >= most:
        raise ValueError(f"{row['waiting']} things are scheduled already, no more than {most} may be")


async def _cancel(
    transaction: Transaction, conversation: ConversationKey, names: Iterable[str], reason: str, now: int
) -> int:
    cancelled = 0
    for name in names:
        rows = await transaction.rows(
            """
            UPDATE intentions SET state = 'cancelled', reason = :reason, settled_ms = :now
            WHERE conversation = :conversation AND state = 'waiting' AND (slot = :name OR id = :name) RETURNING id
            """,
            reason=reason,
            now=now,
            conversation=str(conversation),
            name=name,
        )
        cancelled += len(rows)
    return cancelled


async def _fire(transaction: Transaction, one: Intention, now: int) -> None:
    fired = one.fired + 1
    await store_occurrence(
        transaction,
        name=f"due:{one.id}:{fired}",
        conversation=ConversationKey.parse(one.conversation),
        modality=Modality.TIME,
        author=one.behalf,
        place=one.place,
        audience=one.audience,
        body=one.content,
        process=one.process,
        params=one.params,
        at_ms=one.due_ms,
        now=now,
    )
    try:
        following = next_slot(one.every, max(now, one.due_ms) + 1) if one.every else None
    except ValueError:  # its last slot within reach
        following = None
    await transaction.run(
        """
        UPDATE intentions SET fired = :fired, due_ms = coalesce(:following, due_ms),
               state = CASE WHEN :following IS NULL THEN 'due' ELSE state END,
               settled_ms = CASE WHEN :following IS NULL THEN :now END WHERE id = :id
        """,
        fired=fired,
        following=following,
        now=now,
        id=one.id,
    )
