"""A soul that says nothing: a reaction waits in the outbox as a post does; without one no draft of a reply stays."""

from daemon.core.perception import ConversationKey
from daemon.core.ports.posts import Nod
from daemon.memory.database import Transaction
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.records import conversation_columns


async def store_nod(transaction: Transaction, effect: CycleEffect, nod: Nod, now: int) -> None:
    """Queue a reaction in place of the reply's first post; it takes the place of an open draft, which goes."""
    await transaction.insert(
        "outbox",
        """
        ON CONFLICT (id) DO UPDATE SET state = 'pending', body = '', last = 1, recipient = excluded.recipient,
          nod = excluded.nod, nod_to = excluded.nod_to
        WHERE outbox.state = 'drafting'
        """,
        id=effect.claim.key(0),
        part=0,
        last=1,
        body="",
        nod=nod.name,
        nod_to=nod.ts,
        reply_to=effect.reply_to,
        recipient=effect.recipient,
        newer_than_ts=effect.newer_than_ts,
        audience=str(effect.claim.audience),
        state="pending",
        created_ms=now,
        **conversation_columns(effect.claim.conversation),
    )


async def take_draft_away(transaction: Transaction, conversation: ConversationKey) -> None:
    """Have an open draft deleted, and what was shown of it with it."""
    await transaction.run(
        """
        UPDATE outbox SET state = 'pending', body = '', withdrawn = 1 WHERE conversation = :id AND state = 'drafting'
        """,
        id=str(conversation),
    )
