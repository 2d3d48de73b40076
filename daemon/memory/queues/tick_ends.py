"""The end of a soul's unasked thought: when its ticks are due again, and the counts kept of it."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, get_args

from daemon.core.initiative import PROMISED
from daemon.core.perception import ConversationKey, Readers
from daemon.core.tempo import AGAIN_MS, LONGEST_PAUSE_MS, REFLECTING, Skipped, next_pause
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.goals_in_force import STILL_DUE
from daemon.memory.queues.awakenings import settle_awakening
from daemon.memory.queues.next_tick import OWED_ALONE, SCOPE
from daemon.memory.queues.promises import end_unheard, is_promised
from daemon.memory.records import Dismissal, InboxMessage
from daemon.memory.thought_parts import came_before

NO_LONGER_IDLE: Final = "no longer idle"
"""The reason to dismiss a silence or a tick after something else came first."""

_AGAIN_AFTER_MS: Final = {"words": 0, "breaker": 60_000}  # where words about it were promised, and are still owed


class CycleEnded(Value):
    """The end of a cycle for its ticks: the dismissed messages, and the readers of its thought, if any.

    `silenced`: words about them were ready but may not be said now.
    """

    dismissed: Mapping[str, Dismissal]
    readers: Readers | None = None
    silenced: bool = False


class _End(Value):
    """The end of one perception of ticks: why it was skipped, or '', and a digest of its thought, or ''.

    `too_large`: the thought might take more than the whole budget.
    """

    message: InboxMessage
    skipped: str
    thought: str
    too_large: bool


async def settle_ticks(
    transaction: Transaction, claimed: Sequence[InboxMessage], settled: CycleEnded, now: int
) -> None:
    """Settle the ticks of a cycle in its commit, after its thoughts and acts: store when each is due again."""
    for message in claimed:
        if message.perception.process != REFLECTING:
            continue
        dismissal = settled.dismissed.get(message.id)
        skipped = "" if dismissal is None else _why_skipped(dismissal)
        too_large = dismissal is not None and dismissal.alone
        end = _End(message, skipped, await _digest(transaction, message), too_large)
        for row in await transaction.rows("SELECT * FROM ticks WHERE inbox = :id AND inbox <> ''", id=message.id):
            await _settle(transaction, row, end, settled, now)
        where = message.perception.conversation
        if skipped == "budget" and not too_large:
            await _put_off_all(transaction, where, now)
        if skipped != "quiet":  # it is put off, and counted, by the next look
            await count_tick(transaction, where, skipped, now)


async def _settle(transaction: Transaction, row: sqlite3.Row, end: _End, settled: CycleEnded, now: int) -> None:
    """Store when one tick is due again."""
    pause = await _owed_after(transaction, row, end.message, "words" if settled.silenced else end.skipped, now)
    if pause is None and not await _is_hidden(transaction, row, settled.readers):
        pause = await _pause(transaction, row, end, now)
    if (again := await settle_awakening(transaction, row, end.skipped, now)) is not None:
        pause = again
    kept = end.skipped in {"budget", "quiet"} and not end.too_large
    await transaction.run(
        "UPDATE ticks SET inbox = '', due_ms = :due, pause_ms = :pause, said = :said WHERE seq = :seq",
        due=None if pause is None else now + pause,
        pause=row["pause_ms"] if kept else pause or 0,
        said=row["said"] if end.skipped else end.thought or row["said"],
        seq=row["seq"],
    )


async def _put_off_all(transaction: Transaction, where: ConversationKey, now: int) -> None:
    """Put off all ticks but promises: nothing else fits into the budget either."""
    await transaction.run(
        f"UPDATE ticks SET due_ms = :later WHERE {SCOPE} AND due_ms < :later AND NOT ({OWED_ALONE})",  # noqa: S608 - constants
        later=now + AGAIN_MS,
        soul=where.soul,
        workspace=where.workspace,
    )


async def _owed_after(
    transaction: Transaction, row: sqlite3.Row, message: InboxMessage, skipped: str, now: int
) -> int | None:
    """Return the pause (ms) before the thought about promised words that are still owed, or None."""
    asked = message.perception.params.get(PROMISED)
    to_another = not skipped and isinstance(asked, list) and row["about"] not in asked
    after = 0 if to_another else _AGAIN_AFTER_MS.get(skipped)
    return after if after is not None and await is_promised(transaction, row["soul"], row["about"], now) else None


async def _is_hidden(transaction: Transaction, row: sqlite3.Row, readers: Readers | None) -> bool:
    """Return whether the goal of a tick was hidden from a thought before these readers, and will be again."""
    if readers is None or readers.unproven or readers.rooms_unproven or row["kind"] != "due":
        return False
    goal = await transaction.one(
        "SELECT * FROM goals WHERE soul = :soul AND id = :id", soul=row["soul"], id=row["about"]
    )
    return goal is not None and not came_before(goal, ConversationKey.parse(row["conversation"]), readers)


async def _pause(transaction: Transaction, row: sqlite3.Row, end: _End, now: int) -> int | None:
    """Return the pause (ms) until the tick is due again, or None for never."""
    if end.skipped == "words":  # the thought that answers them was given it; where the house does, nothing was
        return 0 if not end.thought or row["kind"] == "sense" else None
    if end.too_large:  # time alone won't change that
        return min(LONGEST_PAUSE_MS, max(AGAIN_MS, 2 * int(row["pause_ms"])))
    if end.skipped in {"budget", "quiet"}:
        return AGAIN_MS if end.skipped == "budget" else 0
    if end.skipped == "not_invited" and await end_unheard(transaction, row["soul"], row["about"], now):
        return None
    goal = await transaction.one(
        f"SELECT 1 FROM goals WHERE soul = :soul AND id = :id AND {STILL_DUE}",  # noqa: S608 - a constant
        soul=row["soul"],
        id=row["about"],
        now=now,
    )
    said = "" if end.skipped else end.thought
    return next_pause(row["kind"], row["pause_ms"], open_=goal is not None, said=said, said_before=row["said"])


async def _digest(transaction: Transaction, message: InboxMessage) -> str:
    row = await transaction.one(
        "SELECT output, at_ms FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1",
        id=str(message.perception.conversation),
    )
    if row is None or row["at_ms"] < message.received_ms:
        return ""
    return hashlib.sha256(row["output"].encode()).hexdigest()[:16]


def _why_skipped(dismissal: Dismissal) -> Skipped:
    reasons: tuple[Skipped, ...] = get_args(Skipped)
    if dismissal.reason == NO_LONGER_IDLE:
        return "words"
    return next((one for one in reasons if one == dismissal.reason), "breaker" if dismissal.stale else "not_invited")


async def count_tick(transaction: Transaction, key: ConversationKey, reason: str, now: int) -> None:
    """Count a tick of a soul. An empty reason means that it was thought."""
    await transaction.insert(
        "tick_counts",
        "ON CONFLICT (soul, day, reason) DO UPDATE SET n = n + 1",
        soul=key.soul,
        day=day_of(now),
        reason=reason,
        n=1,
    )


def day_of(now_ms: int) -> str:
    """Return the day (UTC) under which the ticks of a moment are counted."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
