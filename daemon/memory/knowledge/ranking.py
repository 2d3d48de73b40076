"""Ranks turns, records and passages by words and by vectors, and measures how far cosines lie above the mean."""

import asyncio
import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import field
from msgspec.structs import replace

from daemon.core.errors import ModelError
from daemon.core.ports.vectors import Embedder, Near, NearQuery, Unrelated, VectorIndex, View
from daemon.core.value import Value
from daemon.core.words import Term
from daemon.memory.knowledge.word_index import Postings

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector


PREVIOUS: Final = 0.5
"""The share of a word's weight for the turn after the one that holds it."""

_NEXT: Final = 0.2  # for the turn before it
_SECOND: Final = 0.2  # for the second one behind it
_FEWEST_ROWS: Final = 500  # gives words some weight in a small index
_SATURATION: Final = 0.9  # k1 of BM25 (b is 0: the length of a turn does not count)
_VISIT, _VISIT_SATURATION = 0.5, 1.2
_NO_VISIT: Final = 0  # visits are named by their first turn, and turns are counted from 1
_COVERED: Final = 0.5  # the share of a query's words, by weight, from which on words count in full
_NEAR, _NEAR_BEFORE, _NEAR_VISIT = 0.15, 0.15, 0.2
_BEST_OF_VISIT: Final = 3
_STANDS_OUT, _OUTLIER = 3.25, 0.8  # from here a vector surfaces without a common word

_LEAST_WORDS: Final = 2.0  # the least weight of words in common: one rare word, or a few frequent ones
_LEAST_SHARE: Final = 0.15  # and the least share of the query's words
_FEWEST_TERMS: Final = 2  # a single word by itself is too little for vectors to decide
_LEAST_BY_WORDS, _LEAST_BY_BOTH = 0.7, 1.2  # the least score, without vectors and with them
_OF_BEST: Final = 0.4  # the share of the best score below which another one is no help


class TurnPlace(NamedTuple):
    """The neighbours of a row: the rows before and after it in the same conversation, and its visit."""

    before: int | None = None
    after: int | None = None
    second: int | None = None
    visit: int | None = None


class WordScores(Value):
    """The scores that the words of a query give to rows and visits.

    `held` is the weight of the words that a row or, to a lesser share, its neighbours hold. `covered` is the share of
    the query, by weight, that the best row holds. `terms` is the number of words in the query.
    """

    scores: Mapping[int, float] = field(default_factory=dict)
    visits: Mapping[int, float] = field(default_factory=dict)
    held: Mapping[int, float] = field(default_factory=dict)
    total: float = 0.0
    covered: float = 0.0
    terms: int = 0

    def best(self, most: int, visit_of: Mapping[int, int | None]) -> list[int]:
        """Return the rows that fit best, the newer first among equals."""
        top, best_visit = max(self.scores.values(), default=0.0), max(self.visits.values(), default=0.0)
        if not top:
            return []
        of_visits = {visit: _VISIT * score / best_visit for visit, score in self.visits.items()}
        worths = [
            (-score / top - of_visits.get(visit_of.get(row) or _NO_VISIT, 0.0), -row)
            for row, score in self.scores.items()
        ]
        return [-row for _, row in nsmallest(most, worths)]


def weights_of(found: Postings, without: Collection[str] = ()) -> dict[Term, float]:
    """Return the weight of each word of a query. Rare words weigh more. `without` leaves out names of speakers."""
    size = max(found.size, _FEWEST_ROWS)
    return {
        term: math.log(1 + (max(size - count, 0) + 0.5) / (count + 0.5))
        for term, count in found.counts.items()
        if term.word not in without
    }


def _spread(
    rows: Mapping[int, float], places: Mapping[int, TurnPlace]
) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """Return the counts of one word for rows with neighbours (sum, greatest share), and for visits. A hot loop."""
    times, nearest, of_visits = dict(rows), dict(rows), defaultdict[int, float](float)
    for row, share in rows.items():
        before, after, second, visit = places.get(row, _ALONE)
        if visit is not None:
            of_visits[visit] += share
        for neighbour, part in ((after, PREVIOUS * share), (second, _SECOND * share), (before, _NEXT * share)):
            if neighbour is None:
                continue
            known = times.get(neighbour)
            if known is None:
                times[neighbour] = nearest[neighbour] = part
            else:
                times[neighbour] = known + part
                nearest[neighbour] = max(nearest[neighbour], part)
    return times, nearest, of_visits


