"""Cues that fall due: a silence that lasted long enough is reported, and a cue whose time is over ends.

A silence is believed only once this daemon has surely heard all that was said meanwhile.
"""

import json
from typing import Final

from daemon.core.perception import ConversationKey, Modality
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.queues.cues import OVER, REPORTS, CueKind
from daemon.memory.queues.internal_events import store_internal_event

CATCHES_UP_MS: Final = 60_000
"""How long a daemon that has just begun may take to see what it missed; so long no silence is believed."""

_REST_MS: Final = 30_000  # until one that can't be decided now is looked at again


async def end_or_fire(transaction: Transaction, row: sqlite3.Row, now: int, began_ms: int) -> bool:
    """Report a due cue (a row of `intentions`), or end it; whether there is a report. `began_ms`: of this daemon."""
    cue = await transaction.one("SELECT * FROM cues WHERE intention = :id", id=row["id"])
    if cue is None:
        await _end(transaction, row["id"], "what it waited for is unknown", now)
        return False
    if cue["pending"] or not await _may_decide(transaction, row, cue, now, began_ms):
        await _put_off(transaction, row["id"], now + _REST_MS)
        return False
    if row["due_ms"] < cue["until_ms"]:
        name = f"cue:{row['id']}:{cue['hits'] + 1}"
        id_ = await _report(transaction, row, name, CueKind.SILENCE, now)
        await transaction.run(
            "UPDATE cues SET pending = :event, hits = hits + 1 WHERE seq = :seq", event=id_, seq=cue["seq"]
        )
        await _put_off(transaction, row["id"], cue["until_ms"])  # new words begin the next silence
        return True
    never = not row["fired"]
    if never:
        await _report(transaction, row, f"cue:{row['id']}:{OVER}", OVER, now)
    await _end(transaction, row["id"], "its time is over", now)
    return never


async def _may_decide(transaction: Transaction, row: sqlite3.Row, cue: sqlite3.Row, now: int, began_ms: int) -> bool:
    """Whether all that was said in time has surely arrived."""
    if not cue["silence_ms"] and now - row["due_ms"] > CATCHES_UP_MS:
        return True
    if now - began_ms < CATCHES_UP_MS:
        return False
    unread = await transaction.one(
        """
        SELECT 1 FROM unread_places
        WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND state = 'due' LIMIT 1
        """,
        soul=row["soul"],
        workspace=row["workspace"],
        channel=ConversationKey.parse(row["conversation"]).channel,
    )
    return unread is None


async def _put_off(transaction: Transaction, intention: str, due_ms: int) -> None:
    await transaction.run("UPDATE intentions SET due_ms = :due WHERE id = :id", due=due_ms, id=intention)


async def _end(transaction: Transaction, intention: str, reason: str, now: int) -> None:
    await transaction.run(
        "UPDATE intentions SET state = 'due', reason = :reason, settled_ms = :now WHERE id = :id",
        reason=reason,
        now=now,
        id=intention,
    )


async def _report(transaction: Transaction, row: sqlite3.Row, name: str, kind: str, now: int) -> str:
    """Put an event into the inbox; gives its id."""
    key = ConversationKey.parse(row["conversation"])
    return await store_internal_event(
        transaction,
        name=name,
        conversation=key,
        modality=Modality.TIME,
        author=row["behalf"],
        place=row["place"],
        audience=row["audience"],
        body=row["content"],
        params={**json.loads(row["params"]), REPORTS: kind},
        now=now,
    )
