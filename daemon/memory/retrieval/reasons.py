"""Explains a reply: the memories that support each of its sentences, and the quotations that prove these."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import field
from msgspec.structs import replace

from daemon.core.perception import ConversationKey, Readers
from daemon.core.value import Value
from daemon.core.words import Segment, segments_of, sources_in
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.library import passages_by_id
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.knowledge.records.links import DERIVING, turn_id, turn_seq
from daemon.memory.records import Speaks
from daemon.memory.retrieval.bearing import Bearer, Borne, borne
from daemon.memory.retrieval.rows import NOT_JUDGED, TURN, Hit, Judged, judged, read_records, read_turns

DOCUMENT: Final = "document"
"""The kind of a passage of the admin's library."""

_MOST_SENTENCES: Final = 60
_MOST_QUOTES: Final = 3  # of one memory
_MOST_HOPS: Final = 4  # links from a distillate to its messages
_LONGEST_TEXT: Final = 1_500  # characters of a memory that are compared
_SPOKE: Final = """
    SELECT DISTINCT name FROM (SELECT name FROM turns WHERE conversation = :id ORDER BY seq DESC LIMIT 200)
    """
_DERIVING: Final = ", ".join(f"'{one}'" for one in DERIVING)


class Ear(Value):
    """Readers, and the conversation where they would read the answer."""

    where: ConversationKey
    readers: Readers


class Proof(Value):
    """A message that proves a memory: the quoted words, the speaker, and the time (ms).

    `ts` is its id on the platform, or ''.
    """

    id: str
    quote: str
    speaker: str
    said_ms: int
    conversation: ConversationKey
    ts: str


class Reason(Value):
    """A memory that supports a sentence. `text` is its line, or the source of a passage of a document.

    `judged` counts the feedback on replies to which it surfaced, as far as these readers read them.
    """

    id: str
    kind: str
    text: str
    evidence: tuple[Proof, ...]
    judged: Judged = NOT_JUDGED


class Explained(Value):
    """A sentence and its support. `hidden`: these readers may not hear a memory of it. `gone`: one was deleted.

    `sources` are sources that the reply lists and that are no memories, such as the answer of a tool.
    """

    text: str
    reasons: tuple[Reason, ...]
    sources: tuple[str, ...] = ()
    hidden: bool = False
    gone: bool = False


class WhySaid(Value):
    """A reply with its id, its platform id and its sentences, and the number of its memories that are gone."""

    id: str
    ts: str
    conversation: ConversationKey
    sentences: tuple[Explained, ...]
    gone: int = 0


class _Found(Value):
    """The memories that surfaced to a reply by id, with marks, proofs, folders of documents, and names of speakers."""

    hits: Mapping[str, Hit]
    marks: Mapping[str, str]
    proofs: Mapping[str, tuple[tuple[str, str], ...]]
    said: Mapping[str, Proof]
    folders: Mapping[str, str]
    names: frozenset[str]
    heard: frozenset[str] = field(default_factory=frozenset)
    judged: Mapping[str, Judged] = field(default_factory=dict)

    @property
    def gone(self) -> frozenset[str]:
        return frozenset(self.marks).difference(self.hits)


