"""How much of what is said in sessions is kept with one key in a day (UTC): more is counted, which one hears once."""

from typing import Final

from daemon.memory.database import Transaction

MOST_KEPT_DAILY: Final = 1_000
"""The most texts that are kept with one key in a day."""

_DAY_MS: Final = 24 * 3_600_000


async def may_keep(transaction: Transaction, key: str, now: int) -> bool:
    """Count one more text; False where the day has its most, so that it is left out."""
    row = await transaction.one(
        """
        UPDATE keys SET words_day = :day,
          words_kept = CASE words_day WHEN :day THEN min(words_kept + 1, :most) ELSE 1 END,
          words_left_out = CASE words_day WHEN :day THEN words_left_out + (words_kept >= :most) ELSE 0 END,
          words_noted = CASE words_day WHEN :day THEN words_noted ELSE 0 END
        WHERE id = :key RETURNING words_left_out
        """,
        key=key,
        day=now // _DAY_MS,
        most=MOST_KEPT_DAILY,
    )
    return row is None or not row["words_left_out"]


async def is_to_be_heard(transaction: Transaction, key: str, now: int) -> bool:
    """Whether texts were left out today and no session has heard so; from now on one has."""
    heard = await transaction.one(
        """
        UPDATE keys SET words_noted = 1 WHERE id = :key AND words_day = :day AND words_left_out > 0 AND words_noted = 0
        RETURNING id
        """,
        key=key,
        day=now // _DAY_MS,
    )
    return heard is not None
