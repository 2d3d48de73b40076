"""Links between records and turns: one row each, read from both ends, and none that points at nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.hearing import Origin
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.origins import origin_of, require_no_wider
from daemon.memory.records import read_row


class Relation(StrEnum):
    """What a link says of its origin, with the names of seed 004 where it has one.

    An episode has `TURN_REFS`, a sense an `EPISODE_ID` and `CONCEPT_REFS` to facts, a fact `EPISODE_REFS`; `EVIDENCE`
    leads to the turn whose words prove the origin, `SOURCES` to what it was distilled from, `SUPERSEDES` to the older
    fact.
    """

    TURN_REFS = "turn_refs"
    EPISODE_ID = "episode_id"
    EPISODE_REFS = "episode_refs"
    CONCEPT_REFS = "concept_refs"
    EVIDENCE = "evidence"
    SOURCES = "sources"
    SUPERSEDES = "supersedes"


DERIVING: Final = (Relation.TURN_REFS, Relation.EVIDENCE, Relation.SOURCES)
"""Links to what their origin is made from: without the last of them it can't stay."""


class BrokenLink(StoreError):
    """A link would point at nothing; nothing was written."""


@dataclass(frozen=True, slots=True)
class Link:
    """From `origin` to `target`, both ids; `quote` holds the words of the target that prove the origin."""

    origin: str
    relation: Relation
    target: str
    quote: str = ""

    @property
    def proves_nothing(self) -> bool:
        """Whether it leads to evidence that nobody quoted: an old note may rest on any part of it."""
        return self.relation is Relation.EVIDENCE and not self.quote


async def link(transaction: Transaction, links: Sequence[Link], now: int) -> None:
    """Store links; one that is there keeps its first quotation.

    Raises BrokenLink when an end is missing, HeardByMore when the origin is made from a target that fewer people may
    hear.
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
    """The links of a record to others, of these relations or of all."""
    return await _links(transaction, "origin", record_id, relations)


async def links_to(transaction: Transaction, record_id: str, *relations: Relation) -> list[Link]:
    """The links of others to a record or a turn, of these relations or of all."""
    return await _links(transaction, "target", record_id, relations)


async def unlink(transaction: Transaction, record_id: str) -> None:
    """Delete every link of a record, in both directions."""
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
