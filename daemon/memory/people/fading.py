"""Drops what a mind holds no longer: beliefs that faded, and documents and goals older than they may be kept for."""

from daemon.memory.database import Transaction


async def drop_faded(transaction: Transaction, now: int, most: int) -> int:
    """Drop beliefs about people whose time is over, also out of the history; gives how many."""
    return await _drop(transaction, "until_ms <= :until", now, most)


async def drop_old_parts(transaction: Transaction, before_ms: int, most: int) -> int:
    """Drop what was said before a moment of the soul itself or its world; gives how many.

    Values and its own text hold for good.
    """
    return await _drop(transaction, "audience <> '' AND at_ms < :until", before_ms, most)


async def drop_old_goals(transaction: Transaction, before_ms: int, most: int) -> int:
    """Drop the goals that an admin gave and that were closed before a moment; gives how many.

    Those of thoughts go with the words of these, and an open one is still meant to be done.
    """
    rows = await transaction.rows(
        """
        DELETE FROM goals WHERE seq IN
          (SELECT seq FROM goals WHERE thought = '' AND closed_ms < :before LIMIT :most) RETURNING seq
        """,
        before=before_ms,
        most=most,
    )
    return len(rows)


async def _drop(transaction: Transaction, which: str, until: int, most: int) -> int:
    rows = await transaction.rows(
        f"""
        DELETE FROM mind_documents WHERE seq IN (SELECT seq FROM mind_documents WHERE {which} LIMIT :most)
        RETURNING seq
        """,  # noqa: S608 - literals of this module
        until=until,
        most=most,
    )
    return len(rows)
