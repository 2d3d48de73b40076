"""Feedback on the soul's replies, reactions in place of replies, and replies that are taken back."""

from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports.arrivals import Acceptance, Complaint, Feedback, Withdrawal
from daemon.core.ports.library import ReactionReply
from daemon.memory.database import Transaction
from daemon.memory.knowledge.forgetting import forget_heard
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.turn_index import withdraw_turn
from daemon.memory.knowledge.turns import OF_SOUL, forget_summary
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.initiatives import dislike
from daemon.memory.records import Speaks, conversation_columns
from daemon.memory.retrieval.rows import note_judged
from daemon.memory.senses.readings import tell_no_more_of_feedback, tell_of_feedback

_OF_MESSAGE = f"""
  SELECT o.id, :author, :value, :now, :how FROM outbox o JOIN conversations c ON c.id = o.conversation
  WHERE o.workspace = :workspace AND c.channel = :channel AND o.platform_ts = :ts AND {OF_SOUL}
    AND o.revises IS NULL
"""  # noqa: S608 - a constant of this package


async def store_feedback(transaction: Transaction, feedback: Feedback, now: int) -> tuple[Acceptance, str]:
    """Store or remove a person's rating of a reply. The last one counts, and the same again is a duplicate."""
    if feedback.taken_back:
        return await _take_back(transaction, feedback)
    values = {"author": feedback.author, "value": feedback.value, "now": now, "how": feedback.how}
    where = {"soul": feedback.soul, "workspace": feedback.workspace, "ts": feedback.ts, "channel": feedback.channel}
    rows = await transaction.rows(
        f"""
        INSERT INTO feedback (outbox, author, value, given_ms, how) {_OF_MESSAGE}
        ON CONFLICT (outbox, author) DO UPDATE
          SET value = excluded.value, given_ms = excluded.given_ms, how = excluded.how
          WHERE feedback.value <> excluded.value OR feedback.how <> excluded.how
        RETURNING outbox
        """,  # noqa: S608 - as above
        **values,
        **where,
    )
    for row in rows:
        await note_judged(transaction, row["outbox"], feedback.author)
        there = await _conversation_of(transaction, row["outbox"])
        await tell_of_feedback(transaction, there, feedback.value, feedback.ts, now)
        if feedback.value == "bad":
            await dislike(transaction, row["outbox"], feedback.author, now)
    if rows:
        return Acceptance.ACCEPTED, feedback.value
    known = await transaction.one(f"SELECT 1 FROM ({_OF_MESSAGE})", **values, **where)  # noqa: S608 - as above
    return (Acceptance.DUPLICATE, "said before") if known else (Acceptance.IGNORED, "no reply of the soul there")


async def _take_back(transaction: Transaction, feedback: Feedback) -> tuple[Acceptance, str]:
    """Forget a reaction that was removed, but not a rating given by button since."""
    rows = await transaction.rows(
        """
        DELETE FROM feedback WHERE author = :author AND value = :value AND how = 'reaction' AND outbox IN (
          SELECT o.id FROM outbox o JOIN conversations c ON c.id = o.conversation
          WHERE o.workspace = :workspace AND c.channel = :channel AND o.platform_ts = :ts)
        RETURNING outbox
        """,
        author=feedback.author,
        value=feedback.value,
        workspace=feedback.workspace,
        channel=feedback.channel,
        ts=feedback.ts,
    )
    for row in rows:
        where = await _conversation_of(transaction, row["outbox"])
        await tell_no_more_of_feedback(transaction, where, feedback.value, feedback.ts)
    return (Acceptance.ACCEPTED, "taken back") if rows else (Acceptance.IGNORED, "it was not given")


async def _conversation_of(transaction: Transaction, post: str) -> str:
    row = await transaction.one("SELECT conversation FROM outbox WHERE id = :id", id=post)
    return str(row["conversation"]) if row else ""


async def may_ask_why(transaction: Transaction, feedback: Feedback, now: int) -> bool:
    """Return whether to ask the person what was wrong, and note that they were asked: once for each reply."""
    row = await transaction.one(
        """
        UPDATE feedback SET asked_ms = :now
        WHERE author = :author AND value = 'bad' AND asked_ms IS NULL AND outbox IN (
          SELECT o.id FROM outbox o JOIN conversations c ON c.id = o.conversation
          WHERE o.workspace = :workspace AND c.channel = :channel AND o.platform_ts = :ts)
        RETURNING outbox
        """,
        now=now,
        author=feedback.author,
        workspace=feedback.workspace,
        channel=feedback.channel,
        ts=feedback.ts,
    )
    return row is not None


async def store_complaint(transaction: Transaction, complaint: Complaint, _now: int) -> tuple[Acceptance, str]:
    """Store what was wrong with a reply that the person rated bad. The first answer counts."""
    row = await transaction.one(
        f"""
        UPDATE feedback SET why = :why
        WHERE author = :author AND value = 'bad' AND why = '' AND outbox IN (
          SELECT o.id FROM outbox o JOIN conversations c ON c.id = o.conversation
          WHERE o.workspace = :workspace AND c.channel = :channel AND o.platform_ts = :ts AND {OF_SOUL})
        RETURNING outbox
        """,  # noqa: S608 - a constant of this package
        why=complaint.text,
        author=complaint.author,
        soul=complaint.soul,
        workspace=complaint.workspace,
        channel=complaint.channel,
        ts=complaint.ts,
    )
    return (Acceptance.ACCEPTED, "why it was bad") if row else (Acceptance.IGNORED, "not called bad by this person")


async def store_nod(transaction: Transaction, effect: CycleEffect, nod: ReactionReply, now: int) -> None:
    """Queue a reaction in place of the reply's first post. It replaces an open draft."""
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
    """Delete an open draft, also from the platform."""
    await transaction.run(
        """
        UPDATE outbox SET state = 'pending', body = '', withdrawn = 1 WHERE conversation = :id AND state = 'drafting'
        """,
        id=str(conversation),
    )


TAKEN_BACK: Final = "it was taken back"
"""The reason kept with the posts and memories of a reply that was taken back."""

_PARTS: Final = "conversation = :conversation AND id >= :whole || '#' AND id < :whole || '#:'"


async def withdraw_reply(transaction: Transaction, asked: Withdrawal, now: int) -> tuple[Acceptance, str]:
    """Take back a message's reply, unless it answered another user and no approver asks."""
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
    """Delete a part that has just been sent, if its reply was taken back during the sending."""
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
    await transaction.run(
        f"""
        UPDATE goals SET follow_up = 0
        WHERE conversation = :conversation AND said_in IN (SELECT id FROM outbox WHERE {_PARTS})
        """,  # noqa: S608 - a constant of this module
        **reply,
    )


async def _take_posts_back(transaction: Transaction, reply: dict[str, str], now: int) -> None:
    """Delete the visible posts and drop the waiting ones. A post being sent is looked up first."""
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
    """Empty the turn, and forget what was made from it."""
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
