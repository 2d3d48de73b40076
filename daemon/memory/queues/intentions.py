"""What the soul means to do later: one waiting intention a slot, moved into the inbox exactly once when it falls due.

All times stand in memory.db and no timer holds them, so that neither a restart nor a second daemon loses a slot or
fires it twice.
"""

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from daemon.core.perception import Audience, ConversationKey, Modality, Place
from daemon.core.timetable import FARTHEST_MS, next_slot, require_seldom
from daemon.memory.database import Transaction
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.records import as_json, conversation_columns, read_row
from daemon.memory.worker_store import WorkerStore

IDLE = "idle"
"""The slot of the daemon's own look after a silence; a new message cancels it, and no cap counts it."""

_FEWEST = 5  # intentions that one user may have however small the book is
_AT_ONCE = 100  # moved in one transaction, which has to be short


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIntention:
    """An event that the soul perceives at `due_ms`, or from then on at each slot of the crontab in `every`.

    `process` is the mental process that it visits with `params`; when empty, the current one of the conversation
    perceives it. `content` is the text. `behalf` is the platform id of the user it is done for, about whom the gate is
    asked.
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
    """A row of `intentions`; `fired` counts how often it fell due; times are in milliseconds UTC."""

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
        return read_row(cls, row, params=json.loads)


async def store_intentions(
    transaction: Transaction,
    *,
    conversation: ConversationKey,
    place: Place,
    audience: Audience,
    intentions: Sequence[NewIntention],
    now: int,
    most: int,
    shared_out: bool = True,
) -> tuple[str, ...]:
    """Schedule intentions, each in place of the one that waits in its slot; returns a sentence for each refused one.

    Refused are: a crontab that fires more often than every 15 minutes or never, a time more than a year ahead, and more
    than `most` intentions waiting for one soul in one workspace, or than the share of one user unless an admin
    schedules (not `shared_out`). A refusal leaves the slot as it was.
    """
    refused = []
    for new in intentions:
        try:
            due = _first_due(new, now)
            await _require_room(transaction, conversation, new, most, shared_out=shared_out)
        except ValueError as refusal:
            refused.append(f"{new.slot}: {refusal}")
            continue
        if new.slot == IDLE:  # one after each turn; cancelled rows would outnumber the turns
            await transaction.run(
                "DELETE FROM intentions WHERE conversation = :conversation AND slot = :slot",
                conversation=str(conversation),
                slot=IDLE,
            )
        else:
            await _cancel(transaction, conversation, (new.slot,), "replaced by a newer one", now)
        await transaction.insert(
            "intentions",
            id=secrets.token_hex(6),
            **conversation_columns(conversation),
            slot=new.slot,
            due_ms=due,
            every=new.every,
            process=new.process,
            params=as_json(dict(new.params)),
            content=new.content,
            behalf=new.behalf,
            place=place,
            audience=str(audience),
            state="waiting",
            created_ms=now,
        )
    return tuple(refused)


def share_of_one(most: int) -> int:
    """How many of `most` intentions one user may have: a tenth, and at least five."""
    return min(most, max(_FEWEST, most // 10))


async def cancel_intentions(
    transaction: Transaction, conversation: ConversationKey, names: Iterable[str], now: int
) -> int:
    """Cancel waiting intentions of a conversation by slot or id; returns how many were waiting."""
    return await _cancel(transaction, conversation, names, "cancelled", now)


class Intentions(WorkerStore):
    """The intentions of one worker's soul in its workspace."""

    async def fall_due(self) -> int:
        """Move due intentions into the inbox, each slot exactly once; returns how many were moved.

        A recurring intention then waits for its next slot after now, so that missed slots count as one. A look after a
        silence is cancelled where a message waits for a reply.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(
                """
                SELECT i.*, EXISTS (SELECT 1 FROM inbox w WHERE w.conversation = i.conversation
                                    AND w.state IN ('new', 'claimed') AND w.modality = 'words') AS unanswered
                FROM intentions i WHERE i.soul = :soul AND i.workspace = :workspace AND i.state = 'waiting'
                  AND i.due_ms <= :now ORDER BY i.due_ms, i.id LIMIT :most
                """,
                now=now,
                most=_AT_ONCE,
                **self._worker.scope,
            )
            moved = 0
            for row in rows:
                if row["slot"] == IDLE and row["unanswered"]:
                    key = ConversationKey.parse(row["conversation"])
                    await _cancel(transaction, key, (IDLE,), "a message came first", now)
                else:
                    await _fire(transaction, Intention.from_row(row), now)
                    moved += 1
            return moved

        return await self._database.write(unit)

    async def next_due_ms(self) -> int | None:
        """When the next intention falls due; None when there is none."""
        return await self._due_ms(
            """
            SELECT min(due_ms) AS due FROM intentions
            WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
            """
        )

    async def has_room(self, most: int, behalf: str, planned: int = 0) -> bool:
        """Whether a user may have one intention more beside those planned, of `most` for this soul.

        The daemon's own looks do not count.
        """
        return await self._database.read(
            lambda transaction: _has_room(transaction, self._worker.scope, behalf, most, planned=planned)
        )

    async def waiting(self, conversation: ConversationKey) -> tuple[Intention, ...]:
        """The waiting intentions of a conversation, the next first, without the daemon's own look after a silence."""
        rows = await self._database.rows(
            """
            SELECT * FROM intentions WHERE conversation = :id AND state = 'waiting' AND slot <> :idle
            ORDER BY due_ms, id
            """,
            id=str(conversation),
            idle=IDLE,
        )
        return tuple(map(Intention.from_row, rows))


