"""Surfaces memories: what a reply may draw on, by the newest words, the last thought, and the matter at hand.

Each text is a lane, a search of its own: joined, they find neither what one nor what the other means. The newest words
get half the seats. Nothing that shows already surfaces, nothing again within three replies, and the soul's own words
only when they are asked for. Who may hear a memory is decided by the codes inside each MATCH and each partition of the
vectors, and once more as its row is read.
"""

import asyncio
import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Final

from daemon.core.concurrency import alongside
from daemon.core.errors import IndexDamaged
from daemon.core.perception import ConversationKey, Readers
from daemon.core.ports.library import Passage
from daemon.core.ports.services import Clock
from daemon.core.text import shortened, visible_line
from daemon.core.windows import window
from daemon.core.words import terms_of, words_of
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.ranking import Meaning, Meant, Scanned
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.knowledge.records.store import RECORD_INDEX
from daemon.memory.knowledge.turn_index import TURN_INDEX
from daemon.memory.reader_codes import codes_for_readers
from daemon.memory.retrieval.lanes import (
    Floor,
    SearchLane,
    Sought,
    Wanted,
    lately_surfaced,
    narrowed,
    people_named,
    question,
    ranked,
    read_hits,
    says_more,
    search_words,
)
from daemon.memory.retrieval.rows import (
    TURN,
    Hit,
    current_of,
    evidence_of,
    read_records,
    records_about,
    with_judgements,
)

_SECONDS: Final = 120.0
_MOST: Final = 64
_HITS: Final = 40  # of words, and of each view: only what fits such a lane about as well as its best gets a seat

Found = tuple[SearchLane, Meant]
"""A lane, and how near memories are to it."""