class Reasons:
    """Explains replies of all souls on one memory.db. All users may hear the library's `open_folders`.

    Memories and proofs are read as they are now, and shown only to readers who may hear them now.
    """

    def __init__(self, database: Database, meaning: Meaning | None = None, open_folders: Collection[str] = ()) -> None:
        self._database = database
        self._meaning = meaning or Meaning(None, None)
        self._open_folders = open_folders

    async def last_reply(self, conversation: ConversationKey) -> str:
        """Return the id of the soul's last reply in a conversation, or ''. Raises StoreError.

        In a DM thread without replies of the soul, that is the reply to the thread's first message.
        """
        timeline = replace(conversation, thread="")
        row = await self._database.one(
            """
            SELECT max(seq) AS seq FROM (
              SELECT max(seq) AS seq FROM turns WHERE conversation = :id AND speaker = 'soul' AND kind <> 'apology'
              UNION ALL SELECT max(seq) FROM turns
              WHERE conversation = :timeline AND ts = :thread AND speaker = 'soul' AND kind <> 'apology'
            )
            """,
            id=str(conversation),
            timeline=str(timeline),
            thread=conversation.thread,
        )
        return turn_id(Speaks.SOUL, row["seq"]) if row and row["seq"] is not None else ""

    async def reply_posted(self, soul: str, ts: str, channel: str = "") -> str:
        """Return the id of the reply that a posted message of the soul is a part of, or ''. Raises StoreError."""
        row = await self._database.one(
            """
            SELECT t.seq FROM outbox o
            JOIN inbox i ON i.conversation = o.conversation
              AND i.answered_by = substr(o.id, 1, length(o.id) - length(o.part)) || '0'
            JOIN conversations c ON c.id = o.conversation
            JOIN turns t ON t.conversation = o.conversation AND t.ts = i.ts AND t.speaker = 'soul'
            WHERE o.platform_ts = :ts AND o.soul = :soul AND t.kind <> 'apology' AND :channel IN ('', c.channel)
            ORDER BY t.seq DESC LIMIT 1
            """,
            ts=ts,
            soul=soul,
            channel=channel,
        )
        return turn_id(Speaks.SOUL, row["seq"]) if row else ""

    async def why(self, reply: str, ears: Sequence[Ear] | None) -> WhySaid | None:
        """Return a reply explained for the readers of `ears` (None: all of it), if it exists. Raises StoreError."""

        async def unit(transaction: Transaction) -> tuple[sqlite3.Row, str, _Found] | None:
            row = await _reply(transaction, reply)
            if row is None:
                return None
            found = await _surfaced(transaction, row["trace_id"], ConversationKey.parse(row["conversation"]))
            read_by = None if ears is None else {a for e in ears for a in e.readers.may_know(e.where.workspace)}
            voices = await judged(transaction, found.hits, read_by)
            found = replace(found, heard=await self._heard(transaction, found, ears), judged=voices)
            posted = await _posted(transaction, row["conversation"], row["ts"])
            return row, posted, found

        if (read := await self._database.read(unit)) is None:
            return None
        row, posted, found = read
        where = ConversationKey.parse(row["conversation"])
        body = row["body"]
        sources = sources_in(body)
        sentences = await self._borne(body, found, sources)
        return WhySaid(
            turn_id(Speaks.SOUL, row["seq"]),
            posted,
            where,
            tuple(_explained(one, found, sources) for one in sentences),
            len(found.gone),
        )

    async def _borne(self, body: str, found: _Found, sources: Collection[str]) -> tuple[Borne, ...]:
        """Return the sentences with their support. A number in brackets without a listed source cites nothing."""
        cited = {*sources, *(mark for marks in found.marks.values() for mark in marks.split())}
        said = [
            Segment(one.text, tuple(mark for mark in one.marks if mark in cited))
            for one in segments_of(body)[:_MOST_SENTENCES]
        ]
        bearers = [Bearer(one, found.marks[one], "\n".join(_pieces(one, found))) for one in sorted(found.hits)]
        bearers += [Bearer(one, found.marks[one], "") for one in sorted(found.gone) if found.marks[one]]
        cosines = await self._cosines([one.text for one in said], found)
        return await asyncio.to_thread(borne, said, bearers, cosines, found.names)

    async def _cosines(self, said: Sequence[str], found: _Found) -> list[dict[str, float]]:
        """Return each sentence's cosine with each memory's nearest part. Empty without an embedder."""
        pieces = [(one, piece) for one in sorted(found.hits) for piece in _pieces(one, found)]
        vectors = await self._meaning.vectors_of([*said, *(piece for _, piece in pieces)]) if said and pieces else []
        known = [one for one in vectors if one is not None]
        if not known or len(known) < len(vectors):
            return []
        near = [dict.fromkeys(found.hits, 0.0) for _ in said]
        for (one, _), theirs in zip(pieces, known[len(said) :], strict=True):
            for cosines, mine in zip(near, known, strict=False):
                cosines[one] = max(cosines[one], float(mine @ theirs))
        return near

    async def _heard(self, transaction: Transaction, found: _Found, ears: Sequence[Ear] | None) -> frozenset[str]:
        if ears is None:
            return frozenset({*found.hits, *found.said})
        heard = set[str]()
        for ear in ears:
            heard.update(one.id for one in await _read(transaction, {*found.hits, *found.said}, ear.where, ear.readers))
        members = any(ear.readers.members_only for ear in ears)
        heard.update(one for one, folder in found.folders.items() if members or folder in self._open_folders)
        return frozenset(heard)


async def _reply(transaction: Transaction, name: str) -> sqlite3.Row | None:
    if (seq := turn_seq(name)) is None:
        return None
    return await transaction.one("SELECT * FROM turns WHERE seq = :seq AND speaker = 'soul'", seq=seq)


