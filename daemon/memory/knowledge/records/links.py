"""Links between records and turns: one row each, readable from both ends. Both ends must exist."""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, Origin, common
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.id_series import next_id, next_number, series_of_day
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.records import Speaks, as_json, read_row

_DATED: Final[Mapping[RecordKind, str]] = {RecordKind.EPISODE: "EP", RecordKind.SENSE: "SMEM", RecordKind.JOURNAL: "JN"}
_NUMBERED: Final[Mapping[RecordKind, str]] = {RecordKind.CORE: "core", RecordKind.SPHERE: "sphere"}
_FACT: Final = "sem"
_TURN: Final[Mapping[Speaks, str]] = {Speaks.PERSON: "TU", Speaks.SOUL: "TL", Speaks.SESSION: "TU"}
_TURN_ID: Final = re.compile(r"(TU|TL)_(\d{1,18})")


async def new_id(transaction: Transaction, kind: RecordKind, at_ms: int) -> str:
    """Return an id that no record has or ever had."""
    if kind is RecordKind.FACT:
        while True:
            fresh = f"{_FACT}_{secrets.token_hex(4)}"
            if await _is_first(transaction, fresh):
                return fresh
    return await next_id(transaction, series_of_day(_DATED[kind], at_ms) if kind in _DATED else _NUMBERED[kind])


async def reserve_id(transaction: Transaction, record_id: str) -> None:
    """Reserve an id from a passport: no new record will get it."""
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
    """Return the id of a turn in links: TL_ and its number for the soul, TU_ for a user or a session."""
    return f"{_TURN[speaker]}_{seq}"


def turn_seq(record_id: str) -> int | None:
    """Return the number in the id of a turn. None for any other id."""
    match = _TURN_ID.fullmatch(record_id)
    return int(match[2]) if match else None


async def _is_first(transaction: Transaction, series: str) -> bool:
    return await next_number(transaction, series) == 1


class HeardByMore(StoreError):
    """A record could be heard by people who may not hear one of its sources. Nothing was written."""


async def origin_of(transaction: Transaction, record_id: str) -> Origin | None:
    """Return the origin of a record or a turn. None if there is none with this id.

    A turn's audience is also limited to the present one of its conversation, whose channel may have become private.
    """
    if (seq := turn_seq(record_id)) is None:
        row = await transaction.one("SELECT audience, channel FROM records WHERE id = :id", id=record_id)
        return Origin(Audience.parse(row["audience"]), row["channel"]) if row else None
    row = await transaction.one(
        """
        SELECT t.audience, c.audience AS now, c.channel FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.seq = :seq AND (t.speaker = 'soul') = :own
        """,
        seq=seq,
        own=record_id.startswith("TL"),
    )
    if row is None:
        return None
    said, now = (Origin(Audience.parse(row[one]), row["channel"]) for one in ("audience", "now"))
    return common((said, now)) or said


async def common_of(transaction: Transaction, ids: Iterable[str]) -> Origin | None:
    """Return the common origin of these turns and records (see `common`). None means nothing may be made of them."""
    origins = [await origin_of(transaction, one) for one in ids]
    return common(one for one in origins if one) if all(origins) else None


def require_no_wider(derived_id: str, derived: Origin, source: Origin) -> None:
    """Raise HeardByMore if a derived record may be heard by people who may not hear its source."""
    if not may_rest_on(derived, source):
        raise HeardByMore(
            f"{derived_id} is for {derived.audience.kind}, but a source of it is for {source.audience.kind} alone",
            hint="nothing to do: nothing was written",
        )


def may_rest_on(derived: Origin, source: Origin) -> bool:
    """Return True if everyone who may hear the derived record may also hear its source."""
    return common((derived, source)) == derived


class Relation(StrEnum):
    """The meaning of a link, named as in seed 004 where it has a name.

    `EVIDENCE` leads to the turn whose words prove the origin, `SOURCES` to what it was distilled from. `SUPERSEDES`
    leads to the older fact.
    """

    TURN_REFS = "turn_refs"
    EPISODE_ID = "episode_id"
    EPISODE_REFS = "episode_refs"
    CONCEPT_REFS = "concept_refs"
    EVIDENCE = "evidence"
    SOURCES = "sources"
    SUPERSEDES = "supersedes"


DERIVING: Final = (Relation.TURN_REFS, Relation.EVIDENCE, Relation.SOURCES)
"""The relations to what a record is made from. A record can't stay without the last of them."""


class BrokenLink(StoreError):
    """An end of a link does not exist. Nothing was written."""


class Link(Value):
    """A link from `origin` to `target`, both ids. `quote` holds the words of the target that prove the origin."""

    origin: str
    relation: Relation
    target: str
    quote: str = ""

    @property
    def proves_nothing(self) -> bool:
        return self.relation is Relation.EVIDENCE and not self.quote


