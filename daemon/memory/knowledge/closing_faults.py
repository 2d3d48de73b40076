"""Counts the looks at an ended visit that failed, so that no visit stops those after it, and none stays open."""

from typing import Final

from daemon.memory.database import Transaction

MOST_FAULTS: Final = 9
"""After so many a visit is closed without a look; a job has five attempts, so that one bad hour doesn't do it."""

_PART: Final = "closes_the_visit"

FAULTS_OF: Final = f"""
    coalesce((SELECT i.faults FROM consolidation_items i WHERE i.part = '{_PART}' AND i.object = r.id), 0)
    """  # noqa: S608 - a constant
"""In SQL: how often a look at the visit `r` (of `records`) failed."""


async def faults_of(transaction: Transaction, episode: str) -> int:
    """How often a look at a visit failed."""
    row = await transaction.one(f"SELECT {FAULTS_OF} AS faults FROM records r WHERE r.id = :id", id=episode)  # noqa: S608 - a constant
    return row["faults"] if row else 0


async def note_fault(transaction: Transaction, episode: str, reason: str) -> None:
    """Count one more, unless the visit is gone; `reason` holds no words of users."""
    await transaction.run(
        """
        INSERT INTO consolidation_items (part, object, faults, reason)
        SELECT :part, id, 1, :reason FROM records WHERE id = :id
        ON CONFLICT (part, object) DO UPDATE SET faults = faults + 1, reason = excluded.reason
        """,
        part=_PART,
        id=episode,
        reason=reason,
    )