async def _surfaced(transaction: Transaction, trace_id: str, where: ConversationKey) -> _Found:
    """Return the memories that surfaced to the reply of a trace, as they are now."""
    rows = await transaction.rows("SELECT id, mark FROM surfaced WHERE trace_id = :trace", trace=trace_id)
    marks = {row["id"]: row["mark"] for row in rows}
    hits = {one.id: one for one in await _read(transaction, marks, where, None)}
    read = await passages_by_id(transaction, marks)
    hits |= {one.id: Hit(one.id, DOCUMENT, 0, "", "", "", "", "", 0, f"{one.source}\n{one.text}") for one in read}
    folders = {one.id: one.document.partition("/")[0] for one in read}
    proofs = {name: await _proofs(transaction, hit) for name, hit in hits.items()}
    quoted = {name for one in proofs.values() for name, _ in one}
    said = {one.id: await _as_proof(transaction, one) for one in await _read(transaction, quoted, where, None)}
    spoke = await transaction.rows(_SPOKE, id=str(where))
    return _Found(hits, marks, proofs, said, folders, frozenset(row["name"] for row in spoke))


async def _read(
    transaction: Transaction, ids: Collection[str], where: ConversationKey, readers: Readers | None
) -> list[Hit]:
    turns = {name: seq for name in ids if (seq := turn_seq(name)) is not None}
    found = [one for one in await read_turns(transaction, turns.values(), where, readers) if one.id in turns]
    return [*found, *await read_records(transaction, (), set(ids).difference(turns), where, readers)]


async def _proofs(transaction: Transaction, hit: Hit) -> tuple[tuple[str, str], ...]:
    """Return the turns that a memory rests on, each with the quoted words. A turn is its own proof."""
    if hit.kind == TURN:
        return ((hit.id, hit.text),)
    rows = await transaction.rows(
        f"""
        WITH RECURSIVE made_from (id, quote, hops) AS (
          SELECT target, quote, 1 FROM links WHERE origin = :id AND relation IN ({_DERIVING})
          UNION SELECT l.target, l.quote, m.hops + 1 FROM made_from m JOIN links l ON l.origin = m.id
                WHERE l.relation IN ({_DERIVING}) AND m.hops < {_MOST_HOPS}
        )
        SELECT id, max(quote) AS quote FROM made_from WHERE id GLOB 'T[UL]_[0-9]*'
        GROUP BY id ORDER BY max(quote) = '', min(hops), id LIMIT {_MOST_QUOTES}
        """,  # noqa: S608 - constants
        id=hit.id,
    )
    return tuple((row["id"], row["quote"]) for row in rows)


async def _as_proof(transaction: Transaction, turn: Hit) -> Proof:
    where = ConversationKey.parse(turn.conversation)
    row = await transaction.one("SELECT ts FROM turns WHERE seq = :seq", seq=turn.seq)
    ts = row["ts"] if row else ""
    if turn.own:
        ts = await _posted(transaction, turn.conversation, ts)
    return Proof(turn.id, turn.text, turn.speaker, turn.when_ms, where, ts)


async def _posted(transaction: Transaction, conversation: str, ts: str) -> str:
    """Return the platform id of the first part of the reply to a message, or ''."""
    row = await transaction.one(
        """
        SELECT o.platform_ts FROM inbox i JOIN outbox o ON o.id = i.answered_by
        WHERE i.ts = :ts AND i.channel = :channel AND i.conversation = :conversation AND o.platform_ts IS NOT NULL
        """,
        ts=ts,
        channel=ConversationKey.parse(conversation).channel,
        conversation=conversation,
    )
    return row["platform_ts"] if row else ""


def _pieces(name: str, found: _Found) -> list[str]:
    hit = found.hits[name]
    quotes = [] if hit.kind == TURN else [quote for _, quote in found.proofs[name] if quote]
    return [hit.text[:_LONGEST_TEXT], *quotes]


def _explained(sentence: Borne, found: _Found, sources: Mapping[str, str]) -> Explained:
    shown = [one for one in sentence.memories if one in found.heard]
    return Explained(
        sentence.text,
        tuple(_reason(found.hits[one], found) for one in shown),
        tuple(sources[mark] for mark in sentence.other_marks if mark in sources),
        hidden=any(one in found.hits and one not in found.heard for one in sentence.memories),
        gone=any(one in found.gone for one in sentence.memories),
    )


def _reason(hit: Hit, found: _Found) -> Reason:
    evidence = tuple(
        replace(found.said[name], quote=quote)
        for name, quote in found.proofs[hit.id]
        if name in found.said and name in found.heard
    )
    text = hit.text.partition("\n")[0] if hit.kind == DOCUMENT else hit.text
    return Reason(hit.id, hit.kind, text, evidence, found.judged.get(hit.id, NOT_JUDGED))