_Key = tuple[str, ConversationKey, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Kept:
    found: Found
    until: float


class LatelySearched:
    """Lanes that are not older than two minutes, the last 64."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[_Key, _Kept] = {}

    def get(self, text: str, here: ConversationKey, codes: Collection[Sequence[str]]) -> Found | None:
        """What a text found for the same readers in the same place."""
        kept = self._kept.get(_key(text, here, codes))
        return kept.found if kept is not None and self._clock.monotonic() < kept.until else None

    def keep(self, here: ConversationKey, codes: Collection[Sequence[str]], found: Sequence[Found]) -> None:
        """Keep what lanes found, in place of the oldest."""
        until = self._clock.monotonic() + _SECONDS
        for lane, meant in found:
            key = _key(lane.question.text, here, codes)
            self._kept.pop(key, None)
            self._kept[key] = _Kept(narrowed(lane, meant, _HITS), until)
        self._kept = dict([*self._kept.items()][-_MOST:])


def _key(text: str, here: ConversationKey, codes: Collection[Sequence[str]]) -> _Key:
    return text, here, frozenset(code for group in codes for code in group)


_LONGEST_PASSAGE: Final = 1_500
_LONGEST_NAME: Final = 80
_ID: Final = re.compile(r"[UW][A-Z0-9]{2,}")  # a person by their platform id, which says nothing to people
_CALLED: Final[Mapping[str, str]] = {
    RecordKind.EPISODE: "visit of",
    RecordKind.CORE: "several visits until",
    RecordKind.SPHERE: "many visits until",
}


def passage_of(hit: Hit, here: ConversationKey, query: str) -> Passage:
    """A hit as a passage: the part of its text that fits, and its source without the id of a room."""
    return Passage(
        _source(hit, here),
        window(hit.text, terms_of(query), _LONGEST_PASSAGE),
        members_only=hit.channel != here.channel,
        room=hit.room,
        own=hit.own,
        fit=hit.score,
        id=hit.id,
        significance=hit.significance,
        tone=hit.tone,
        outdated=hit.ended,
        when_ms=hit.when_ms,
    )


def _source(hit: Hit, here: ConversationKey) -> str:
    day = dt.datetime.fromtimestamp(hit.when_ms / 1000, dt.UTC).date().isoformat()
    name = "" if _ID.fullmatch(hit.speaker) else shortened(visible_line(hit.speaker), _LONGEST_NAME)
    if hit.kind != TURN:
        kind = _CALLED.get(hit.kind, hit.kind)
        return f"{kind} {day}, {name}" if name else f"{kind} {day}"
    where = "private channel" if hit.room else "session of Claude Code" if hit.in_session else "conversation"
    where = "this conversation" if hit.conversation == str(here) else where
    return f"{where} {day}, {name or 'somebody'}"


_ALIKE: Final = 0.8  # the share of words in common from which on two memories say the same
_STRONG: Final = 0.8  # of the best hit of a lane that isn't the newest words
_SPARE: Final = 4  # times as many hits of each lane as are wanted: some say the same, or are another lane's, too
_ABOUT: Final = 12  # records about the people who are named


@dataclass(frozen=True, slots=True)
class AlreadyShown:
    """What the prompt shows anyway: turns of the conversation from a seq on, other texts, and records by their ids."""

    turns_from: int | None = None
    texts: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surfaced:
    """What surfaced, best first; `vectors` says what measured meanings: exact, chroma or none."""

    hits: tuple[Hit, ...]
    vectors: str = "none"


class Surfacing:
    """Finds memories for the replies of every soul on one memory.db."""

    def __init__(self, database: Database, clock: Clock, meaning: Meaning | None = None) -> None:
        self._database = database
        self._clock = clock
        self._meaning = meaning or Meaning(None, None)
        self._lately = LatelySearched(clock)

    async def expect(self, lane: str) -> None:
        """Embed the words of a lane that is about to surface. Never raises."""
        if lane and not (asked := question(lane)).small_talk:
            await self._meaning.vectors_of([asked.text])

    async def search(
        self, conversation: ConversationKey, readers: Readers, query: str, limit: int
    ) -> tuple[Passage, ...]:
        """Passages for somebody who looks for something on purpose: also what is shown already or surfaced lately.

        Raises StoreError and IndexDamaged.
        """
        found = await self.find(conversation, readers, [query], limit, floor=Floor.FITTING, again=True)
        return tuple(passage_of(one, conversation, query) for one in found.hits)

    async def surface(
        self, conversation: ConversationKey, readers: Readers, lanes: Sequence[str], limit: int, shown: AlreadyShown
    ) -> tuple[Passage, ...]:
        """Passages for a reply, best first; `lanes` are the newest words and what else is on the soul's mind.

        Raises StoreError and IndexDamaged.
        """
        found = await self.find(conversation, readers, lanes, limit, shown)
        return tuple(passage_of(one, conversation, "\n".join(lanes)) for one in found.hits)

    async def find(
        self,
        conversation: ConversationKey,
        readers: Readers,
        lanes: Sequence[str],
        limit: int,
        shown: AlreadyShown = AlreadyShown(),
        *,
        floor: Floor = Floor.SURFACING,
        again: bool = False,
    ) -> Surfaced:
        """The memories themselves; with `again` also those of the last three replies.

        Raises StoreError and IndexDamaged.
        """
        asked = [question(one) for one in lanes]
        codes = codes_for_readers(conversation, readers)
        if not asked or asked[0].small_talk or limit <= 0 or not codes:
            return Surfaced(())
        pairs, now = await self._search(asked, codes, conversation), self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[Hit, ...]:
            hits = await read_hits(transaction, pairs, conversation, readers, now)
            hits = await with_judgements(transaction, hits, readers.may_know(conversation.workspace))
            out = frozenset[str]() if again else await lately_surfaced(transaction, conversation)
            hits = _wanted(hits, asked, conversation, shown, out)
            if floor is Floor.SURFACING:
                hits = [one for one in hits if says_more(one, asked[0].words)]
            best = [ranked(lane, near, hits, Wanted(floor, _SPARE * limit)) for lane, near in pairs]
            chosen = _diverse(_seated(best, limit), limit)
            chosen = await _with_current(transaction, chosen, conversation, readers, limit, now=now)
            chosen = [one for one in chosen if one.id not in shown.ids]
            evidence = await evidence_of(transaction, chosen)
            return tuple(replace(one, evidence=evidence[one.id]) for one in chosen)

        kinds = {meant.kind for _, meant in pairs} - {"none"}
        return Surfaced(await self._database.read(unit), min(kinds, default="none"))

    async def lately(self, conversation: ConversationKey) -> frozenset[str]:
        """The ids of what surfaced to the last three replies. Raises StoreError."""

        async def unit(transaction: Transaction) -> frozenset[str]:
            return await lately_surfaced(transaction, conversation)

        return await self._database.read(unit)

    async def _search(
        self, asked: Sequence[Sought], codes: Collection[Sequence[str]], here: ConversationKey
    ) -> list[Found]:
        """What each lane finds; all but the newest words may be known from a moment ago. Raises IndexDamaged."""
        newest, *others = asked
        known = {one.text: found for one in others if (found := self._lately.get(one.text, here, codes)) is not None}
        fresh = await self._search_now([newest, *(one for one in others if one.text not in known)], codes, here)
        whole = [one for one in fresh[1:] if one[1].kind != "none" or not self._meaning.serves]
        self._lately.keep(here, codes, whole)
        known |= {lane.question.text: (lane, meant) for lane, meant in fresh[1:]}
        return [fresh[0], *(known[one.text] for one in others)]

    async def _search_now(
        self, asked: Sequence[Sought], codes: Collection[Sequence[str]], here: ConversationKey
    ) -> list[Found]:
        """By words and by vectors, both at once. Raises IndexDamaged."""
        partitions = [code for group in codes for code in group]
        scanning: asyncio.Future[Sequence[Scanned]] = asyncio.get_running_loop().create_future()

        async def scan() -> None:
            vectors = await self._meaning.vectors_of([one.text for one in asked])
            scanning.set_result(await self._meaning.scan(partitions, vectors))

        async with alongside(scan()):
            lanes, scanned = await self._search_words(asked, codes, here), await scanning
        meant = await self._meaning.meant(partitions, scanned, [lane.also for lane in lanes])
        return list(zip(lanes, meant, strict=True))

    async def _search_words(
        self, asked: Sequence[Sought], codes: Collection[Sequence[str]], here: ConversationKey
    ) -> list[SearchLane]:
        """What words find, each lane in a read of its own, which has half a second; a damaged index is built anew.

        Raises IndexDamaged.
        """

        async def unit(transaction: Transaction, one: Sought) -> SearchLane:
            people = await people_named(transaction, one.text, one.words, here)
            about = await records_about(transaction, people, here, _ABOUT, self._clock.now_ms()) if people else []
            return await search_words(transaction, one, codes, about)

        try:
            return [await self._database.read(partial(unit, one=one)) for one in asked]
        except IndexDamaged as error:
            for index in (TURN_INDEX, RECORD_INDEX):
                if index.is_meant(error):
                    await self._database.write(index.distrust)
            raise


def _wanted(
    hits: Sequence[Hit], asked: Sequence[Sought], here: ConversationKey, shown: AlreadyShown, out: frozenset[str]
) -> list[Hit]:
    """Without what shows, what surfaced lately, and own words that nobody asked for."""
    newest = asked[0]
    return [
        one
        for one in hits
        if one.id not in out | shown.ids
        and (newest.own_words or not one.own)
        and not (
            shown.turns_from is not None
            and one.conversation == str(here)
            and one.id[:2] in ("TU", "TL")
            and one.seq >= shown.turns_from
        )
        and not any(one.text in text for text in shown.texts)
    ]


def _seated(lanes: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """The hits of all lanes, each once: half the seats for the first lane, the others in turns, then the rest.

    Another lane takes a seat only with a hit that fits it about as well as its best one.
    """
    first, *others = lanes
    half = limit - limit // 2 if others else limit
    others = [[one for one in lane if one.score >= _STRONG * lane[0].score] for lane in others]
    turns = [one for row in zip_longest(*others) for one in row if one is not None]
    taken = dict.fromkeys(one.id for one in first[:half])
    by_id = {one.id: one for one in (*reversed(turns), *reversed(first))}
    rest = [one.id for one in turns if one.id not in taken][: limit - len(taken)]
    taken |= dict.fromkeys(rest)
    order = [*taken, *(one.id for one in (*first, *turns) if one.id not in taken)]
    return [by_id[one] for one in dict.fromkeys(order)]


def _diverse(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The first hits, without those that say almost the same as an earlier one."""
    chosen: list[Hit] = []
    said: list[frozenset[str]] = []
    for one in hits:
        words = frozenset(words_of(one.text))
        if any(len(words & other) >= _ALIKE * len(words | other) for other in said):
            continue
        chosen.append(one)
        said.append(words)
        if len(chosen) == limit:
            break
    return chosen


async def _with_current(
    transaction: Transaction, hits: Sequence[Hit], here: ConversationKey, readers: Readers, limit: int, *, now: int
) -> list[Hit]:
    """Each superseded fact behind the one that holds now; it goes where that one can't be shown here."""
    ended = [one.id for one in hits if one.ended]
    if not ended:
        return list(hits)
    current = await current_of(transaction, ended)
    holding = await read_records(transaction, (), set(current.values()), here, readers, now=now)
    known: Mapping[str, Hit] = {one.id: one for one in (*holding, *hits)}
    order: dict[str, Hit] = {}
    for one in hits:
        if not one.ended:
            order.setdefault(one.id, one)
        elif (later := known.get(current.get(one.id, ""))) is not None:
            order.setdefault(later.id, later if later.score else replace(later, score=one.score))
            order[one.id] = replace(one, follows=later.id)
    return list(order.values())[:limit]
