"""Edits and deletions of messages: they change the inbox row, the turn and everything derived from them.

They apply to every soul that has the message. Rows are found by workspace, channel and ts, because another soul may
serve the channel by now.
"""

from collections.abc import Sequence

from daemon.core.perception import ConversationKey
from daemon.core.ports.arrivals import Acceptance, Deletion, Edit
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.forgetting import forget_derived, forget_heard
from daemon.memory.knowledge.records.forget import forget_adrift
from daemon.memory.knowledge.shared_files import drop_files, store_files
from daemon.memory.knowledge.turn_index import delete_turns, reword_turns
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.people.taken_back import empty_thoughts_of_message
from daemon.memory.queues.asked_back import forget_asked_in, reword_asked_in
from daemon.memory.queues.asking_messages import forget_what_was_asked, reword_what_was_asked
from daemon.memory.queues.jobs import LOOK, enqueue_job
from daemon.memory.senses.moments import tell_of_change

_NO_TURN = 0  # words between users are read along and are no turn: any thought since may be on them

RESTS = """
  CASE WHEN {0} < 3 OR received_ms < CAST(:now AS BIGINT) - 120000 THEN not_before
       WHEN {0} = 3 THEN CAST(:now AS BIGINT) + 5000 WHEN {0} = 4 THEN CAST(:now AS BIGINT) + 10000
       WHEN {0} = 5 THEN CAST(:now AS BIGINT) + 20000 ELSE CAST(:now AS BIGINT) + 40000 END
"""
"""Until when a message rests whose text changed under so many cycles: three are free, then each rest is longer, and
two minutes after its arrival it rests no more, so that it ends in time."""


async def edit_message(transaction: Transaction, edit: Edit, now: int) -> tuple[str, ...]:
    """Replace the text of a message; returns the states of its rows, none when it is unknown or its text is the same.

    Platforms also send an edit when they only add the preview of a link.
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
    """Forget a message and everything derived from it; returns the outcome and its reason."""
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
