"""Search lanes: one text searched by words and by vectors, the ranking of both, and the record of what surfaced."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from heapq import nlargest, nsmallest
from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.core.ports.library import Passage
from daemon.core.value import Value
from daemon.core.windows import NamedDate, dates_in
from daemon.core.words import LISTS, Term, folded, holds_more, terms_of, words_of
from daemon.memory.database import Transaction
from daemon.memory.knowledge.ranking import (
    Candidate,
    Meant,
    Nearness,
    WordScores,
    fitting,
    rank,
    rank_words,
    worth_showing,
)
from daemon.memory.knowledge.records.links import turn_seq
from daemon.memory.knowledge.records.store import RECORD_INDEX
from daemon.memory.knowledge.turn_index import TURN_INDEX
from daemon.memory.retrieval.rows import (
    TURN,
    Hit,
    read_places,
    read_records,
    read_speakers,
    read_turns,
)

_SMALL_TALK: Final = LISTS["small_talk"]
_COURTESIES: Final = frozenset(words_of(_SMALL_TALK["courtesies"]))
_WELL_BEING: Final = frozenset(words_of(_SMALL_TALK["well_being"]))
_HOW: Final = frozenset(words_of(_SMALL_TALK["how"]))
_GREETINGS: Final = frozenset(tuple(words_of(one)) for one in _SMALL_TALK["greetings"])
_OWN_WORDS: Final = re.compile(
    r"""
    \b(?:did|do|have|had|would|what|which|as|when)\s+you\s+(?:\w+\s+){0,2}?
       (?:say|said|tell|told|advise|advised|suggest|suggested|recommend|recommended|promise|promised|mention|mentioned
         |answer|answered|write|wrote|explain|explained|propose|proposed)\b
    |\byour\s+(?:advice|suggestions?|recommendations?|answers?|reply|opinion|proposals?|words)\b
    |\b(?:hast|hattest|hatten|haben)\s+(?:du|sie)\b.*\b(?:gesagt|geraten|empfohlen|vorgeschlagen|versprochen|geantwortet
         |gemeint|erwahnt|erklart|geschrieben)\b
    |\b(?:sagtest|rietest|meintest)\s+du\b|\b(?:dein|deine|deinen|deinem)\s+(?:rat|tipp|vorschlag|empfehlung|antwort)\b
    |\b(?:as|avez|avais|aviez)[\s-](?:tu|vous)\s+(?:dit|conseille|recommande|propose|promis|suggere|repondu)
    |\b(?:tu|vous)\s+(?:m|nous|me)?['\u2019\s]*\s*(?:as|avez|avais)\s+(?:dit|conseille|recommande|propose|promis|repondu)
    |\b(?:ton|tes|votre|vos)\s+(?:conseils?|avis|reponses?|suggestions?)\b
    |\b(?:dijiste|aconsejaste|recomendaste|sugeriste|prometiste|respondiste)\b|\btus?\s+(?:consejo|respuesta|sugerencia)
    |\b(?:hai|avevi)\s+(?:detto|consigliato|suggerito|promesso|proposto|risposto)\b|\btuo\s+consiglio\b
    |\b(?:disseste|aconselhaste|recomendaste|voce\s+(?:disse|aconselhou|recomendou|sugeriu|prometeu))\b|\bteu\s+conselho\b
    |\b(?:heb|had)\s+(?:je|jij|u)\b.*\b(?:gezegd|aangeraden|geadviseerd|voorgesteld|beloofd)\b|\bjouw\s+(?:advies|antwoord)
    |\bты\s+(?:мне\s+)?(?:говорил|говорила|сказал|сказала|советовал|посоветовал|посоветовала|обещал|обещала)
    |\bтвой\s+(?:совет|ответ)
    |(?:あなた|君|きみ).*(?:言|勧|薦|答え)|言ってた|言っていた|言いました|勧めてくれ|アドバイス
    |你.{0,4}(?:说过|建议|推荐|答应|告诉|回答)
    """,  # noqa: RUF001 - letters of several alphabets are meant
    re.VERBOSE,
)


_ASKS: Final = re.compile("[?？؟]\\s*$")  # noqa: RUF001


class Sought(Value):
    """A text to search memory by. `words` are all its words in the form of comparison.

    `small_talk`: the text holds nothing to look for, such as thanks, in any language.
    """

    text: str
    terms: tuple[Term, ...]
    words: frozenset[str]
    dates: tuple[NamedDate, ...]
    own_words: bool
    small_talk: bool


def question(text: str) -> Sought:
    """Return a text analysed for a search."""
    terms, dates, words = terms_of(text), dates_in(text), words_of(text)
    own_words = bool(_OWN_WORDS.search(folded(text)))
    small_talk = not dates and not own_words and (_is_courtesy(text, terms) or _asks_how_one_is(terms, words))
    return Sought(text, terms, frozenset(words), dates, own_words, small_talk)


def _is_courtesy(text: str, terms: Sequence[Term]) -> bool:
    return all(term.word in _COURTESIES for term in terms) and not _ASKS.search(text)


def _asks_how_one_is(terms: Sequence[Term], words: Sequence[str]) -> bool:
    """Return True if a text only asks how a person is. No memory answers that, though the same was asked before."""
    if tuple(words) in _GREETINGS or (not terms and words[:1] == ["how"] and "you" in words):
        return True
    return bool(terms) and not _HOW.isdisjoint(words) and all(one.word in _WELL_BEING | _COURTESIES for one in terms)


_TURNS: Final = 120  # turns found by words that are compared with those found by vectors
_RECORDS: Final = 60
_NAMED: Final = 0.2  # a person who is named spoke it, or it is about them
_DATED: Final = 0.5  # a date that is named is its own
_LANES_ASKS: Final = 0.85  # a question shares words with the present one, and rarely answers it
_MARKS: Final = ("?", "？", "؟", "？」")  # noqa: RUF001
_HALF_AGE_MS: Final = 60 * 24 * 3_600_000
_NEWER, _WEIGHTIER, _TRUSTED = 0.05, 0.03, 0.02  # together they move a score by a tenth at most
_KEY_WORD: Final = 0.02  # for a turn, which has no trust value: the query holds a key word of it
_USUAL: Final = 5  # significance
_TRUST: Final = {"own": 1.0, "document": 0.5, "claim": 0.0, "inferred": 0.0, "noted": -1.0}


@dataclass(slots=True)
class SearchLane:
    """A text on its way through the search. `also` are the ids found by words, whose vectors are measured, too."""

    question: Sought
    turns: WordScores = field(default_factory=WordScores)
    records: WordScores = field(default_factory=WordScores)
    about: Sequence[int] = ()
    found: Sequence[int] = ()
    recorded: Sequence[int] = ()
    also: Collection[str] = ()

    def found_it(self, hit: Hit, meant: Meant) -> bool:
        """Return True if this lane found a hit, by words or by meaning."""
        if hit.id in meant.own or hit.id in meant.before:
            return True
        return hit.id in self.also if hit.kind == TURN else hit.seq in self.recorded or hit.seq in self.about


def narrowed(lane: SearchLane, meant: Meant, most: int) -> tuple[SearchLane, Meant]:
    """Return the lane with at most `most` hits by words, and `most` by each view."""
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
    """Search turns and records for the words of a question. Raises IndexDamaged."""
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
    if names:  # a name is searched as a person, not as a topic
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
    """Return each hit of the lanes that the readers may know once. `now` is in ms."""
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
    """The level of relevance that hits need."""

    SURFACING = auto()
    """The hits worth a place in a prompt."""
    FITTING = auto()
    """The hits that have anything to do with the question."""
    NONE = auto()
    """All hits, for measurements."""


class Wanted(Value):
    """The choice of each lane's hits: the level of relevance, and the most hits."""

    floor: Floor
    most: int


def ranked(lane: SearchLane, meant: Meant, hits: Sequence[Hit], wanted: Wanted) -> list[Hit]:
    """Return the lane's own hits that are relevant enough, best first."""
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
        share *= _LANES_ASKS
    return Candidate(
        hit.seq,
        hit.visit,
        lift=_NAMED * (named or hit.seq in lane.about) + _DATED * dated,
        share=share,
        pulled=hit.kind != TURN and hit.seq in lane.about,
    )


def says_more(hit: Hit, asked: frozenset[str]) -> bool:
    return holds_more(hit.text, asked)


REPLIES: Final = 3
"""The number of last replies of a conversation whose memories do not surface again."""

_FACT: Final = "sem_"
_LOOKED_AT: Final = 200  # newest turns of a conversation in which replies are looked for
_MENTION: Final = re.compile(r"\b[UW][A-Z0-9]{1,20}\b")
_MOST_PEOPLE: Final = 500  # of those who spoke last


async def keep_surfaced(
    transaction: Transaction, trace_id: str, found: Sequence[tuple[str, Passage]], known: Collection[str], now: int
) -> None:
    """Store the memories that surfaced to a reply with their citation marks, and the facts `known` to it.

    Known facts are in the prompt anyway. They have no mark and don't count as surfaced. All facts among both count as
    used, because unused facts lose weight with time. A memory that surfaced twice has both marks, separated by a space.
    """
    marked = [(mark, one.id, one.fit) for mark, one in found if one.id]
    for mark, name, score in (*marked, *(("", one, 0.0) for one in known)):
        await transaction.insert(
            "surfaced",
            "ON CONFLICT (trace_id, id) DO UPDATE SET mark = trim(surfaced.mark || ' ' || excluded.mark)",
            trace_id=trace_id,
            id=name,
            mark=mark,
            score=score,
            at_ms=now,
        )
    if facts := [name for _, name, _ in marked if name.startswith(_FACT)] + list(known):
        await transaction.run(
            "UPDATE facts SET used = used + 1, used_ms = :now WHERE id IN (SELECT value FROM json_each(:facts))",
            now=now,
            facts=json.dumps(facts),
        )


async def lately_surfaced(transaction: Transaction, conversation: ConversationKey) -> frozenset[str]:
    """Return the ids of the memories that surfaced to the last three replies of a conversation."""
    rows = await transaction.rows(
        f"""
        SELECT s.id FROM (SELECT DISTINCT trace_id FROM
          (SELECT trace_id FROM
            (SELECT trace_id, speaker, seq FROM turns WHERE conversation = :id ORDER BY seq DESC LIMIT {_LOOKED_AT})
           WHERE speaker = 'soul' ORDER BY seq DESC LIMIT {REPLIES}))
          lately JOIN surfaced s ON s.trace_id = lately.trace_id AND s.mark <> ''
        """,  # noqa: S608 - constants
        id=str(conversation),
    )
    return frozenset(row["id"] for row in rows)


async def people_named(
    transaction: Transaction, text: str, words: Collection[str], here: ConversationKey
) -> frozenset[str]:
    """Return the platform ids of the people whom a text names or mentions."""
    rows = await transaction.rows(
        f"""
        SELECT person, name FROM user_models WHERE soul = :soul AND workspace = :workspace
        ORDER BY seen_ms DESC LIMIT {_MOST_PEOPLE}
        """,  # noqa: S608 - a constant
        soul=here.soul,
        workspace=here.workspace,
    )
    named = {row["person"] for row in rows if set(words_of(row["name"])).intersection(words)}
    return frozenset(named | set(_MENTION.findall(text)))
