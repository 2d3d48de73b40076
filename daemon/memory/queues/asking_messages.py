"""What becomes of intentions when a message changes that asked for them."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from daemon.core.perception import ConversationKey, Modality
from daemon.core.words import ALIKE, Term, likeness, terms_of, words_of
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.handed import handed_among
from daemon.memory.notes import Note, note_in_conversation
from daemon.memory.queues.intention_rows import DIGEST, DUE_OF
from daemon.memory.queues.internal_events import store_internal_event

ASKED_IN: Final = "heard"
"""In the params of an intention: the ts of the messages that asked for it; deleting one cancels it."""

WITHDRAWN: Final = "withdrawn"
"""In the params of an event: its intention ended with the message that asked for it, which its person is to hear."""


async def forget_what_was_asked(transaction: Transaction, conversation: str, ts: str, now: int) -> None:
    """Cancel the intentions that a deleted message asked for, and delete their text."""
    for row in await _asked_in(transaction, conversation, ts):
        await _drop(transaction, row, "its message was deleted", now)
        if row["errand"] == DIGEST and row["state"] == "waiting":
            await _have_it_heard(transaction, row, now)


async def _have_it_heard(transaction: Transaction, row: sqlite3.Row, now: int) -> None:
    """Have the person hear whose digest ended, once: by an event, since their direct messages may have to be opened."""
    await store_internal_event(
        transaction,
        name=f"withdrawn:{row['id']}",
        conversation=ConversationKey.parse(row["conversation"]),
        modality=Modality.TIME,
        author=row["behalf"],
        place=row["place"],
        audience=row["audience"],
        params={DUE_OF: row["id"], WITHDRAWN: True},
        now=now,
    )


async def reword_what_was_asked(transaction: Transaction, conversation: str, ts: str, text: str, now: int) -> None:
    """A message is about to get another text: an intention goes that holds what is taken out, any other stays as it is.

    The person whom it was for hears in a plain line which of the two it is.
    """
    asked = await _asked_in(transaction, conversation, ts)
    turn = asked and await transaction.one(
        "SELECT body FROM turns WHERE conversation = :conversation AND ts = :ts AND speaker = 'person'",
        conversation=conversation,
        ts=ts,
    )
    if not turn:
        return
    said, written = words_of(turn["body"]), words_of(text)
    if said == written:
        return
    kept = set(written)
    gone = set(said) - kept
    for row in asked:
        stays = not any(_says(term, gone) and not _says(term, kept) for term in terms_of(row["content"]))
        if not stays:
            await _drop(transaction, row, "its message was edited", now)
        if row["state"] == "waiting":
            await note_in_conversation(
                transaction,
                row["conversation"],
                f"{'kept' if stays else 'edited'} {row['id']}",
                Note.AS_SET if stays else Note.REWORDED,
                reply_to=conversation.rpartition("/")[2],
                recipient=row["behalf"],
                now=now,
            )


def _says(term: Term, words: Collection[str]) -> bool:
    return any(likeness(term, word) >= ALIKE for word in words)


async def _asked_in(transaction: Transaction, conversation: str, ts: str) -> list[sqlite3.Row]:
    """The intentions that a message asked for, by now maybe those of the soul to which the thread was handed."""
    rows = [
        row
        for one in sorted(await handed_among(transaction, conversation))
        for row in await transaction.rows(
            """
            SELECT * FROM intentions WHERE conversation = :conversation AND content <> ''
            UNION ALL SELECT * FROM intentions
            WHERE conversation = :conversation AND state = 'waiting' AND content = '' AND errand <> ''
            UNION ALL SELECT * FROM intentions
            WHERE asked_where = :conversation AND asked_where <> ''
              AND (content <> '' OR (errand <> '' AND state = 'waiting'))
            """,
            conversation=one,
        )
    ]
    return [row for row in rows if ts in _messages_that_asked(json.loads(row["params"]))]


async def _drop(transaction: Transaction, row: sqlite3.Row, reason: str, now: int) -> None:
    await transaction.run(
        """
        UPDATE intentions SET content = '', settled_ms = coalesce(settled_ms, :now),
               reason = CASE WHEN state = 'waiting' THEN :reason ELSE reason END,
               state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END WHERE id = :id
        """,
        reason=reason,
        now=now,
        id=row["id"],
    )


def _messages_that_asked(params: Mapping[str, object]) -> Sequence[object]:
    timestamps = params.get(ASKED_IN)
    return timestamps if isinstance(timestamps, list) else ()
