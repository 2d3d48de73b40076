"""What only reads is answered beside the other talk of its room, so that it waits for no reply that grows there.

It has a conversation of its own in the room, with a claim and a fence like any other. Where something waits or is under
way that changes what is read, it stays behind that.
"""

from dataclasses import replace
from typing import Final

from daemon.core.perception import BESIDE, Audience, ConversationKey, Modality, Place
from daemon.core.phrases import READS, phrase_in, typed
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.memory_acts import FORGETTING
from daemon.memory.records import json_object

TYPED: Final = "typed"
"""The parameter that names the arrival of a slash command, by which it is answered where it was typed."""

HOME: Final = "home"
"""The parameter that names what was done on the home page."""


async def changes_wait(transaction: Transaction, where: ConversationKey, person: str) -> bool:
    """Whether something of the person is not done yet there that changes what is known of them."""
    rows = await transaction.rows(
        """
        SELECT body, place, modality, params FROM inbox
        WHERE conversation = :id AND state IN ('new', 'claimed') AND author = :person
          AND modality IN ('words', 'decision')
        """,
        id=str(where),
        person=person,
    )
    return any(_changes(row) for row in rows)


async def open_beside(
    transaction: Transaction, where: ConversationKey, place: Place, audience: Audience, now: int
) -> ConversationKey:
    """The conversation for what only reads in a room, with its row."""
    beside = replace(where, thread=BESIDE)
    await open_conversation(transaction, beside, place, audience, now)
    return beside


def _changes(row: sqlite3.Row) -> bool:
    params = json_object(row["params"])
    if HOME in params:
        return True
    if TYPED in params:
        return typed(row["body"]).command not in READS
    if row["modality"] == Modality.DECISION:
        return str(params.get("approval", "")).startswith(FORGETTING)
    phrase = phrase_in(row["body"], alone=row["place"] == Place.DM)
    return phrase is not None and phrase.command not in READS
