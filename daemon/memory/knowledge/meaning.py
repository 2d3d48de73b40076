"""Searches by meaning: embeds what is asked, measures how near memories are; what fails or is slow serves nothing."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from daemon.core.errors import ModelError
from daemon.core.ports.vectors import Embedder, Near, NearQuery, Unrelated, VectorIndex, View

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

SLOW_S: Final = 0.4
"""Seconds after which a reply goes on without vectors: full text alone serves then."""

_NEAREST: Final = 80  # memories of each view
_AS_IF_ROWS: Final = 100
_KEPT: Final = 24  # vectors of texts that were asked for last
_NOTHING: Final = Near({})


@dataclass(frozen=True, slots=True)
class Meant:
    """How far each memory's cosine with a query stands out, by id and view; `kind` says what measured it."""

    own: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, float] = field(default_factory=dict)
    kind: str = "none"


@dataclass(frozen=True, slots=True)
class Scanned:
    """A vector that was asked for, and the nearest memories of each view; neither where no vector serves."""

    vector: "Vector | None"
    nearest: Mapping[View, Near]


class Meaning:
    """The embedder and the index of vectors, of which either may be missing."""

    def __init__(self, embedder: Embedder | None, vectors: VectorIndex | None, slow_s: float = SLOW_S) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._slow_s = slow_s
        self._known: dict[str, Vector] = {}

    @property
    def serves(self) -> bool:
        """Whether there is an embedder at all."""
        return self._embedder is not None and self._vectors is not None

    async def vectors_of(self, texts: Sequence[str]) -> "Sequence[Vector | None]":
        """A vector for each text; None for each where there is no embedder, or it fails or is slow. Never raises.

        Those asked for last are kept: a topic is searched by before each reply, the newest words in memory and library.
        """
        nothing: list[Vector | None] = [None] * len(texts)
        if self._embedder is None or self._vectors is None or not texts:
            return nothing
        known = self._known
        if fresh := [one for one in dict.fromkeys(texts) if one not in known]:
            try:
                async with asyncio.timeout(self._slow_s):
                    known = known | dict(zip(fresh, await self._embedder.embed(fresh), strict=True))
                    if len({len(vector) for vector in known.values()}) > 1:  # another model serves since
                        known = dict(zip(texts, await self._embedder.embed(texts), strict=True))
            except (ModelError, TimeoutError, OSError, ValueError):
                return nothing
            self._known = dict([*known.items()][-_KEPT:])
        return [known[one] for one in texts]

    async def near(
        self, partitions: Collection[str], vector: "Vector | None", also: Collection[str] = (), *, turns: bool = True
    ) -> Meant:
        """How near memories are: the nearest in these partitions and those with the ids. Never raises."""
        [meant] = await self.meant(partitions, await self.scan(partitions, [vector], turns=turns), [also])
        return meant

    async def scan(
        self, partitions: Collection[str], vectors: "Sequence[Vector | None]", *, turns: bool = True
    ) -> list[Scanned]:
        """For each vector the nearest memories in these partitions. Never raises."""
        views = (View.OWN, View.BEFORE) if turns else (View.OWN,)
        queries = [NearQuery(view, vector) for vector in vectors if vector is not None for view in views]
        found = iter(await self._near(partitions, queries, _NEAREST))
        return [Scanned(vector, {} if vector is None else {view: next(found) for view in views}) for vector in vectors]

    async def meant(
        self, partitions: Collection[str], scanned: Sequence[Scanned], also: Sequence[Collection[str]]
    ) -> list[Meant]:
        """What each scan says of its nearest, and of the memories with its ids, however far they are. Never raises."""
        queries = {
            (number, view): NearQuery(view, one.vector, missing)
            for number, one in enumerate(scanned)
            if one.vector is not None
            for view, near in one.nearest.items()
            if near.kind != "none" and (missing := [id_ for id_ in also[number] if id_ not in near.cosines])
        }
        measured = await self._near(partitions, list(queries.values()), 0)
        more = {place: near.cosines for place, near in zip(queries, measured, strict=True)}
        return [
            self._meant({view: _with(near, more.get((number, view), {})) for view, near in one.nearest.items()})
            for number, one in enumerate(scanned)
        ]

    def _meant(self, nearest: Mapping[View, Near]) -> Meant:
        unrelated = self._embedder.unrelated if self._embedder else None
        own, before = nearest.get(View.OWN, _NOTHING), nearest.get(View.BEFORE, _NOTHING)
        return Meant(_outstanding(own, unrelated), _outstanding(before, unrelated), own.kind)

    async def _near(self, partitions: Collection[str], queries: Sequence[NearQuery], most: int) -> Sequence[Near]:
        if not queries or self._vectors is None:
            return [_NOTHING for _ in queries]
        try:
            async with asyncio.timeout(self._slow_s):
                return await self._vectors.near(partitions, queries, most)
        except (TimeoutError, OSError, ValueError):
            return [_NOTHING for _ in queries]


def _with(near: Near, more: Mapping[str, float]) -> Near:
    return replace(near, cosines={**near.cosines, **more}) if more else near


def _outstanding(near: Near, unrelated: Unrelated | None) -> dict[str, float]:
    """How far each cosine stands out of all, in standard deviations.

    Of few rows none can stand out far, and their deviation is a chance: there all count as if _AS_IF_ROWS more had been
    looked at, with which the query has nothing to do.
    """
    mean, variance = near.mean, near.deviation**2
    if unrelated is not None:
        share = _AS_IF_ROWS / (near.rows + _AS_IF_ROWS)
        variance = (
            (1 - share) * variance + share * unrelated.deviation**2 + share * (1 - share) * (mean - unrelated.mean) ** 2
        )
        mean = (1 - share) * mean + share * unrelated.mean
    if near.kind == "none" or variance <= 0:
        return {}
    return {one: (cosine - mean) / variance**0.5 for one, cosine in near.cosines.items()}
