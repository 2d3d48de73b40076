"""What people say of the soul's replies: good or bad, by a button or a reaction, and once what was wrong."""

from daemon.core.ports.arrivals import Acceptance, Complaint, Feedback
from daemon.memory.database import Transaction
from daemon.memory.knowledge.handed import OF_SOUL
from daemon.memory.queues.initiatives import dislike
from daemon.memory.retrieval.judged import note_judged
from daemon.memory.senses.moments import tell_no_more_of_feedback, tell_of_feedback

_OF_MESSAGE = f"""
  SELECT o.id, :author, :value, :now, :how FROM outbox o JOIN conversations c ON c.id = o.conversation
  WHERE o.workspace = :workspace AND c.channel = :channel AND o.platform_ts = :ts AND {OF_SOUL}
    AND o.revises IS NULL
"""  # noqa: S608 - a constant of this package


async def store_feedback(transaction: Transaction, feedback: Feedback, now: int) -> tuple[Acceptance, str]:
    """Keep what a person thinks of a reply; the last word counts, and the same word again is known."""
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
    """Forget a reaction that was removed; a press of a button since then stays."""
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
    """Whether the person is to be asked what was wrong, which happens once for each reply; counts as asked then."""
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
    """Keep what was wrong, of a person who called the reply bad; the first answer counts."""
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