def rank_words(found: Postings, places: Mapping[int, TurnPlace], without: Collection[str] = ()) -> WordScores:
    """Return the scores of all rows that hold a word of the query, or have a neighbour that does.

    Words count as in BM25F (Robertson, Zaragoza and Taylor 2004): the frequencies in a turn and its neighbours are
    added before saturation, because adding scores would count a word twice.
    """
    weights = weights_of(found, without)
    total = sum(weights.values())
    scores, held, visits = (defaultdict[int, float](float) for _ in range(3))
    for term, weight in weights.items():
        times, nearest, of_visits = _spread(found.rows[term], places)
        most = weight * (_SATURATION + 1)
        for row, often in times.items():
            scores[row] += most * often / (often + _SATURATION)
            held[row] += weight * nearest[row]
        most = weight * (_VISIT_SATURATION + 1)
        for visit, often in of_visits.items():
            visits[visit] += most * often / (often + _VISIT_SATURATION)
    covered = max(held.values(), default=0.0) / total if total else 0.0
    return WordScores(dict(scores), dict(visits), dict(held), total, covered, len(weights))


class Nearness(Value):
    """The distance of each row's cosine from the mean of all, in standard deviations. Empty without vectors."""

    own: Mapping[int, float] = field(default_factory=dict)
    before: Mapping[int, float] = field(default_factory=dict)


class Candidate(NamedTuple):
    """A row that may surface. `lift` is added to the score, for a day or person that the query names."""

    row: int
    visit: int | None = None
    lift: float = 0.0
    share: float = 1.0
    pulled: bool = False


def rank(candidates: Sequence[Candidate], words: WordScores, near: Nearness) -> dict[int, float]:
    """Return the score of each candidate: at most about two by words, and as much by vectors.

    If even the best row lacks many of the query's words, all words count less, and the vectors decide.
    """
    top, top_visit = max(words.scores.values(), default=0.0), max(words.visits.values(), default=0.0)
    counted = min(1.0, words.covered / _COVERED)
    visits = _nearest_visits(candidates, near.own)
    scores = {}
    for one in candidates:
        by_words = words.scores.get(one.row, 0.0) / top if top else 0.0
        of_visit = by_words if one.visit is None else words.visits.get(one.visit, 0.0) / top_visit if top_visit else 0.0
        alone = max(0.0, near.own.get(one.row, 0.0))
        after = max(0.0, near.before.get(one.row, 0.0)) if one.visit is not None else alone
        score = counted * (by_words + _VISIT * of_visit) + _NEAR * alone + _NEAR_BEFORE * after + one.lift
        score += _NEAR_VISIT * visits.get(_visit_key(one), 0.0) + _OUTLIER * max(0.0, alone - _STANDS_OUT)
        scores[one.row] = score * one.share
    return scores


def fitting(candidates: Sequence[Candidate], words: WordScores, near: Nearness) -> list[int]:
    """Return the rows that share a word with the query, or whose vector is an outlier."""
    return [
        one.row
        for one in candidates
        if one.pulled or words.held.get(one.row, 0.0) > 0 or near.own.get(one.row, 0.0) >= _STANDS_OUT
    ]


def worth_showing(
    candidates: Sequence[Candidate], scores: Mapping[int, float], words: WordScores, near: Nearness
) -> set[int]:
    """Return the rows that surface: those near the best score, or none if no row is relevant.

    A relevant row has a high score. In addition, enough words fit, or its vector is an outlier.
    """
    enough = max(_LEAST_WORDS, _LEAST_SHARE * words.total)
    by_meaning = words.terms >= _FEWEST_TERMS
    least = _LEAST_BY_BOTH if near.own else _LEAST_BY_WORDS
    good = [
        one
        for one in candidates
        if one.pulled
        or (
            scores[one.row] >= least
            and (words.held.get(one.row, 0.0) >= enough or (by_meaning and near.own.get(one.row, 0.0) >= _STANDS_OUT))
        )
    ]
    if not good:
        return set()
    least = _OF_BEST * max(scores[one.row] for one in good)
    return {one.row for one in candidates if one.pulled or scores[one.row] >= least}


