"""What becomes of what was asked of a session when the message changes in which it was asked.

A deleted message asks nothing any more. What an owner allowed, or is asked to, were just those words: other words are
dropped, and who asked is told to ask again. What needed no click and was not read yet is read as it stands by then.
"""

from typing import Final

from daemon.core.notes import LONGEST
from daemon.core.perception import ConversationKey
from daemon.core.phrases import Command, phrase_in
from daemon.core.sentences import SENTENCES
from daemon.core.telemetry.redaction import remove_keys
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.holders import holder_of
from daemon.memory.notes import note_in_conversation
from daemon.memory.queues.approvals import take_back
from daemon.memory.stream.emptying import empty_thoughts_on

_OF_MESSAGE: Final = "conversation = :conversation AND said_ts = :ts AND kind IN ('question', 'task')"
_OPEN: Final = "state IN ('held', 'waiting', 'delivered')"
_COMMANDS: Final = {Command.ASK: "question", Command.HAND: "task"}


async def forget_asked_in(transaction: Transaction, conversation: str, ts: str, now: int) -> None:
    """Drop what a deleted message asked, without its words; what a session reads by now is answered nowhere."""
    rows = await transaction.rows(
        f"""
        UPDATE shared_messages SET words = '',
          reason = CASE WHEN {_OPEN} THEN 'its message was deleted' ELSE reason END,
          state = CASE WHEN {_OPEN} THEN 'dropped' ELSE state END WHERE {_OF_MESSAGE} RETURNING id
        """,  # noqa: S608 - constants
        conversation=conversation,
        ts=ts,
    )
    await empty_thoughts_on(transaction, [row["id"] for row in rows])
    for row in rows:
        await take_back(transaction, row["id"], now)


async def reword_asked_in(transaction: Transaction, conversation: str, ts: str, text: str, now: int) -> None:
    """A message has another text: what it asked is asked in the new words, or dropped (see the module)."""
    rows = await transaction.rows(
        f"SELECT * FROM shared_messages WHERE {_OF_MESSAGE} AND state IN ('held', 'waiting')",  # noqa: S608 - a constant
        conversation=conversation,
        ts=ts,
    )
    for row in rows:
        words = _asked_by(row, text)
        if words and row["state"] == "waiting" and (row["bound"] or row["behalf"] == row["owner"]):
            await transaction.run("UPDATE shared_messages SET words = :words WHERE id = :id", words=words, id=row["id"])
            await empty_thoughts_on(transaction, [row["id"]])
        elif words != row["words"]:
            await _drop(transaction, row, now)


def _asked_by(row: sqlite3.Row, text: str) -> str:
    """What a text asks of the same session in the same way; empty where it doesn't."""
    phrase = phrase_in(text)
    if row["bound"] and phrase is None:
        words = remove_keys(text).strip()
        return words if len(words) <= LONGEST else ""
    if phrase is None or _COMMANDS.get(phrase.command) != row["kind"]:
        return ""
    words = remove_keys(phrase.words).strip() if phrase.name.casefold() == row["called"].casefold() else ""
    return words if len(words) <= LONGEST else ""


async def _drop(transaction: Transaction, row: sqlite3.Row, now: int) -> None:
    await transaction.run(
        "UPDATE shared_messages SET state = 'dropped', words = '', reason = 'its message was edited' WHERE id = :id",
        id=row["id"],
    )
    await empty_thoughts_on(transaction, [row["id"]])
    await take_back(transaction, row["id"], now)
    await note_in_conversation(
        transaction,
        str(await holder_of(transaction, ConversationKey.parse(row["conversation"]))),
        f"edited {row['id']}",
        SENTENCES["ask_edited"],
        reply_to=row["reply_to"],
        recipient=row["behalf"],
        now=now,
    )
