"""What of a soul's a reading tells of, by the words that they share, and when it wakes a thought for that."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.tempo import pause_of_reading
from daemon.core.words import keys_of_words, shares_words, words_heard
from daemon.memory.database import Transaction
from daemon.memory.goals_in_force import IN_FORCE

_GOALS_LOOKED_AT: Final = 50  # open goals of a conversation, those that were touched last
_THOUGHTS_LOOKED_AT: Final = 8  # about the same reading; by then the pause is as long as it gets


@dataclass(frozen=True, slots=True)
class Concern:
    """An open goal, or with '' what the last thought looks out for; `changed_ms` is when that changed last."""

    goal: str = ""
    changed_ms: int = 0


async def concern_of(
    transaction: Transaction, where: ConversationKey, words: str, named: str, now: int
) -> Concern | None:
    """What a reading with these words tells of in a conversation; None for nothing.

    It is the goal that is `named`, if one is, else the newest that shares words with it, else the soul's focus.
    """
    heard = words_heard(words)
    keys = keys_of_words(heard)
    goals = await transaction.rows(
        f"""
        SELECT id, goal, touched_ms FROM goals WHERE conversation = :conversation AND {IN_FORCE}
        ORDER BY touched_ms DESC LIMIT :most
        """,  # noqa: S608 - a constant
        conversation=str(where),
        now=now,
        most=_GOALS_LOOKED_AT,
    )
    for row in goals:
        if row["id"] == named if named else shares_words(row["goal"], heard, keys):
            return Concern(row["id"], row["touched_ms"])
    focus = await _focus(transaction, where)
    return Concern() if any(shares_words(one, heard, keys) for one in focus) else None


async def wakes_ms(
    transaction: Transaction, where: ConversationKey, digest: str, of: Concern | None, now: int
) -> int | None:
    """When a reading wakes a thought (ms, UTC); None for never.

    At once, or after a pause where it was thought about before and neither a person nor the goal changed anything.
    """
    if of is None:
        return None
    said = await transaction.one(
        "SELECT said_ms FROM turns WHERE conversation = :id AND speaker = 'person' ORDER BY seq DESC LIMIT 1",
        id=str(where),
    )
    before = await transaction.rows(
        """
        SELECT perceived_ms, said FROM readings WHERE conversation = :id AND digest = :digest AND state = 'perceived'
          AND perceived_ms > :changed ORDER BY seq DESC LIMIT :most
        """,
        id=str(where),
        digest=digest,
        changed=max(of.changed_ms, 0 if said is None else said["said_ms"] or 0),
        most=_THOUGHTS_LOOKED_AT,
    )
    if not before:
        return now
    pause = pause_of_reading([row["said"] for row in before])
    return None if pause is None else max(now, int(before[0]["perceived_ms"]) + pause)


async def _focus(transaction: Transaction, where: ConversationKey) -> Sequence[str]:
    """What the last thought of a conversation said to look out for, where that took effect."""
    row = await transaction.one(
        "SELECT output, refused FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1", id=str(where)
    )
    if row is None or '["attention", ' in row["refused"]:
        return ()
    with suppress(ValueError, RecursionError, KeyError, TypeError):  # emptied, or of another day's form
        return [str(one) for one in json.loads(row["output"])["attention"]["focus_on"]]
    return ()
