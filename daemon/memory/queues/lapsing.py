"""Questions for permission that lapse with a reply or a problem that a person stopped, and lose their buttons."""

from collections.abc import Sequence

from daemon.core.sentences import SENTENCES
from daemon.memory.database import Transaction

NOT_BEING_POSTED = """
  NOT EXISTS (SELECT 1 FROM outbox o WHERE o.conversation = a.conversation AND o.state IN ('pending', 'sending')
                AND o.state = 'sending' AND o.approval = a.id AND o.platform_ts IS NULL)
"""  # while a question is being posted its message has no known ts, and its buttons could not be removed


async def is_being_posted(transaction: Transaction, id_: str) -> bool:
    """Whether the question is being sent to the platform, so that its message has no known ts yet."""
    row = await transaction.one(f"SELECT 1 FROM approvals a WHERE id = :id AND {NOT_BEING_POSTED}", id=id_)  # noqa: S608 - a constant of this module
    return row is None


async def remove_buttons(transaction: Transaction, conversation: str, id_: str, note: str, now: int) -> None:
    """Add the outcome to the question's message, by a revision when it is posted and else before it is posted."""
    await transaction.run(
        """
        UPDATE outbox SET approval = NULL, body = body || :note
        WHERE conversation = :conversation AND approval = :id AND state = 'pending' AND platform_ts IS NULL
        """,
        note=note,
        conversation=conversation,
        id=id_,
    )
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, revises)
        SELECT id || '!decided', conversation, soul, workspace, part, 0, body || :note, reply_to, recipient,
               newer_than_ts, audience, 'pending', :now, platform_ts
        FROM outbox WHERE conversation = :conversation AND approval = :id AND platform_ts IS NOT NULL
        ON CONFLICT (id) DO NOTHING
        """,
        note=note,
        conversation=conversation,
        id=id_,
        now=now,
    )


async def lapse(transaction: Transaction, approvals: Sequence[str], now: int) -> None:
    """Have questions lapse whose reply or problem a person stopped: no click counts any more, and nothing is said.

    Their messages lose their buttons and say so; one that is just being posted does as soon as it surely is.
    """
    for id_ in approvals:
        row = await transaction.one("SELECT conversation FROM approvals WHERE id = :id AND state = 'waiting'", id=id_)
        if row is None:
            continue
        await transaction.run(
            """
            UPDATE outbox SET stopped = 'halted'
            WHERE conversation = :conversation AND approval = :id AND stopped <> 'halted'
            """,
            conversation=row["conversation"],
            id=id_,
        )
        if await is_being_posted(transaction, id_):
            await transaction.run(
                "UPDATE approvals SET expires_ms = min(expires_ms, :now) WHERE id = :id", now=now, id=id_
            )
        else:
            await lapse_now(transaction, row["conversation"], id_, now)


async def was_stopped(transaction: Transaction, conversation: str, id_: str) -> bool:
    """Whether a question lapses because its reply or its problem was stopped."""
    row = await transaction.one(
        "SELECT 1 FROM outbox WHERE conversation = :conversation AND approval = :id AND stopped = 'halted'",
        conversation=conversation,
        id=id_,
    )
    return row is not None


async def lapse_now(transaction: Transaction, conversation: str, id_: str, now: int) -> None:
    """Close a question without an event: one that nobody has seen is not posted at all."""
    await transaction.run(
        "UPDATE approvals SET state = 'expired', decided_ms = :now WHERE id = :id AND state = 'waiting'",
        now=now,
        id=id_,
    )
    await transaction.run(
        """
        UPDATE outbox SET state = 'dropped', reason = 'it was stopped', settled_ms = :now
        WHERE conversation = :conversation AND approval = :id AND state = 'pending' AND platform_ts IS NULL
        """,
        now=now,
        conversation=conversation,
        id=id_,
    )
    await remove_buttons(transaction, conversation, id_, f"\n\n_{SENTENCES['lapsed']}_", now)