def _first_due(new: NewIntention, now: int) -> int:
    """When an intention falls due first. Raises ValueError when it can't be scheduled."""
    if new.due_ms > now + FARTHEST_MS:
        raise ValueError("it is due more than a year ahead")
    if not new.every:
        return new.due_ms
    require_seldom(new.every, now)
    return next_slot(new.every, max(new.due_ms, now))


async def _require_room(
    transaction: Transaction, conversation: ConversationKey, new: NewIntention, most: int, *, shared_out: bool
) -> None:
    """Raises ValueError when no more may be scheduled; the one that waits in the same slot does not count."""
    if new.slot == IDLE:
        return
    scope = {"soul": conversation.soul, "workspace": conversation.workspace}
    but = (str(conversation), new.slot)
    if not await _has_room(transaction, scope, "", most, but=but):
        raise ValueError(f"{most} intentions are scheduled already, and no more than {most} may be")
    if shared_out and not await _has_room(transaction, scope, new.behalf, most, but=but):
        raise ValueError(f"{share_of_one(most)} of this user are scheduled already, and no more may be")


async def _has_room(
    transaction: Transaction,
    scope: Mapping[str, str],
    behalf: str,
    most: int,
    *,
    planned: int = 0,
    but: tuple[str, str] = ("", ""),
) -> bool:
    """Whether one more fits beside all that wait and the planned ones; with an empty `behalf` no share is asked."""
    row = await transaction.one(
        """
        SELECT count(*) AS waiting, coalesce(sum(CASE WHEN behalf = :behalf THEN 1 ELSE 0 END), 0) AS own
        FROM intentions WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
          AND slot <> :idle AND NOT (conversation = :conversation AND slot = :slot)
        """,
        idle=IDLE,
        behalf=behalf,
        conversation=but[0],
        slot=but[1],
        **scope,
    )
    assert row is not None  # an aggregate always has a row
    return row["waiting"] + planned < most and (not behalf or row["own"] + planned < share_of_one(most))


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


async def _fire(transaction: Transaction, intention: Intention, now: int) -> None:
    fired = intention.fired + 1
    await store_internal_event(
        transaction,
        name=f"due:{intention.id}:{fired}",
        conversation=ConversationKey.parse(intention.conversation),
        modality=Modality.TIME,
        author=intention.behalf,
        place=intention.place,
        audience=intention.audience,
        body=intention.content,
        process=intention.process,
        params=intention.params,
        at_ms=intention.due_ms,
        now=now,
    )
    try:
        following = next_slot(intention.every, max(now, intention.due_ms) + 1) if intention.every else None
    except ValueError:  # the crontab has no further slot
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
        id=intention.id,
    )