_ALONE: Final = TurnPlace()


def _visit_key(one: Candidate) -> Hashable:
    return one.row if one.visit is None else ("visit", one.visit)


def _nearest_visits(candidates: Iterable[Candidate], own: Mapping[int, float]) -> dict[Hashable, float]:
    members: dict[Hashable, list[float]] = defaultdict(list)
    for one in candidates:
        members[_visit_key(one)].append(own.get(one.row, 0.0))
    means = {key: sum(sorted(near)[-_BEST_OF_VISIT:]) / min(_BEST_OF_VISIT, len(near)) for key, near in members.items()}
    low, high = min(means.values(), default=0.0), max(means.values(), default=0.0)
    return {key: (mean - low) / (high - low) for key, mean in means.items()} if high > low else {}


SLOW_S: Final = 0.4
"""Seconds after which a reply goes on without vectors, by full-text search alone."""

_NEAREST: Final = 80  # memories of each view
_AS_IF_ROWS: Final = 100
_KEPT: Final = 24  # vectors of texts that were asked for last
_NOTHING: Final = Near({})


class Meant(Value):
    """The distances of each memory's cosine from the mean, by id and view. `kind` names what measured them."""

    own: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, float] = field(default_factory=dict)
    kind: str = "none"


class Scanned(Value):
    """A query vector and its nearest memories in each view. Both are empty if vectors can't be used."""

    vector: "Vector | None"
    nearest: Mapping[View, Near]


class Meaning:
    """The embedder and the vector index. Either may be missing."""

    def __init__(self, embedder: Embedder | None, vectors: VectorIndex | None, slow_s: float = SLOW_S) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._slow_s = slow_s
        self._known: dict[str, Vector] = {}

    @property
    def serves(self) -> bool:
        return self._embedder is not None and self._vectors is not None

    async def vectors_of(self, texts: Sequence[str]) -> "Sequence[Vector | None]":
        """Return a vector for each text, or None for each if the embedder is missing, slow or fails. Never raises.

        The newest vectors are cached, because memory and library search with the same texts before each reply.
        """
        nothing: list[Vector | None] = [None] * len(texts)
        if self._embedder is None or self._vectors is None or not texts:
            return nothing
        known = self._known
        if fresh := [one for one in dict.fromkeys(texts) if one not in known]:
            try:
                async with asyncio.timeout(self._slow_s):
                    known = known | dict(zip(fresh, await self._embedder.embed(fresh), strict=True))
                    if len({len(vector) for vector in known.values()}) > 1:  # the model was changed
                        known = dict(zip(texts, await self._embedder.embed(texts), strict=True))
            except (ModelError, TimeoutError, OSError, ValueError):
                return nothing
            self._known = dict([*known.items()][-_KEPT:])
        return [known[one] for one in texts]

    async def near(
        self, partitions: Collection[str], vector: "Vector | None", also: Collection[str] = (), *, turns: bool = True
    ) -> Meant:
        """Return how near memories are: the nearest in these partitions, and those in `also`. Never raises."""
        [meant] = await self.meant(partitions, await self.scan(partitions, [vector], turns=turns), [also])
        return meant

    async def scan(
        self, partitions: Collection[str], vectors: "Sequence[Vector | None]", *, turns: bool = True
    ) -> list[Scanned]:
        """Return the nearest memories in these partitions for each vector. Never raises."""
        views = (View.OWN, View.BEFORE) if turns else (View.OWN,)
        queries = [NearQuery(view, vector) for vector in vectors if vector is not None for view in views]
        found = iter(await self._near(partitions, queries, _NEAREST))
        return [Scanned(vector, {} if vector is None else {view: next(found) for view in views}) for vector in vectors]

    async def meant(
        self, partitions: Collection[str], scanned: Sequence[Scanned], also: Sequence[Collection[str]]
    ) -> list[Meant]:
        """Return the distances of each scan's nearest memories and of the memories with its ids. Never raises."""
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
    """Return how many standard deviations each cosine lies above the mean. No fixed cosine separates paraphrases.

    With few rows the deviation is mere chance. The statistics are therefore blended with _AS_IF_ROWS unrelated rows.
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
