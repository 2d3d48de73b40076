"""Ids of records: made by the store, unique, and never given twice (seed 004 and `upstream.md` 5.1)."""

import re
import secrets
from collections.abc import Mapping
from typing import Final

from daemon.memory.database import Transaction
from daemon.memory.id_series import next_id, next_number, series_of_day
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.records import Speaks

_DATED: Final[Mapping[RecordKind, str]] = {RecordKind.EPISODE: "EP", RecordKind.SENSE: "SMEM", RecordKind.JOURNAL: "JN"}
_NUMBERED: Final[Mapping[RecordKind, str]] = {RecordKind.CORE: "core", RecordKind.SPHERE: "sphere"}
_FACT: Final = "sem"
_TURN: Final[Mapping[Speaks, str]] = {Speaks.PERSON: "TU", Speaks.SOUL: "TL", Speaks.SESSION: "TU"}
_TURN_ID: Final = re.compile(r"(TU|TL)_(\d{1,18})")


async def new_id(transaction: Transaction, kind: RecordKind, at_ms: int) -> str:
    """An id that no record has or ever had."""
    if kind is RecordKind.FACT:
        while True:
            fresh = f"{_FACT}_{secrets.token_hex(4)}"
            if await _is_first(transaction, fresh):
                return fresh
    return await next_id(transaction, series_of_day(_DATED[kind], at_ms) if kind in _DATED else _NUMBERED[kind])


async def reserve_id(transaction: Transaction, record_id: str) -> None:
    """Take an id that a passport brought out of those that are ever given."""
    series, _, number = record_id.rpartition("_")
    of_series = series in _NUMBERED.values() or series.partition("_")[0] in _DATED.values()
    if not (of_series and number.isascii() and number.isdigit()):
        series, number = record_id, "1"
    await transaction.insert(
        "record_ids",
        "ON CONFLICT (series) DO UPDATE SET last = max(record_ids.last, excluded.last)",
        series=series,
        last=int(number),
    )


def turn_id(speaker: Speaks, seq: int) -> str:
    """The id of a turn in links: TL_ and its number for the soul's, TU_ for a user's and for a session's."""
    return f"{_TURN[speaker]}_{seq}"


def turn_seq(record_id: str) -> int | None:
    """The number in the id of a turn; None for any other id."""
    match = _TURN_ID.fullmatch(record_id)
    return int(match[2]) if match else None


async def _is_first(transaction: Transaction, series: str) -> bool:
    return await next_number(transaction, series) == 1
