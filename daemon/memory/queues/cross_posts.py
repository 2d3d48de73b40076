"""Posts in another conversation than the one that asked for them; a user approved each text and place."""

from dataclasses import dataclass

from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.timetable import surely_past
from daemon.memory.database import Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.records import Speaks, Turn, conversation_columns


@dataclass(frozen=True, slots=True)
class CrossPost:
    """A post for another conversation; `approval` is the permission that it uses up."""

    approval: str
    conversation: ConversationKey
    place: Place
    audience: Audience
    body: str


async def enqueue_cross_post(
    transaction: Transaction, cross_post: CrossPost, *, name: str, trace_id: str, now: int
) -> bool:
    """Queue a post, once for its permission; False when the permission is used, expired or was never given.

    The other conversation gets a turn of the soul, called `name`, so that the soul remembers its post there.
    """
    permission = await transaction.one(
        """
        UPDATE approvals SET state = 'used'
        WHERE id = :id AND state = 'approved' AND decided_ms + expires_ms - created_ms >= :now RETURNING id
        """,
        id=cross_post.approval,
        now=now,
    )
    if permission is None:
        return False
    key = cross_post.conversation
    await open_conversation(transaction, key, cross_post.place, cross_post.audience, now)
    await transaction.insert(
        "outbox",
        id=f"{key}!errand:{cross_post.approval}",
        **conversation_columns(key),
        part=0,
        last=1,
        body=cross_post.body,
        reply_to="",
        recipient="",
        newer_than_ts=surely_past(now),
        audience=str(cross_post.audience),
        state="pending",
        created_ms=now,
    )
    turn = Turn(Speaks.SOUL, key.soul, name, f"{now / 1000:.6f}", cross_post.body)
    await store_turns(transaction, [turn], conversation=key, audience=cross_post.audience, trace_id=trace_id, now=now)
    return True