async def link(transaction: Transaction, links: Sequence[Link], now: int) -> None:
    """Store links. A link that exists keeps its first quotation. Raises BrokenLink if an end is missing.

    Raises HeardByMore if fewer people may hear the target that the origin is made from.
    """
    for one in links:
        origin, target = [await _linked(transaction, end) for end in (one.origin, one.target)]
        if one.relation in DERIVING:
            require_no_wider(one.origin, origin, target)
        await transaction.insert(
            "links",
            "ON CONFLICT DO NOTHING",
            origin=one.origin,
            relation=one.relation,
            target=one.target,
            quote=one.quote,
            linked_ms=now,
        )


async def links_from(transaction: Transaction, record_id: str, *relations: Relation) -> list[Link]:
    """Return the links of a record to others, of these relations or of all."""
    return await _links(transaction, "origin", record_id, relations)


async def links_to(transaction: Transaction, record_id: str, *relations: Relation) -> list[Link]:
    """Return the links of others to a record or a turn, of these relations or of all."""
    return await _links(transaction, "target", record_id, relations)


async def unlink(transaction: Transaction, record_id: str) -> None:
    await transaction.run("DELETE FROM links WHERE origin = :id OR target = :id", id=record_id)


async def _linked(transaction: Transaction, record_id: str) -> Origin:
    origin = await origin_of(transaction, record_id)
    if origin is None:
        raise BrokenLink(f"no record {record_id} to be linked", hint="nothing to do: nothing was written")
    return origin


async def _links(transaction: Transaction, end: str, record_id: str, relations: Sequence[Relation]) -> list[Link]:
    rows = await transaction.rows(f"SELECT * FROM links WHERE {end} = :id ORDER BY linked_ms, origin", id=record_id)  # noqa: S608 - a column of this module
    found = [read_row(Link, row, relation=Relation) for row in rows]
    return [one for one in found if not relations or one.relation in relations]


_TO_VISITS = f"""
    INSERT INTO links (origin, relation, target, quote, linked_ms)
    SELECT DISTINCT p.origin,
      CASE r.kind WHEN 'fact' THEN '{Relation.EPISODE_REFS}' ELSE '{Relation.EPISODE_ID}' END, v.origin, '', :now
    FROM json_each(:turns) t
    JOIN links p ON p.target = t.value AND p.relation = '{Relation.EVIDENCE}'
    JOIN links v ON v.target = t.value AND v.relation = '{Relation.TURN_REFS}'
    JOIN records r ON r.id = p.origin
    WHERE r.kind = 'fact' OR (r.kind = 'sense' AND NOT EXISTS (
      SELECT 1 FROM links h WHERE h.origin = p.origin AND h.relation = '{Relation.EPISODE_ID}'))
    ON CONFLICT DO NOTHING
    """  # noqa: S608 - constants of this package
_TO_FACTS = f"""
    INSERT INTO links (origin, relation, target, quote, linked_ms)
    SELECT DISTINCT s.origin, '{Relation.CONCEPT_REFS}', f.origin, '', :now
    FROM json_each(:turns) t
    JOIN links s ON s.target = t.value AND s.relation = '{Relation.EVIDENCE}'
    JOIN records r ON r.id = s.origin AND r.kind = 'sense'
    JOIN links f ON f.target = t.value AND f.relation = '{Relation.EVIDENCE}'
    JOIN records k ON k.id = f.origin AND k.kind = 'fact'
    WHERE true ON CONFLICT DO NOTHING
    """  # noqa: S608 - as above


async def cross_link(transaction: Transaction, turns: Sequence[str], now: int) -> None:
    """Link the facts and senses of these turns to their visits, and senses to the facts of their message."""
    for statement in (_TO_VISITS, _TO_FACTS) if turns else ():
        await transaction.run(statement, turns=as_json(list(turns)), now=now)


async def loosen(transaction: Transaction, lost: Sequence[Link]) -> None:
    """Unlink facts from visits that hold none of their evidence. `lost` are the links to a turn that is gone."""
    visits = [one.origin for one in lost if one.relation is Relation.TURN_REFS]
    for fact in [one.origin for one in lost if one.relation is Relation.EVIDENCE]:
        for visit in visits:
            await transaction.run(
                f"""
                DELETE FROM links WHERE origin = :fact AND relation = '{Relation.EPISODE_REFS}' AND target = :visit
                  AND NOT EXISTS (SELECT 1 FROM links p JOIN links v ON v.target = p.target
                    WHERE p.origin = :fact AND p.relation = '{Relation.EVIDENCE}'
                      AND v.origin = :visit AND v.relation = '{Relation.TURN_REFS}')
                """,  # noqa: S608 - constants of this package
                fact=fact,
                visit=visit,
            )
