"""Events that the daemon itself puts into the inbox: due intentions and decided approvals."""

from collections.abc import Iterable, Mapping

from daemon.core.last_line import FAULTS, in_short
from daemon.core.perception import ConversationKey, Modality
from daemon.core.ports.arrivals import Joined, RoomWaySent
from daemon.core.tempo import FIRST_PAUSE_MS
from daemon.core.timetable import platform_time
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import Note, note_in_conversation
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Claim, InboxMessage, as_json, conversation_columns


async def store_internal_event(
    transaction: Transaction,
    *,
    name: str,
    conversation: ConversationKey,
    modality: Modality,
    author: str,
    place: str,
    audience: str,
    params: Mapping[str, object],
    now: int,
    body: str = "",
    process: str = "",
    at_ms: int | None = None,
) -> str:
    """Put an event into the inbox, once for each `name` within its channel, and return the row's id.

    It happened at `at_ms`, or now. The gate checks the user `author`. `process` is the mental process to visit. If it
    is empty, the conversation's current process perceives the event.
    """
    id_ = "/".join((conversation.soul, conversation.workspace, conversation.channel, name))
    await transaction.insert(
        "inbox",
        "ON CONFLICT (id) DO NOTHING",
        id=id_,
        channel=conversation.channel,
        ts=platform_time(now if at_ms is None else at_ms),
        **conversation_columns(conversation),
        author=author,
        place=place,
        audience=audience,
        body=body,
        source="live",
        state="new",
        received_ms=now,
        envelope="{}",
        modality=modality,
        process=process or None,
        params=as_json(params),
    )
    return id_


async def store_act_in_channel(
    transaction: Transaction,
    act: Joined | RoomWaySent,
    now: int,
    *,
    author: str,
    name: str,
    params: Mapping[str, object],
) -> str:
    """Put a user's act in a channel into the inbox of its timeline, and return the row's id."""
    where = ConversationKey(act.soul, act.workspace, act.channel)
    await open_conversation(transaction, where, act.place, act.audience, now)
    return await store_internal_event(
        transaction,
        name=name,
        conversation=where,
        modality=Modality.DECISION,
        author=author,
        place=act.place,
        audience=str(act.audience),
        params=params,
        now=now,
    )


async def readable_messages(
    transaction: Transaction, rows: Iterable[sqlite3.Row], now: int
) -> tuple[list[InboxMessage], tuple[str, ...]]:
    """Return the messages whose rows can be read, and the ids of the others, which are parked with a note."""
    messages, unreadable = [], []
    for row in rows:
        try:
            messages.append(InboxMessage.from_row(row))
        except Exception as error:  # noqa: BLE001 - one bad row must not stop the others
            await transaction.run(
                "UPDATE inbox SET state = 'dead', reason = :reason, settled_ms = :now WHERE id = :id",
                reason=f"its row can't be read: {in_short(error)}",
                now=now,
                id=row["id"],
            )
            await _note_on_message(transaction, row["conversation"], row, "", now)
            await _look_again(transaction, row["id"], now)
            unreadable.append(row["id"])
    return messages, tuple(unreadable)


async def park_messages(
    transaction: Transaction, claim: Claim, reason: str, *, reply_to: str, now: int, due: int
) -> bool:
    """Release a claim until `due`, and return whether messages claimed FAULTS times, or a draft, ended."""
    held = await transaction.one(
        """
        UPDATE conversations SET lease_until = 0, lease_owner = ''
        WHERE id = :id AND fence = :fence AND lease_owner = :owner RETURNING id
        """,
        id=str(claim.conversation),
        fence=claim.fence,
        owner=claim.owner,
    )
    if held is None:
        return False
    dead = await transaction.rows(
        """
        UPDATE inbox SET state = 'dead', reason = :reason, settled_ms = :now
        WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed' AND attempts >= :faults
        RETURNING id, ts, author
        """,
        reason=reason,
        now=now,
        id=str(claim.conversation),
        faults=FAULTS,
    )
    await transaction.run(
        """
        UPDATE inbox SET state = 'new', not_before = :due, reason = :reason
        WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed'
        """,
        due=due,
        reason=reason,
        id=str(claim.conversation),
    )
    ended = await _end_draft(transaction, str(claim.conversation), at_once=bool(dead))
    for row in dead:
        await _look_again(transaction, row["id"], now)
    for row in [] if ended else dead:
        await _note_on_message(transaction, str(claim.conversation), row, reply_to, now)
    return bool(dead) or ended


async def _look_again(transaction: Transaction, parked: str, now: int) -> None:
    """Requeue the due goals of a parked thought in an hour: words about them may be owed."""
    await transaction.run(
        "UPDATE ticks SET inbox = '', due_ms = :later WHERE inbox = :parked AND inbox <> '' AND kind = 'due'",
        later=now + FIRST_PAUSE_MS,
        parked=parked,
    )


async def _end_draft(transaction: Transaction, conversation: str, *, at_once: bool) -> bool:
    """Count a fault of the open draft, and have it end with a note after FAULTS of them, or at once."""
    row = await transaction.one(
        """
        UPDATE outbox SET faults = faults + 1 WHERE conversation = :id AND state = 'drafting' RETURNING id, faults
        """,
        id=conversation,
    )
    if row is None or not (at_once or row["faults"] >= FAULTS):
        return False
    await transaction.run(
        "UPDATE outbox SET state = 'pending', body = :body, last = 1, note = 1, faults = 0 WHERE id = :id",
        body=Note.UNREAD,
        id=row["id"],
    )
    return True


async def _note_on_message(
    transaction: Transaction, conversation: str, row: sqlite3.Row, reply_to: str, now: int
) -> None:
    await note_in_conversation(
        transaction,
        conversation,
        f"on {row['id'].rpartition('/')[2]}",
        Note.UNREAD,
        reply_to=reply_to or conversation.rpartition("/")[2],
        recipient=row["author"],
        newer_than_ts=row["ts"],
        now=now,
    )
