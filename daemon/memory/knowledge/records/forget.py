"""Forgets along the links: records without sources are deleted, and those made of several sources lose their words."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import (
    Episode,
    Fact,
    JournalEntry,
    Record,
    RecordKind,
    StructuredSummary,
    WorkflowState,
)
from daemon.memory.knowledge.records.ledger import forget_salts
from daemon.memory.knowledge.records.links import DERIVING, Link, Relation, link, links_from, links_to, loosen, turn_seq
from daemon.memory.knowledge.records.store import UnreadableRecord, change, change_with_age, erase, get_any
from daemon.memory.stream.emptying import empty_thoughts_on, rest_on_sources

SUPERSEDED: Final = "superseded"

_ADRIFT: Final = "what it was thought on is gone or changed"
_AT_ONCE: Final = 200  # notes
_COMPOSED: Final = (RecordKind.EPISODE, RecordKind.CORE, RecordKind.SPHERE)
_DISTILLED: Final = (RecordKind.CORE, RecordKind.SPHERE)


async def forget(
    transaction: Transaction, ids: Sequence[str], now: int, reason: str, *, reworded: bool = False, aged: bool = False
) -> list[str]:
    """Delete records, or follow changed turns, with all that was made from them alone. Return the deleted ids.

    An episode or a core with other sources loses its words at once and waits to be made again. A fact keeps its
    remaining quotations, and without quotations it goes with any source. If a current fact is deleted, the fact that it
    superseded holds again. The sources of a deleted core may be distilled again. `reworded` turns keep their visit,
    which is made again from their new words. Thoughts that saw any of it lose their words. If turns only `aged`,
    thoughts keep theirs, and rest on the turns.
    """
    gone: list[str] = []
    waiting = list(ids)
    while waiting:
        record_id = waiting.pop()
        derived = await links_to(transaction, record_id, *DERIVING)
        older = [one.target for one in await links_from(transaction, record_id, Relation.SUPERSEDES)]
        newer = [one.origin for one in await links_to(transaction, record_id, Relation.SUPERSEDES)]
        record = await get_any(transaction, record_id)
        if record is not None:
            await _release(transaction, record, now)
            await erase(transaction, record, now, reason)
            gone.append(record_id)
        else:
            kept = Relation.TURN_REFS if reworded else ""
            await transaction.run(
                "DELETE FROM links WHERE (origin = :id OR target = :id) AND relation <> :kept", id=record_id, kept=kept
            )
            await loosen(transaction, derived)
        await _close_gap(transaction, newer, older, now)
        for old in older if isinstance(record, Fact) and record.valid_until_ms is None else ():
            await _hold_again(transaction, old, now)
        for one in derived:
            if one.proves_nothing or not await links_from(transaction, one.origin, *DERIVING):
                waiting.append(one.origin)
                await _pass_on(transaction, one.origin, [record_id], aged=aged)
            else:
                await _empty(transaction, one, now, reason, aged=aged)
    if not aged:
        await empty_thoughts_on(transaction, [*ids, *gone])
        await forget_adrift(transaction, now)
    return gone


async def forget_adrift(transaction: Transaction, now: int) -> int:
    """Forget the notes of thoughts that have lost their words, as `forget` does. Return the number of notes."""
    rows = await transaction.rows("SELECT record FROM thought_notes WHERE adrift = 1 LIMIT :most", most=_AT_ONCE)
    adrift = [row["record"] for row in rows]
    if adrift:
        await transaction.run_for_each("DELETE FROM thought_notes WHERE record = :key", adrift)
        await forget(transaction, adrift, now, _ADRIFT)
    return len(adrift)


async def make_anew(transaction: Transaction, turn: str, now: int, reason: str) -> None:
    """Empty the visit of a turn that lost some of its words. The visit is made again, and facts stay."""
    for one in await links_to(transaction, turn, Relation.TURN_REFS):
        await _empty(transaction, one, now, reason, aged=True)


async def _pass_on(transaction: Transaction, record_id: str, sources: Sequence[str], *, aged: bool) -> None:
    if aged:
        await rest_on_sources(transaction, record_id, sources)


async def _release(transaction: Transaction, record: Record | UnreadableRecord, now: int) -> None:
    if record.kind not in _DISTILLED:
        return
    for one in await links_from(transaction, record.id, Relation.SOURCES):
        source = await get_any(transaction, one.target)
        if isinstance(source, Episode) and source.state == "distilled":
            await change(transaction, source.id, now, "no longer distilled", state="closed")
            await transaction.run(
                "DELETE FROM consolidation_items WHERE part = 'distils' AND object = :id", id=source.id
            )


async def _close_gap(transaction: Transaction, newer: Sequence[str], older: Sequence[str], now: int) -> None:
    links = [
        Link(one, Relation.SUPERSEDES, old)
        for one in newer
        for old in older
        if one != old and await get_any(transaction, one) and await get_any(transaction, old)
    ]
    await link(transaction, links, now)


async def _empty(transaction: Transaction, lost: Link, now: int, reason: str, *, aged: bool) -> None:
    """Empty what lost one of several sources, and all that was made of it. An open visit keeps what it inherited."""
    waiting, seen = [lost], set[str]()
    while waiting:
        one = waiting.pop()
        if one.origin in seen:
            continue
        seen.add(one.origin)
        await _pass_on(transaction, one.origin, [one.target], aged=aged)
        record = await get_any(transaction, one.origin)
        if isinstance(record, JournalEntry | UnreadableRecord):  # the journal is written again with the visit
            waiting += await links_to(transaction, record.id, *DERIVING)
            await erase(transaction, record, now, reason)
            await empty_thoughts_on(transaction, () if aged else [record.id])
            continue
        if not isinstance(record, Episode) or record.kind not in _COMPOSED:
            continue
        if record.state == "open" and turn_seq(one.target) is not None:
            continue
        await _take_words_out(transaction, record, now, reason, aged=aged)
        waiting += await links_to(transaction, record.id, *DERIVING)


async def _take_words_out(transaction: Transaction, record: Episode, now: int, reason: str, *, aged: bool) -> None:
    alter = change_with_age if aged else change
    await alter(
        transaction,
        record.id,
        now,
        reason,
        text="",
        summary=StructuredSummary(),
        situation=replace(record.situation, mission_goal=""),
        workflow=WorkflowState(),
        tags=(),
        cues=(),
        state_snapshot={},
        extra={},
        state=record.state if record.state == "open" else "closing",
    )
    await forget_salts(transaction, record.id)


async def _hold_again(transaction: Transaction, record_id: str, now: int) -> None:
    fact = await get_any(transaction, record_id)
    if not isinstance(fact, Fact) or fact.why_ended != SUPERSEDED:
        return
    if not await links_to(transaction, record_id, Relation.SUPERSEDES):
        await change(transaction, record_id, now, "", valid_until_ms=None, why_ended="")
