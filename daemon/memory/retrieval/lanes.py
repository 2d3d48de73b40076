"""One text that memory is searched by: what words find, what vectors find, and how both are ranked together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from heapq import nlargest, nsmallest
from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.core.words import holds_more, words_of
from daemon.memory.database import Transaction
from daemon.memory.knowledge.meaning import Meant
from daemon.memory.knowledge.ranking import Candidate, Nearness, WordScores, fitting, rank, rank_words, worth_showing
from daemon.memory.knowledge.records.ids import turn_seq
from daemon.memory.knowledge.records.store import RECORD_INDEX
from daemon.memory.knowledge.turn_index import TURN_INDEX
from daemon.memory.retrieval.questions import Sought
from daemon.memory.retrieval.rows import (
    TURN,
    Hit,
    read_places,
    read_records,
    read_speakers,
    read_turns,
)

_TURNS: Final = 120  # of those that words find, how many are compared with what vectors find
_RECORDS: Final = 60
_NAMED: Final = 0.2  # a person who is named spoke it, or it is about them
_DATED: Final = 0.5  # a date that is named is its own
_ASKS: Final = 0.85  # a question shares the words of the one asked now, and seldom answers it
_MARKS: Final = ("?", "？", "؟", "？」")  # noqa: RUF001
_HALF_AGE_MS: Final = 60 * 24 * 3_600_000
_NEWER, _WEIGHTIER, _TRUSTED = 0.05, 0.03, 0.02  # together they move a score by a tenth at most
_KEY_WORD: Final = 0.02  # of a turn, which has no trust of its own: what is asked for is what mattered most in it
_USUAL: Final = 5  # significance
_TRUST: Final = {"own": 1.0, "document": 0.5, "claim": 0.0, "inferred": 0.0, "noted": -1.0}


@dataclass(slots=True)
class SearchLane:
    """A question on its way through the search; `also` are the ids that words found, to be measured too."""

    question: Sought
    turns: WordScores = field(default_factory=WordScores)
    records: WordScores = field(default_factory=WordScores)
    about: Sequence[int] = ()
    found: Sequence[int] = ()
    recorded: Sequence[int] = ()
    also: Collection[str] = ()

    def found_it(self, hit: Hit, meant: Meant) -> bool:
        """Whether a hit was found by this lane, by its words or its meaning."""
        if hit.id in meant.own or hit.id in meant.before:
            return True
        return hit.id in self.also if hit.kind == TURN else hit.seq in self.recorded or hit.seq in self.about


def narrowed(lane: SearchLane, meant: Meant, most: int) -> tuple[SearchLane, Meant]:
    """The lane with no more than the best that words found, and the nearest of each view."""
    also = [*lane.also][:most]

    def best(far: Mapping[str, float]) -> dict[str, float]:
        return {one: far[one] for one in (*nlargest(most, far, key=far.__getitem__), *also) if one in far}

    return (
        replace(lane, found=lane.found[:most], recorded=lane.recorded[:most], also=also),
        Meant(best(meant.own), best(meant.before), meant.kind),
    )


async def search_words(
    transaction: Transaction, question: Sought, codes: Collection[Sequence[str]], about: Sequence[int]
) -> SearchLane:
    """What the words of a question find among turns and records. Raises IndexDamaged."""
    held = await TURN_INDEX.find(transaction, codes, question.terms)
    places = await read_places(transaction, held.found)
    visits = {row: place.visit for row, place in places.items()}
    for place in places.values():  # neighbours are of the same talk
        for neighbour in (place.before, place.after, place.second):
            if neighbour is not None:
                visits.setdefault(neighbour, place.visit)
    words = rank_words(held, places)
    found = words.best(_TURNS, visits)
    speakers = await read_speakers(transaction, found)
    names = {word for name in set(speakers.values()) for word in words_of(name)} & question.words
    if names:  # who is named is looked for as a person, and no matter that is talked about
        words = rank_words(held, places, names)
        found = words.best(_TURNS, visits)
        speakers = await read_speakers(transaction, found)
    recorded = rank_words(await RECORD_INDEX.find(transaction, codes, question.terms), {})
    best = recorded.best(_RECORDS, {})
    return SearchLane(question, words, recorded, about, found, best, tuple(speakers))


async def read_hits(
    transaction: Transaction,
    lanes: Sequence[tuple[SearchLane, Meant]],
    here: ConversationKey,
    readers: Readers,
    now: int,
) -> list[Hit]:
    """Everything that the lanes found and the readers may know, each once; `now` in ms."""
    seqs, recorded, ids = set[int](), set[int](), set[str]()
    for lane, meant in lanes:
        seqs.update(lane.found)
        recorded.update((*lane.recorded, *lane.about))
        for one in (*meant.own, *meant.before):
            if (seq := turn_seq(one)) is not None:
                seqs.add(seq)
            else:
                ids.add(one)
    turns = await read_turns(transaction, seqs, here, readers)
    return turns + await read_records(transaction, recorded, ids, here, readers, now=now)


class Floor(Enum):
    """Which of the hits are good enough."""

    SURFACING = auto()
    """Those that are worth a place in a prompt."""
    FITTING = auto()
    """Those that have anything to do with the question."""
    NONE = auto()
    """All that were looked at, for measurements."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the hits of each lane are chosen: how good they must be, at most how many."""

    floor: Floor
    most: int


