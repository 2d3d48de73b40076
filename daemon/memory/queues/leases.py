"""Whether a lease or a sign of life counts that another daemon wrote, whose clock may be wrong.

One that ends later than any lease may was written by a clock that was far ahead: it would bind until that time comes.
"""

from typing import Final

from daemon.memory.database import Transaction

SLACK_MS: Final = 60_000
"""By so much the clocks of daemons may differ."""

_LONGEST_WAIT_MS: Final = 86_400_000  # of a job

_HELD: Final = {
    "conversations": "lease_owner <> ''",
    "outbox": "state IN ('pending', 'sending')",
    "jobs": "state IN ('ready', 'running')",
    "consolidation_slots": "lease_owner <> ''",
}

_WAITS_TOO_LONG: Final = "jobs WHERE state IN ('ready', 'running') AND not_before > :last + :longest"


def holds(until_ms: int, now_ms: int, lease_ms: int) -> bool:
    """Whether a lease of at most `lease_ms` that ends then still counts."""
    return now_ms < until_ms <= now_ms + lease_ms + SLACK_MS


def is_recent(seen_ms: int, now_ms: int, silence_ms: int) -> bool:
    """Whether a sign of life is no older than `silence_ms`, and of no time that is far from having come."""
    return now_ms - silence_ms < seen_ms <= now_ms + SLACK_MS


async def any_too_long(transaction: Transaction, last_ms: int) -> bool:
    """Whether a claim's lease ends after `last_ms`, the end of the longest that can be taken now, or a job waits on."""
    looks = [f"SELECT 1 FROM {table} WHERE {held} AND lease_until > :last" for table, held in _HELD.items()]  # noqa: S608 - constants
    looks.append(f"SELECT 1 FROM {_WAITS_TOO_LONG}")  # noqa: S608 - a constant
    values = {"last": last_ms, "longest": _LONGEST_WAIT_MS}
    return await transaction.one(f"{' UNION ALL '.join(looks)} LIMIT 1", **values) is not None


async def shorten(transaction: Transaction, last_ms: int) -> None:
    """Have claims whose leases end after `last_ms` end then: a living holder renews its own in time.

    So it is with jobs that were to wait for more than a day from then.
    """
    await transaction.run(
        f"UPDATE jobs SET not_before = :last WHERE seq IN (SELECT seq FROM {_WAITS_TOO_LONG})",  # noqa: S608 - a constant
        last=last_ms,
        longest=_LONGEST_WAIT_MS,
    )
    for table, held in _HELD.items():
        await transaction.run(
            f"UPDATE {table} SET lease_until = :last WHERE {held} AND lease_until > :last",  # noqa: S608 - constants
            last=last_ms,
        )
