"""Intentions: one waits in each slot, and moves into the inbox exactly once when it falls due."""

import secrets
from collections.abc import Iterable, Mapping, Sequence

from daemon.core.last_line import FAULTS
from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.ports.services import Clock
from daemon.core.timetable import FARTHEST_MS, next_slot, recurrence_of, require_seldom
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import Note, note_in_conversation
from daemon.memory.queues.intention_rows import FOR_PEOPLE, IN_MIND, SILENCE, Intention, NewIntention, fire, next_number
from daemon.memory.records import Worker, as_json, conversation_columns
from daemon.memory.worker_store import WorkerStore

IDLE = "idle"
"""The slot of the daemon's look after a silence. A new message cancels it, and no cap counts it."""

_FEWEST = 5  # intentions that one user may have however small the book is
_AT_ONCE = 100  # moved in one transaction, which has to be short
_CATCHES_UP_MS = 60_000  # that a daemon may take to hear what was said before it began; so long no silence is believed
_REST_MS = 30_000  # until a silence that can't be believed yet is looked at again


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
    """Schedule intentions, each in place of the one in its slot, and return a sentence for each refused one.

    Refused are: a rule or crontab without a slot, a crontab that fires more often than every 15 minutes, and a time
    over a year ahead. Also refused is one more than `most` for a soul in a workspace, or than one user's share if
    `shared_out`. An admin schedules without `shared_out`. A refusal leaves the slot as it was.
    """
    refused = []
    for new in intentions:
        try:
            due = first_due(new, now)
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
            id=new.id or secrets.token_hex(6),
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
            cue=new.cue,
            number=0 if _is_its_own(new) else await next_number(transaction, new.behalf, conversation.workspace),
            zone=new.zone,
            errand=new.errand,
            covers_to=new.covers_to,
            asked_where=new.asked_where,
        )
        if new.cue:  # an answer may have come while the reply was made
            await cancel_answered(transaction, conversation, now)
    return tuple(refused)