def ranked(lane: SearchLane, meant: Meant, hits: Sequence[Hit], wanted: Wanted) -> list[Hit]:
    """Those of the hits that are the lane's own and good enough, best first."""
    newest_ms = max((one.when_ms for one in hits), default=0)
    named = {name for name in {one.speaker for one in hits} if lane.question.words.intersection(words_of(name))}
    candidates = [
        (one, _candidate(one, lane, newest_ms, named=one.speaker in named)) for one in hits if lane.found_it(one, meant)
    ]
    scored = [
        *_scored(lane.turns, meant, [pair for pair in candidates if pair[0].kind == TURN], wanted.floor),
        *_scored(lane.records, meant, [pair for pair in candidates if pair[0].kind != TURN], wanted.floor),
    ]
    best = nsmallest(wanted.most, scored, key=lambda pair: (-pair[0], -pair[1].when_ms, pair[1].id))
    return [replace(one, score=score) for score, one in best]


def _scored(
    words: WordScores, meant: Meant, pairs: Sequence[tuple[Hit, Candidate]], floor: Floor
) -> list[tuple[float, Hit]]:
    near = Nearness(
        {one.seq: meant.own[one.id] for one, _ in pairs if one.id in meant.own},
        {one.seq: meant.before[one.id] for one, _ in pairs if one.id in meant.before},
    )
    candidates = [candidate for _, candidate in pairs]
    scores = rank(candidates, words, near)
    match floor:
        case Floor.SURFACING:
            chosen = worth_showing(candidates, scores, words, near)
        case Floor.FITTING:
            chosen = set(fitting(candidates, words, near))
        case Floor.NONE:
            chosen = set(scores)
    return [(scores[one.seq], one) for one, _ in pairs if one.seq in chosen]


def _candidate(hit: Hit, lane: SearchLane, newest_ms: int, *, named: bool) -> Candidate:
    dated = max((one.fits(hit.when_ms) for one in lane.question.dates), default=0.0) if lane.question.dates else 0.0
    share = 1 + _NEWER * 0.5 ** (max(0, newest_ms - hit.when_ms) / _HALF_AGE_MS)
    if hit.significance:
        share += _WEIGHTIER * (hit.significance - _USUAL) / _USUAL
    if hit.kind != TURN:
        share += _TRUSTED * _TRUST.get(hit.trust, 0.0)
    elif hit.key_words and lane.question.words.intersection(words_of(" ".join(hit.key_words))):
        share += _KEY_WORD
    share += hit.judged
    if hit.text.rstrip().endswith(_MARKS):
        share *= _ASKS
    return Candidate(
        hit.seq,
        hit.visit,
        lift=_NAMED * (named or hit.seq in lane.about) + _DATED * dated,
        share=share,
        pulled=hit.kind != TURN and hit.seq in lane.about,
    )


def says_more(hit: Hit, asked: frozenset[str]) -> bool:
    """Whether a hit says more than the question itself."""
    return holds_more(hit.text, asked)
