"""Short answers offered by buttons under a question, each picked once and then heard as the user's own words."""

import json
from typing import Final

from daemon.core.perception import BELOW, NO_MESSAGE, Audience, ConversationKey, Modality, Perception, Place
from daemon.core.ports.arrivals import Acceptance, PickedAnswer
from daemon.memory.bound_threads import holder_of
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.turns import OF_SOUL
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.internal_events import store_internal_event

OFFERED_MS: Final = 24 * 3_600_000
"""Milliseconds for which an answer may be picked."""


async def pick_answer(transaction: Transaction, picked: PickedAnswer, now: int) -> tuple[Acceptance, str]:
    """Put a picked answer into the conversation that asked, if the asked user picks in time and once."""
    row = await transaction.one(
        f"""
        SELECT o.id, o.conversation, o.recipient, o.reply_to, o.answers, o.created_ms, c.place, c.audience
        FROM outbox o JOIN conversations c ON c.id = o.conversation
        WHERE o.platform_ts = :ts AND o.revises IS NULL AND o.workspace = :workspace AND c.channel = :channel
          AND {OF_SOUL}
        """,  # noqa: S608 - a constant of this package
        ts=picked.ts,
        soul=picked.soul,
        workspace=picked.workspace,
        channel=picked.channel,
    )
    if row is None or row["recipient"] != picked.author:
        return Acceptance.IGNORED, "not asked of this person"
    answers = json.loads(row["answers"] or "[]")
    if now - row["created_ms"] >= OFFERED_MS or not 0 <= picked.number < len(answers):
        await _withdraw(transaction, row["id"], "", now)
        return Acceptance.IGNORED, "no longer offered"
    answer = str(answers[picked.number])
    await _withdraw(transaction, row["id"], f"\n\n\u2713 {answer}", now)
    where = await holder_of(transaction, ConversationKey.parse(row["conversation"]))
    await open_conversation(transaction, where, Place(row["place"]), Audience.parse(row["audience"]), now, heard=True)
    await store_internal_event(
        transaction,
        name=f"answer:{picked.ts}",
        conversation=where,
        modality=Modality.WORDS,
        author=picked.author,
        place=row["place"],
        audience=row["audience"],
        body=answer,
        params={NO_MESSAGE: True, BELOW: row["reply_to"]},
        now=now,
    )
    return Acceptance.ACCEPTED, "an answer"


async def close_offers(transaction: Transaction, heard: Perception, now: int) -> None:
    """Withdraw the answers offered to the author of a message in its conversation or thread."""
    rows: list[sqlite3.Row] = await transaction.rows(
        """
        SELECT o.id FROM outbox o JOIN conversations c ON c.id = o.conversation
        WHERE o.workspace = :workspace AND o.recipient = :author AND o.answers <> '' AND c.channel = :channel
          AND (o.conversation = :conversation OR o.reply_to = :thread)
        """,
        workspace=heard.conversation.workspace,
        author=heard.author,
        channel=heard.conversation.channel,
        conversation=str(heard.conversation),
        thread=heard.conversation.thread or heard.ts,
    )
    for row in rows:
        await _withdraw(transaction, row["id"], "", now)


async def _withdraw(transaction: Transaction, post: str, note: str, now: int) -> None:
    """Stop offering answers under a post. If it is posted, the note replaces its buttons."""
    await transaction.run("UPDATE outbox SET answers = '' WHERE id = :id", id=post)
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, revises, dates)
        SELECT id || '!answered', conversation, soul, workspace, part, last, body || :note, reply_to, recipient,
               newer_than_ts, audience, 'pending', :now, platform_ts, dates
        FROM outbox WHERE id = :id AND platform_ts IS NOT NULL AND cleared = 0
        ON CONFLICT (id) DO NOTHING
        """,
        note=note,
        now=now,
        id=post,
    )