def share_of_one(most: int) -> int:
    """Return how many of `most` intentions one user may have: a tenth, and at least five."""
    return min(most, max(_FEWEST, most // 10))


async def cancel_intentions(
    transaction: Transaction, conversation: ConversationKey, names: Iterable[str], now: int
) -> int:
    """Cancel waiting intentions of a conversation by slot or id, and return how many were waiting."""
    return await _cancel(transaction, conversation, names, "cancelled", now)


async def cancel_answered(transaction: Transaction, conversation: ConversationKey, now: int) -> None:
    """Cancel the intentions that wait for a silence which another person has ended."""
    await transaction.run(
        """
        UPDATE intentions SET state = 'cancelled', reason = 'answered', settled_ms = :now
        WHERE conversation = :conversation AND state = 'waiting' AND cue = 'silence' AND EXISTS
          (SELECT 1 FROM inbox w WHERE w.conversation = intentions.conversation AND w.modality = 'words'
             AND w.ts > intentions.covers_to -- so it finds the index
             AND w.author <> intentions.behalf AND CAST(w.ts AS REAL) > CAST(intentions.covers_to AS REAL))
        """,
        conversation=str(conversation),
        now=now,
    )


class Intentions(WorkerStore):
    """The intentions of one worker's soul in its workspace.

    Their times are in memory.db alone: neither a restart nor a second daemon loses a slot or fires it twice.
    """

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        super().__init__(database, clock, worker)
        self._began_ms = clock.now_ms()

    async def fall_due(self) -> int:
        """Move due intentions into the inbox, each slot exactly once, and return how many were moved.

        Missed slots of a recurring intention count as one. A look after a silence is cancelled if a message waits for a
        reply. An intention that waits for an answer rests until all messages have surely arrived. One that can't be
        moved becomes `dead` after FAULTS tries, with a note in its conversation. Its error is raised after all others
        are moved.
        """
        now = self._clock.now_ms()

        async def due(transaction: Transaction) -> list[sqlite3.Row]:
            return await transaction.rows(
                """
                SELECT i.*, EXISTS (SELECT 1 FROM inbox w WHERE w.conversation = i.conversation
                                    AND w.state IN ('new', 'claimed') AND w.modality = 'words') AS unanswered
                FROM intentions i WHERE i.soul = :soul AND i.workspace = :workspace AND i.state = 'waiting'
                  AND i.paused = '' AND i.due_ms <= :now ORDER BY i.due_ms, i.id LIMIT :most
                """,
                now=now,
                most=_AT_ONCE,
                **self._worker.scope,
            )

        async def move(transaction: Transaction, row: sqlite3.Row) -> bool:
            if row["slot"] == IDLE and row["unanswered"]:
                key = ConversationKey.parse(row["conversation"])
                await _cancel(transaction, key, (IDLE,), "a message came first", now)
                return False
            if row["cue"] == SILENCE and not await self._all_is_heard(transaction, row, now):
                rest = "UPDATE intentions SET due_ms = :due WHERE id = :id"
                await transaction.run(rest, due=now + _REST_MS, id=row["id"])
                return False
            await fire(transaction, Intention.from_row(row), now)
            return True

        async def count_fault(transaction: Transaction, row: sqlite3.Row, reason: str) -> None:
            await _count_fault(transaction, row, reason, now)

        return await self._move_all(due, move, count_fault)

    async def _all_is_heard(self, transaction: Transaction, row: sqlite3.Row, now: int) -> bool:
        """Return whether all messages that came to the channel while no daemon listened have surely arrived."""
        unread = await transaction.one(
            """
            SELECT 1 FROM unread_places
            WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND state = 'due' LIMIT 1
            """,
            channel=ConversationKey.parse(row["conversation"]).channel,
            **self._worker.scope,
        )
        return unread is None and now - self._began_ms >= _CATCHES_UP_MS

    async def next_due_ms(self) -> int | None:
        """Return when the next intention falls due (ms), or None."""
        return await self._due_ms(
            """
            SELECT min(due_ms) AS due FROM intentions
            WHERE soul = :soul AND workspace = :workspace AND state = 'waiting' AND paused = ''
            """
        )

    async def has_room(self, most: int, behalf: str, planned: int = 0) -> bool:
        """Return whether a user may have one more intention in addition to those `planned`. The soul's don't count."""
        return await self._database.read(
            lambda transaction: _has_room(transaction, self._worker.scope, behalf, most, planned=planned)
        )

    async def waiting(self, conversation: ConversationKey) -> tuple[Intention, ...]:
        """Return the waiting intentions of a conversation, the next first, without the soul's own."""
        rows = await self._database.rows(
            f"""
            SELECT * FROM intentions WHERE conversation = :id AND state = 'waiting' AND {FOR_PEOPLE}
            ORDER BY due_ms, id
            """,  # noqa: S608 - a constant
            id=str(conversation),
        )
        return tuple(map(Intention.from_row, rows))


def _is_its_own(new: NewIntention) -> bool:
    return new.slot == IDLE or new.slot.startswith(IN_MIND)


def first_due(new: NewIntention, now: int) -> int:
    """Return when an intention falls due first (ms). Raises ValueError when it can't be scheduled."""
    if new.due_ms > now + FARTHEST_MS:
        raise ValueError("it is due more than a year ahead")
    if not new.every:
        return new.due_ms
    if (rule := recurrence_of(new.every)) is not None:
        if rule.hours and new.due_ms:
            return max(new.due_ms, now)
        return rule.first(max(new.due_ms - 1, now), new.zone).due_ms
    require_seldom(new.every, now)
    return next_slot(new.every, max(new.due_ms, now))


async def _require_room(
    transaction: Transaction, conversation: ConversationKey, new: NewIntention, most: int, *, shared_out: bool
) -> None:
    """Raise ValueError if there is no room for one more. The one in the same slot doesn't count."""
    if _is_its_own(new):
        return
    scope = {"soul": conversation.soul, "workspace": conversation.workspace}
    but = (str(conversation), new.slot)
    if not await _has_room(transaction, scope, "", most, but=but):
        raise ValueError(f"{most} intentions are scheduled already, and no more than {most} may be")
    if shared_out and not await _has_room(transaction, scope, new.behalf, most, but=but):
        raise ValueError(f"{share_of_one(most)} of this user are scheduled already, and no more may be")


async def has_room_for_one(transaction: Transaction, scope: Mapping[str, str], most: int) -> bool:
    """Return whether one more intention fits into a soul's total, regardless of users' shares."""
    return await _has_room(transaction, scope, "", most)


async def _has_room(
    transaction: Transaction,
    scope: Mapping[str, str],
    behalf: str,
    most: int,
    *,
    planned: int = 0,
    but: tuple[str, str] = ("", ""),
) -> bool:
    """Return whether one more fits in addition to the waiting and planned ones. An empty `behalf` has no share."""
    row = await transaction.one(
        f"""
        SELECT count(*) AS waiting, coalesce(sum(CASE WHEN behalf = :behalf THEN 1 ELSE 0 END), 0) AS own
        FROM intentions WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
          AND {FOR_PEOPLE} AND NOT (conversation = :conversation AND slot = :slot) -- the literal finds the index
        """,  # noqa: S608 - a constant
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


async def _count_fault(transaction: Transaction, row: sqlite3.Row, reason: str, now: int) -> None:
    dead = await transaction.rows(
        """
        UPDATE intentions SET faults = faults + 1, reason = :reason,
               state = CASE WHEN faults + 1 >= :most THEN 'dead' ELSE state END,
               settled_ms = CASE WHEN faults + 1 >= :most THEN :now END
        WHERE id = :id AND state = 'waiting' RETURNING state
        """,
        reason=reason,
        most=FAULTS,
        now=now,
        id=row["id"],
    )
    if any(one["state"] == "dead" for one in dead) and row["slot"] != IDLE:
        await note_in_conversation(
            transaction,
            row["conversation"],
            f"on {row['id']}",
            Note.NOT_FIRED,
            reply_to=row["conversation"].rpartition("/")[2],
            recipient=row["behalf"],
            now=now,
        )
