"""Edits and deletions of messages: they change the inbox row, the turn and everything derived from them.

They apply to every soul that has the message. Rows are found by workspace, channel and ts, because another soul may
serve the channel by now.
"""

import json
from collections.abc import Mapping, Sequence

from daemon.core.ports import Acceptance, Deletion, Edit
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.memory.knowledge.turn_index import delete_turns, reword_turns
from daemon.memory.knowledge.turns import forget_summary

ASKED_IN = "heard"
"""In the params of an intention: the ts of the messages that asked for it; deleting one cancels it."""


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
          AND (body <> :text OR cleared = 1) AND state NOT IN ('withdrawn', 'dropped') RETURNING conversation, state
        """,  # noqa: S608  # literals of this module
        now=now,
        text=edit.text,
        workspace=edit.workspace,
        channel=edit.channel,
        ts=edit.ts,
    )
    for row in rows:
        turns = await reword_turns(transaction, row["conversation"], edit.ts, edit.text)
        await _forget_derived_from(transaction, row["conversation"], turns, now)
    return tuple(row["state"] for row in rows)


async def delete_message(transaction: Transaction, deletion: Deletion, now: int) -> tuple[Acceptance, str]:
    """Forget a message and everything derived from it; returns the outcome and its reason."""
    rows = await transaction.rows(
        """
        UPDATE inbox SET body = '', envelope = '{}', revision = revision + 1, settled_ms = :now,
               state = CASE WHEN state IN ('new', 'claimed', 'ignored') THEN 'withdrawn' ELSE state END,
               aside = 0, reason = 'deleted by its author'
        WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND modality = 'words' RETURNING conversation
        """,
        now=now,
        workspace=deletion.workspace,
        channel=deletion.channel,
        ts=deletion.ts,
    )
    for row in rows:
        turns = await delete_turns(transaction, row["conversation"], deletion.ts)
        await _forget_derived_from(transaction, row["conversation"], turns, now)
        await _cancel_intentions(transaction, row["conversation"], deletion.ts, now)
    return (Acceptance.ACCEPTED, "withdrawn") if rows else (Acceptance.IGNORED, "message not known")


async def _forget_derived_from(
    transaction: Transaction, conversation: str, turns: Sequence[sqlite3.Row], now: int
) -> None:
    if turns:
        await forget_summary(transaction, conversation, min(turn["seq"] for turn in turns))
    for turn in turns:
        await forget_derived(transaction, conversation, turn["author"], turn["seq"], now)


async def _cancel_intentions(transaction: Transaction, conversation: str, ts: str, now: int) -> None:
    """Cancel the intentions that the deleted message asked for, and delete their text."""
    rows = await transaction.rows(
        "SELECT id, params FROM intentions WHERE conversation = :conversation AND content <> ''",
        conversation=conversation,
    )
    for row in rows:
        if ts in _messages_that_asked(json.loads(row["params"])):
            await transaction.run(
                """
                UPDATE intentions SET content = '', settled_ms = coalesce(settled_ms, :now),
                       reason = CASE WHEN state = 'waiting' THEN 'its message was deleted' ELSE reason END,
                       state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END WHERE id = :id
                """,
                now=now,
                id=row["id"],
            )


def _messages_that_asked(params: Mapping[str, object]) -> Sequence[object]:
    timestamps = params.get(ASKED_IN)
    return timestamps if isinstance(timestamps, list) else ()
