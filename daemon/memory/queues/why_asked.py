"""Takes a person's question why the soul said something, asked by the shortcut at one of its messages."""

from typing import Final

from daemon.core.perception import BELOW, Audience, ConversationKey, Modality, Place
from daemon.core.ports.arrivals import Acceptance, WhyAsked
from daemon.memory.database import Transaction
from daemon.memory.knowledge.handed import OF_SOUL
from daemon.memory.queues.beside import changes_wait, open_beside
from daemon.memory.queues.internal_events import store_internal_event

MESSAGE: Final = "why"
"""The parameter of the event that names the message asked about."""


async def ask_why(transaction: Transaction, asked: WhyAsked, now: int) -> tuple[Acceptance, str]:
    """Put the question into the inbox, once for each use of the shortcut; ignored where the soul said nothing there."""
    row = await transaction.one(
        f"""
        SELECT c.id, c.place, c.audience, o.reply_to FROM outbox o JOIN conversations c ON c.id = o.conversation
        WHERE o.platform_ts = :ts AND o.workspace = :workspace AND c.channel = :channel AND {OF_SOUL}
          AND o.revises IS NULL
        """,  # noqa: S608 - a constant of this package
        ts=asked.ts,
        soul=asked.soul,
        workspace=asked.workspace,
        channel=asked.channel,
    )
    if row is None:
        return Acceptance.IGNORED, "no message of the soul there"
    where = ConversationKey.parse(row["id"])
    if not await changes_wait(transaction, where, asked.author):
        where = await open_beside(transaction, where, Place(row["place"]), Audience.parse(row["audience"]), now)
    await store_internal_event(
        transaction,
        name=asked.event_id,
        conversation=where,
        modality=Modality.DECISION,
        author=asked.author,
        place=row["place"],
        audience=row["audience"],
        params={MESSAGE: asked.ts, BELOW: row["reply_to"]},
        now=now,
    )
    return Acceptance.ACCEPTED, ""
