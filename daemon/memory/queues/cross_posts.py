"""Words carried to somebody elsewhere, because a person allowed just these words for just that place."""

from dataclasses import dataclass

from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.timetable import CLOCKS_DIFFER_S
from daemon.memory.database import Transaction


@dataclass(frozen=True, slots=True)
class CrossPost:
    """What is posted in another conversation; `approval` is the permission it goes by, and is used up by it."""

    approval: str
    conversation: ConversationKey
    place: Place
    audience: Audience
    body: str


_STATEMENTS = (
    """
    INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
    VALUES (:conversation, :soul, :workspace, :channel, :thread, :place, :audience, :now)
    ON CONFLICT (id) DO NOTHING
    """,
    """
    INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                        audience, state, created_ms)
    VALUES (:id, :conversation, :soul, :workspace, 0, 1, :body, '', '', :newer_than_ts, :audience, 'pending', :now)
    """,
    """
    INSERT INTO turns (conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
    VALUES (:conversation, 'soul', :soul, :name, :ts, :body, :audience, :trace_id, :now)
    """,
)


async def send_errand(transaction: Transaction, cross_post: CrossPost, *, name: str, trace_id: str, now: int) -> bool:
    """Put an errand on its way, once for its permission; False when that doesn't hold (any more).

    The soul, called `name`, remembers there what it said there.
    """
    allowed = await transaction.one(
        """
        UPDATE approvals SET state = 'used'
        WHERE id = :id AND state = 'approved' AND decided_ms + expires_ms - created_ms >= :now RETURNING id
        """,
        id=cross_post.approval,
        now=now,
    )
    if allowed is None:
        return False
    key = cross_post.conversation
    values = {
        "conversation": str(key),
        "soul": key.soul,
        "workspace": key.workspace,
        "channel": key.channel,
        "thread": key.thread,
        "place": cross_post.place,
        "audience": str(cross_post.audience),
        "body": cross_post.body,
        "id": f"{key}!errand:{cross_post.approval}",
        "name": name,
        "trace_id": trace_id,
        "newer_than_ts": f"{now / 1000 - CLOCKS_DIFFER_S:.6f}",
        "ts": f"{now / 1000:.6f}",
        "now": now,
    }
    for statement in _STATEMENTS:
        await transaction.run(statement, **values)
    return True
