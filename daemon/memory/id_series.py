"""Series of numbers, each number given once, for the ids of records and thoughts."""

import datetime as dt

from daemon.memory.database import Transaction


def series_of_day(prefix: str, at_ms: int) -> str:
    """Return a prefix with the UTC day of a moment, as `EP_20260105`."""
    day = dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC).strftime("%Y%m%d")
    return f"{prefix}_{day}"


async def next_id(transaction: Transaction, series: str) -> str:
    """Return the next id of a series, as `EP_20260105_001`."""
    return f"{series}_{await next_number(transaction, series):03d}"


async def next_number(transaction: Transaction, series: str) -> int:
    """Return the next number of a series, from 1."""
    row = await transaction.insert(
        "record_ids",
        "ON CONFLICT (series) DO UPDATE SET last = record_ids.last + 1 RETURNING last",
        series=series,
        last=1,
    )
    assert row is not None
    number: int = row["last"]
    return number
