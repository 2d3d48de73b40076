"""Takes a reply back: all of it that users see is deleted, and what was said counts as not said.

Every part of it is marked, so that a part that is being sent is deleted as soon as it surely arrived. A deletion is a
row of the outbox like any post: made until the platform took it, over restarts and by any daemon; twice does no harm.
"""

from typing import Final

from daemon.core.ports.arrivals import Acceptance, Withdrawal
from daemon.memory.database import Transaction
from daemon.memory.knowledge.forgetting import forget_heard
from daemon.memory.knowledge.handed import OF_SOUL
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.ids import turn_id
from daemon.memory.knowledge.turn_index import withdraw_turn
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.records import Speaks

TAKEN_BACK: Final = "it was taken back"
"""Why a post is not sent, and what memory says of what was made from it."""

_PARTS: Final = "conversation = :conversation AND id >= :whole || '#' AND id < :whole || '#:'"


async def withdraw_reply(transaction: Transaction, asked: Withdrawal, now: int) -> tuple[Acceptance, str]:
    """Take back the reply that a message is a part of; ignored unless it answered that user, or an approver asks."""
    row = await transaction.one(
        f"""
        SELECT o.id, o.conversation, o.recipient, o.withdrawn, o.state
        FROM outbox o JOIN conversations c ON c.id = o.conversation
        WHERE o.platform_ts = :ts AND o.revises IS NULL AND o.workspace = :workspace AND c.channel = :channel
          AND {OF_SOUL}
        """,  # noqa: S608 - a constant of this package
        ts=asked.ts,
        soul=asked.soul,
        workspace=asked.workspace,
        channel=asked.channel,
    )
    if row is None:
        return Acceptance.IGNORED, "no reply of the soul there"
    if not asked.by_approver and row["recipient"] != asked.author:
        return Acceptance.IGNORED, "it answered another person"
    if row["state"] == "drafting":
        return Acceptance.IGNORED, "it is still being written, and can be stopped"
    if row["withdrawn"]:
        return Acceptance.DUPLICATE, "taken back before"
    reply = {"conversation": row["conversation"], "whole": str(row["id"]).rpartition("#")[0]}
    if await _asks_permission(transaction, reply):
        return Acceptance.IGNORED, "it asks for permission, which can be refused"
    await _promise_nothing(transaction, reply)
    await _take_out_of_memory(transaction, reply, now)
    await _take_posts_back(transaction, reply, now)
    return Acceptance.ACCEPTED, TAKEN_BACK


async def delete_if_withdrawn(transaction: Transaction, key: str, now: int) -> None:
    """Have a part deleted that has just been sent, if its reply was taken back meanwhile."""
    await transaction.run(f"{_DELETIONS} id = :id AND withdrawn = 1 {_ONCE}", id=key, now=now)


async def _asks_permission(transaction: Transaction, reply: dict[str, str]) -> bool:
    waiting = await transaction.one(
        f"""
        SELECT 1 FROM approvals WHERE state = 'waiting' AND id IN
          (SELECT approval FROM outbox WHERE {_PARTS} AND approval IS NOT NULL)
        """,  # noqa: S608 - a constant of this module
        **reply,
    )
    return waiting is not None


async def _promise_nothing(transaction: Transaction, reply: dict[str, str]) -> None:
    """What the reply promised to come back to is promised no more, since no one reads of it."""
    await transaction.run(
        f"""
        UPDATE goals SET follow_up = 0
        WHERE conversation = :conversation AND said_in IN (SELECT id FROM outbox WHERE {_PARTS})
        """,  # noqa: S608 - a constant of this module
        **reply,
    )


async def _take_posts_back(transaction: Transaction, reply: dict[str, str], now: int) -> None:
    """Delete what stands, send nothing of what waits; what is being sent is looked up first."""
    await transaction.run(
        f"""
        UPDATE outbox SET withdrawn = 1, body = '', cleared = 1,
               state = CASE WHEN state = 'pending' AND (revises IS NOT NULL OR (platform_ts IS NULL AND draft_lost = 0))
                            THEN 'dropped' ELSE state END,
               reason = CASE WHEN state IN ('pending', 'sending') THEN :why ELSE reason END
        WHERE {_PARTS}
        """,  # noqa: S608 - a constant of this module
        why=TAKEN_BACK,
        **reply,
    )
    await transaction.run(f"{_DELETIONS} {_PARTS} {_ONCE}", now=now, **reply)


async def _take_out_of_memory(transaction: Transaction, reply: dict[str, str], now: int) -> None:
    """The turn stays without its words; what was made from it goes."""
    turns = await transaction.rows(
        """
        SELECT DISTINCT t.seq FROM inbox i JOIN turns t ON t.conversation = i.conversation AND t.ts = i.ts
        WHERE i.conversation = :conversation AND i.answered_by = :whole || '#0' AND t.speaker = 'soul'
          AND t.kind <> 'apology'
        """,
        **reply,
    )
    for turn in turns:
        await forget_summary(transaction, reply["conversation"], turn["seq"])
        await forget(transaction, [turn_id(Speaks.SOUL, turn["seq"])], now, TAKEN_BACK, reworded=True)
        await withdraw_turn(transaction, turn["seq"], TAKEN_BACK, now)
        await forget_heard(transaction, reply["conversation"], turn["seq"], now)


_DELETIONS: Final = """
    INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                        audience, state, created_ms, revises, withdrawn, file)
    SELECT id || '!withdrawn', conversation, soul, workspace, part, 0, '', reply_to, recipient, newer_than_ts, audience,
           'pending', :now, platform_ts, 1, file
    FROM outbox WHERE state = 'sent' AND revises IS NULL AND platform_ts IS NOT NULL AND
    """
_ONCE: Final = "ON CONFLICT (id) DO NOTHING"
