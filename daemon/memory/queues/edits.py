"""Words edited or taken back: the row, the turn and all that was made of them, for every soul that heard them.

A channel may have got another soul meanwhile, so rows are found by where the message is, not by who would hear it now.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence

from daemon.core.ports import Acceptance, Deletion, Edit
from daemon.memory.database import Transaction
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.memory.knowledge.turns import forget_summary

ASKED_IN = "heard"
"""In the params of an intention: the ts of the messages that asked for it; deleting one cancels it."""


async def revise(transaction: Transaction, edit: Edit, now: int) -> tuple[str, ...]:
    """Let a message say something else; gives the states its rows are in, none where nothing is known or new.

    Platforms also tell of an edit when only a link's preview was added: the same words are no news.
    """
    rows = await transaction.rows(
        """
        UPDATE inbox SET body = :text, revision = revision + 1
        WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND modality = 'words'
          AND body <> :text AND state NOT IN ('withdrawn', 'dropped') RETURNING conversation, state
        """,
        text=edit.text,
        workspace=edit.workspace,
        channel=edit.channel,
        ts=edit.ts,
    )
    for row in rows:
        turns = await transaction.rows(
            """
            UPDATE turns SET body = :text WHERE conversation = :conversation AND ts = :ts AND speaker = 'person'
            RETURNING seq, author
            """,
            text=edit.text,
            conversation=row["conversation"],
            ts=edit.ts,
        )
        await _let_go(transaction, row["conversation"], turns, now)
    return tuple(row["state"] for row in rows)


async def withdraw(transaction: Transaction, gone: Deletion, now: int) -> tuple[Acceptance, str]:
    """Forget a message and what was made of it."""
    rows = await transaction.rows(
        """
        UPDATE inbox SET body = '', envelope = '{}', revision = revision + 1, settled_ms = :now,
               state = CASE WHEN state IN ('new', 'claimed', 'ignored') THEN 'withdrawn' ELSE state END,
               aside = 0, reason = 'deleted by its author'
        WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND modality = 'words' RETURNING conversation
        """,
        now=now,
        workspace=gone.workspace,
        channel=gone.channel,
        ts=gone.ts,
    )
    for row in rows:
        turns = await transaction.rows(
            """
            DELETE FROM turns WHERE conversation = :conversation AND ts = :ts AND speaker = 'person'
            RETURNING seq, author
            """,
            conversation=row["conversation"],
            ts=gone.ts,
        )
        await _let_go(transaction, row["conversation"], turns, now)
        await _drop_intentions(transaction, row["conversation"], gone.ts, now)
    return (Acceptance.ACCEPTED, "withdrawn") if rows else (Acceptance.IGNORED, "message not known")


async def _let_go(transaction: Transaction, conversation: str, turns: Sequence[sqlite3.Row], now: int) -> None:
    """Let go of what was made of words that are gone or were changed: the summary, notes on their person, the topic."""
    if turns:
        await forget_summary(transaction, conversation, min(turn["seq"] for turn in turns))
    for turn in turns:
        await forget_derived(transaction, conversation, turn["author"], turn["seq"], now)


async def _drop_intentions(transaction: Transaction, conversation: str, ts: str, now: int) -> None:
    """What somebody asked for with words that are gone is not brought up any more, and its words go too."""
    rows = await transaction.rows(
        "SELECT id, params FROM intentions WHERE conversation = :conversation AND content <> ''",
        conversation=conversation,
    )
    for row in rows:
        if ts in _heard(json.loads(row["params"])):
            await transaction.run(
                """
                UPDATE intentions SET content = '', settled_ms = coalesce(settled_ms, :now),
                       reason = CASE WHEN state = 'waiting' THEN 'its words were taken back' ELSE reason END,
                       state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END WHERE id = :id
                """,
                now=now,
                id=row["id"],
            )


def _heard(params: Mapping[str, object]) -> Sequence[object]:
    heard = params.get(ASKED_IN)
    return heard if isinstance(heard, list) else ()
