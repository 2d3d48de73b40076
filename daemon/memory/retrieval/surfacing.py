"""Surfaces memories for a reply, by the newest words, the last thought, and the current topic and task."""

import asyncio
import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Final

from daemon.core.concurrency import alongside
from daemon.core.errors import IndexDamaged
from daemon.core.perception import ConversationKey, Readers
from daemon.core.ports.library import Passage
from daemon.core.ports.services import Clock
from daemon.core.text import shortened, visible_line
from daemon.core.value import Value
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
_HITS: Final = 40  # cached hits of a lane by words, and by each view

Found = tuple[SearchLane, Meant]
"""A lane, and how near memories are to it."""

_Key = tuple[str, ConversationKey, frozenset[str]]


class _Kept(Value):
    found: Found
    until: float


class LatelySearched:
    """A cache of the last 64 lanes, each for two minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[_Key, _Kept] = {}

    def get(self, text: str, here: ConversationKey, codes: Collection[Sequence[str]]) -> Found | None:
        kept = self._kept.get(_key(text, here, codes))
        return kept.found if kept is not None and self._clock.monotonic() < kept.until else None

    def keep(self, here: ConversationKey, codes: Collection[Sequence[str]], found: Sequence[Found]) -> None:
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
_ID: Final = re.compile(r"[UW][A-Z0-9]{2,}")  # a platform id, which means nothing to users
_CALLED: Final[Mapping[str, str]] = {
    RecordKind.EPISODE: "visit of",
    RecordKind.CORE: "several visits until",
    RecordKind.SPHERE: "many visits until",
}


def passage_of(hit: Hit, here: ConversationKey, query: str) -> Passage:
    """Return a hit as a passage: the fitting part of its text, and its source without the id of a channel."""
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
_STRONG: Final = 0.8  # the share of the best score that a hit of another lane needs
_SPARE: Final = 4  # factor of hits per lane, to allow for duplicates
_ABOUT: Final = 12  # records about the people who are named


class AlreadyShown(Value):
    """The memories that the prompt shows anyway: turns from a seq on, other texts, and records by id."""

    turns_from: int | None = None
    texts: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()


NOTHING_SHOWN: Final = AlreadyShown()


class Surfaced(Value):
    """The memories that surfaced, best first. `vectors` is the kind of vector search: exact, chroma or none."""

    hits: tuple[Hit, ...]
    vectors: str = "none"


class Surfacing:
    """Finds memories for the replies of all souls on one memory.db.

    Each text is a separate search (a lane), because a joined text finds the meaning of neither. Codes in each MATCH and
    each partition of vectors check the readers. They are checked again when a row is read.
    """

    def __init__(self, database: Database, clock: Clock, meaning: Meaning | None = None) -> None:
        self._database = database
        self._clock = clock
        self._meaning = meaning or Meaning(None, None)
        self._lately = LatelySearched(clock)

    async def expect(self, lane: str) -> None:
        """Embed the words of a lane in advance. Never raises."""
        if lane and not (asked := question(lane)).small_talk:
            await self._meaning.vectors_of([asked.text])

    async def search(
        self, conversation: ConversationKey, readers: Readers, query: str, limit: int
    ) -> tuple[Passage, ...]:
        """Return passages for a deliberate search, also those shown already. Raises StoreError, IndexDamaged."""
        found = await self.find(conversation, readers, [query], limit, floor=Floor.FITTING, again=True)
        return tuple(passage_of(one, conversation, query) for one in found.hits)

    async def surface(
        self, conversation: ConversationKey, readers: Readers, lanes: Sequence[str], limit: int, shown: AlreadyShown
    ) -> tuple[Passage, ...]:
        """Return passages for a reply, best first. `lanes` are the newest words, then texts such as the last thought.

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
        shown: AlreadyShown = NOTHING_SHOWN,
        *,
        floor: Floor = Floor.SURFACING,
        again: bool = False,
    ) -> Surfaced:
        """Return the memories, with `again` also those of the last three replies. Raises StoreError, IndexDamaged."""
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
        """Return the ids of the memories that surfaced to the last three replies. Raises StoreError."""

        async def unit(transaction: Transaction) -> frozenset[str]:
            return await lately_surfaced(transaction, conversation)

        return await self._database.read(unit)

    async def _search(
        self, asked: Sequence[Sought], codes: Collection[Sequence[str]], here: ConversationKey
    ) -> list[Found]:
        """Return the result of each lane. All lanes but the first may come from the cache. Raises IndexDamaged."""
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
        """Search by words and by vectors concurrently. Raises IndexDamaged."""
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
        """Search by words, each lane in a separate read. Raises IndexDamaged, after which the index gets rebuilt."""

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
    """Return the hits without shown ones, lately surfaced ones, and own words that were not asked for."""
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
    """Return the hits of all lanes, each once: half the seats for the first lane, the others in turns, then the rest.

    Another lane gets a seat only for a hit that fits about as well as its best one.
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
    """Return the first hits, without near duplicates of earlier ones."""
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
    """Return the hits with each superseded fact after the current one, or without it if that can't be shown."""
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
