"""Edits and deletions of messages, which change the inbox row, the turn and everything derived from them."""

from collections.abc import Sequence
from typing import Final

from daemon.core.notes import LONGEST
from daemon.core.perception import ConversationKey
from daemon.core.phrases import Command, phrase_in
from daemon.core.ports.arrivals import Acceptance, Deletion, Edit
from daemon.core.sentences import SENTENCES
from daemon.core.telemetry.redaction import remove_keys
from daemon.memory.bound_threads import holder_of
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import note_in_conversation
from daemon.memory.knowledge.forgetting import forget_derived, forget_heard
from daemon.memory.knowledge.records.forget import forget_adrift
from daemon.memory.knowledge.shared_files import drop_files, store_files
from daemon.memory.knowledge.turn_index import delete_turns, reword_turns
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.people.taken_back import empty_thoughts_of_message
from daemon.memory.queues.approvals import take_back
from daemon.memory.queues.intention_rows import forget_what_was_asked, reword_what_was_asked
from daemon.memory.queues.jobs import LOOK, enqueue_job
from daemon.memory.senses.readings import tell_of_change
from daemon.memory.stream.emptying import empty_thoughts_on

_OF_MESSAGE: Final = "conversation = :conversation AND said_ts = :ts AND kind IN ('question', 'task')"
_OPEN: Final = "state IN ('held', 'waiting', 'delivered')"
_COMMANDS: Final = {Command.ASK: "question", Command.HAND: "task"}


async def forget_asked_in(transaction: Transaction, conversation: str, ts: str, now: int) -> None:
    """Drop what a deleted message asked, even if a session reads it already: its answer is posted nowhere."""
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
    """Give the questions and tasks of an edited message their new words, or drop them."""
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


_NO_TURN = 0  # words between users are read along and are no turn: any thought since may be on them

RESTS = """
  CASE WHEN {0} < 3 OR received_ms < CAST(:now AS BIGINT) - 120000 THEN not_before
       WHEN {0} = 3 THEN CAST(:now AS BIGINT) + 5000 WHEN {0} = 4 THEN CAST(:now AS BIGINT) + 10000
       WHEN {0} = 5 THEN CAST(:now AS BIGINT) + 20000 ELSE CAST(:now AS BIGINT) + 40000 END
"""
"""SQL for the moment until which an edited message rests, by its number of cycles in vain. Three are free, then each
rest is longer. Two minutes after its arrival a message doesn't rest any more."""


async def edit_message(transaction: Transaction, edit: Edit, now: int) -> tuple[str, ...]:
    """Replace the text of a message, and return the states of its rows, none if it is unknown or unchanged.

    The rows of all souls change, because another soul may have served the channel before. Platforms also send an edit
    when they only add the preview of a link.
    """
    rows = await transaction.rows(
        f"""
        UPDATE inbox SET body = CASE WHEN cleared = 1 THEN body ELSE :text END, revision = revision + 1,
               not_before = CASE WHEN state = 'new' THEN {RESTS.format("voided")} ELSE not_before END
        WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND modality = 'words'
          AND (body <> :text OR cleared = 1) AND state NOT IN ('withdrawn', 'dropped')
        RETURNING id, soul, workspace, conversation, state, aside
        """,  # noqa: S608  # literals of this module
        now=now,
        text=edit.text,
        workspace=edit.workspace,
        channel=edit.channel,
        ts=edit.ts,
    )
    if rows or not await _is_known(transaction, edit):
        await empty_thoughts_of_message(transaction, edit.workspace, edit.channel, edit.ts)
    if rows:
        await drop_files(transaction, edit.workspace, edit.channel, edit.ts)
    for row in rows:
        await reword_what_was_asked(transaction, row["conversation"], edit.ts, edit.text, now)
        await reword_asked_in(transaction, row["conversation"], edit.ts, edit.text, now)
        turns = await reword_turns(transaction, row["conversation"], edit.ts, edit.text, now)
        await _forget_derived_from(transaction, row["conversation"], turns, now, reworded=True)
        await store_files(transaction, row["conversation"], edit.ts, edit.files, now)
        if row["state"] == "answered":
            await tell_of_change(transaction, row["conversation"], edit.ts, now)
        if turns and edit.files:  # what was seen on them was forgotten with the old words
            await _have_looked_at(transaction, row["conversation"], now)
        if row["aside"]:
            await forget_heard(transaction, row["conversation"], _NO_TURN, now)
    await forget_adrift(transaction, now)
    return tuple(row["state"] for row in rows)


async def _is_known(transaction: Transaction, edit: Edit) -> bool:
    row = await transaction.one(
        """
        SELECT 1 FROM inbox WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND modality = 'words'
        """,
        workspace=edit.workspace,
        channel=edit.channel,
        ts=edit.ts,
    )
    return row is not None


async def delete_message(transaction: Transaction, deletion: Deletion, now: int) -> tuple[Acceptance, str]:
    """Forget a message and everything derived from it, and return the outcome and its reason."""
    asides = await transaction.rows(
        """
        SELECT conversation FROM inbox
        WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND modality = 'words' AND aside = 1
        """,
        workspace=deletion.workspace,
        channel=deletion.channel,
        ts=deletion.ts,
    )
    for row in asides:
        await forget_heard(transaction, row["conversation"], _NO_TURN, now)
    await drop_files(transaction, deletion.workspace, deletion.channel, deletion.ts)
    await empty_thoughts_of_message(transaction, deletion.workspace, deletion.channel, deletion.ts)
    rows = await transaction.rows(
        """
        UPDATE inbox SET body = '', envelope = '{}', revision = revision + 1, settled_ms = :now,
               state = CASE WHEN state IN ('new', 'claimed', 'ignored') THEN 'withdrawn' ELSE state END,
               aside = 0, reason = 'deleted by its author'
        WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND modality = 'words'
        RETURNING conversation, state
        """,
        now=now,
        workspace=deletion.workspace,
        channel=deletion.channel,
        ts=deletion.ts,
    )
    for row in rows:
        turns = await delete_turns(transaction, row["conversation"], deletion.ts, now)
        await _forget_derived_from(transaction, row["conversation"], turns, now)
        await forget_what_was_asked(transaction, row["conversation"], deletion.ts, now)
        await forget_asked_in(transaction, row["conversation"], deletion.ts, now)
        if row["state"] == "answered":
            await tell_of_change(transaction, row["conversation"], deletion.ts, now, deleted=True)
    await forget_adrift(transaction, now)
    return (Acceptance.ACCEPTED, "withdrawn") if rows else (Acceptance.IGNORED, "message not known")


async def _have_looked_at(transaction: Transaction, conversation: str, now: int) -> None:
    row = await transaction.one("SELECT version FROM conversations WHERE id = :id", id=conversation)
    if row is not None:
        await enqueue_job(transaction, LOOK, ConversationKey.parse(conversation), row["version"], now)


async def _forget_derived_from(
    transaction: Transaction, conversation: str, turns: Sequence[sqlite3.Row], now: int, *, reworded: bool = False
) -> None:
    if turns:
        await forget_summary(transaction, conversation, min(turn["seq"] for turn in turns))
    for turn in turns:
        await forget_derived(transaction, conversation, turn["author"], turn["seq"], now, reworded=reworded)
