"""Reads memories from memory.db that may surface, each only if its readers may know it now, and their feedback."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.ranking import TurnPlace
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.turn_index import LONGEST_TURN
from daemon.memory.reader_codes import heard_by, record_heard_by
from daemon.memory.records import Speaks

TURN: Final = "turn"
"""The kind of a hit that is a turn. A record's kind is its own."""

_NO_TONE: Final = ("neutral", "none")
_MOST_HOPS: Final = 5  # from an old fact to the one that holds now
_QUOTES: Final = 8

FADES_MS: Final = 60 * 86_400_000
"""Milliseconds without use, quotation or correction after which a fact loses one significance, down to 1."""

_WEIGHT: Final = f"""
    CASE r.kind WHEN 'fact' THEN max(1, r.significance - max(0, min(:now, coalesce(f.valid_until_ms, :now)) - max(
      r.created_ms, coalesce(f.used_ms, 0), coalesce((SELECT max(l.linked_ms) FROM links l
        WHERE l.origin = r.id AND l.relation IN ('evidence', 'supersedes')), 0))) / {FADES_MS})
    ELSE r.significance END
"""  # noqa: S608 - a constant


class HitEvidence(Value):
    """A turn or record by its id, and the words of it that prove a memory."""

    id: str
    quote: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found, as it is in memory.db now.

    `speaker` is the name of its speaker, `person` the platform id of the person whom it is by or about. `own` marks
    words of the soul, `in_session` those of a session of Claude Code. `room` is its private channel if it is read
    elsewhere. `ended`: a later fact superseded it, and `follows` is that fact. `significance` goes from 1 to 10, and is
    0 if unknown. That of an unused fact fades, and a turn has that of its looked-through episode. `tone` and
    `key_words` are those of a turn as it was heard. `judged` is what feedback on replies adds to its score.
    """

    id: str
    kind: str
    seq: int
    audience: str
    channel: str
    conversation: str
    speaker: str
    person: str
    when_ms: int
    text: str
    own: bool = False
    in_session: bool = False
    room: str = ""
    trust: str = ""
    significance: int = 0
    tone: str = ""
    key_words: tuple[str, ...] = ()
    visit: int | None = None
    ended: bool = False
    follows: str = ""
    judged: float = field(default=0.0, compare=False)
    score: float = field(default=0.0, compare=False)
    evidence: tuple[HitEvidence, ...] = field(default=(), compare=False)


async def read_places(transaction: Transaction, seqs: Collection[int]) -> dict[int, TurnPlace]:
    rows = await transaction.gathered(
        """
        SELECT json_group_array(json_array(p.seq, p.before, p.after, a.after, p.visit))  -- in the order of TurnPlace
        FROM json_each(:seqs) asked JOIN turn_places p ON p.seq = asked.value
        LEFT JOIN turn_places a ON a.seq = p.after
        """,
        seqs=json.dumps(list(seqs)),
    )
    return {seq: TurnPlace(*place) for seq, *place in rows}


async def read_speakers(transaction: Transaction, seqs: Collection[int]) -> dict[str, str]:
    """Return the names of the speakers of turns, by turn id."""
    rows = await transaction.gathered(
        """
        SELECT json_group_array(json_array(t.seq, t.speaker, t.name))
        FROM json_each(:seqs) asked JOIN turns t ON t.seq = asked.value
        """,
        seqs=json.dumps(list(seqs)),
    )
    return {turn_id(Speaks(speaker), seq): name for seq, speaker, name in rows}


async def read_turns(
    transaction: Transaction, seqs: Collection[int], here: ConversationKey, readers: Readers | None
) -> list[Hit]:
    """Return the turns that the readers may know: the turn's and its conversation's audience must both allow it.

    With `readers` None all turns are returned, and the caller decides.
    """
    said, values = _heard(readers, here, audience="t.audience", channel="c.channel")
    now, _ = _heard(readers, here, audience="c.audience", channel="c.channel")
    # A CROSS JOIN keeps its order: some versions of SQLite would begin with all conversations of the soul.
    rows = await transaction.gathered(
        f"""
        SELECT json_group_array(json_array(
          t.seq, t.conversation, t.speaker, t.author, t.name, substr(t.body, 1, {LONGEST_TURN}), t.said_ms, c.channel,
          c.audience, p.visit, t.emotion_signal, t.salience_anchor,
          coalesce((SELECT max(r.significance) FROM links l JOIN records r ON r.id = l.origin
                    JOIN episodes e ON e.id = r.id AND e.state IN ('closed', 'distilled')
                    WHERE l.target = iif(t.speaker = 'soul', 'TL_', 'TU_') || t.seq AND l.relation = 'turn_refs'),
                   0)))  -- in the order of _TurnRow
        FROM json_each(:seqs) asked CROSS JOIN turns t ON t.seq = asked.value
        CROSS JOIN conversations c ON c.id = t.conversation LEFT JOIN turn_places p ON p.seq = t.seq
        WHERE c.soul = :soul AND c.workspace = :workspace AND t.kind <> 'apology' AND {said} AND {now}
        """,  # noqa: S608 - a constant and conditions of this package
        seqs=json.dumps(list(seqs)),
        soul=here.soul,
        workspace=here.workspace,
        **values,
    )
    return [
        Hit(
            id=turn_id(Speaks(row.speaker), row.seq),
            kind=TURN,
            seq=row.seq,
            audience=row.audience,
            channel=row.channel,
            conversation=row.conversation,
            speaker=row.name,
            person=row.author,
            when_ms=row.said_ms,
            text=row.body,
            own=row.speaker == Speaks.SOUL,
            in_session=row.speaker == Speaks.SESSION,
            room=_room(row.audience, row.channel, here),
            significance=row.significance,
            tone="" if row.emotion_signal in _NO_TONE else row.emotion_signal,
            key_words=() if row.salience_anchor == "[]" else tuple(json.loads(row.salience_anchor)),
            visit=row.visit,
        )
        for row in map(_TurnRow._make, rows)
    ]


class _TurnRow(NamedTuple):
    seq: int
    conversation: str
    speaker: str
    author: str
    name: str
    body: str
    said_ms: int
    channel: str
    audience: str
    visit: int | None
    emotion_signal: str
    salience_anchor: str
    significance: int


async def read_records(
    transaction: Transaction,
    seqs: Collection[int],
    ids: Collection[str],
    here: ConversationKey,
    readers: Readers | None,
    *,
    now: int = 0,
) -> list[Hit]:
    """Return the records, by number or id, that the readers may know. Journal entries and wrong facts are left out.

    With `readers` None all records are returned, and the caller decides. Significance is that at `now` (ms), or the
    initial one without it.
    """
    heard, values = ("1 = 1", dict[str, str]()) if readers is None else record_heard_by(readers, here)
    rows = await transaction.rows(
        f"""
        SELECT r.*, f.subject, f.why_ended, {_WEIGHT} AS weight
        FROM (SELECT value AS seq FROM json_each(:seqs)
              UNION SELECT n.seq FROM json_each(:ids) asked CROSS JOIN records n ON n.id = asked.value) asked
        CROSS JOIN records r ON r.seq = asked.seq LEFT JOIN facts f ON f.id = r.id
        WHERE r.soul = :soul AND r.workspace = :workspace AND r.kind <> 'journal' AND r.text <> ''
          AND coalesce(f.why_ended, '') IN ('', 'superseded') AND {heard}
        """,  # noqa: S608 - a constant and a condition of this package
        now=now,
        seqs=json.dumps(list(seqs)),
        ids=json.dumps(list(ids)),
        soul=here.soul,
        workspace=here.workspace,
        **values,
    )
    return [_record(row, here) for row in rows]


async def records_about(
    transaction: Transaction, people: Collection[str], here: ConversationKey, most: int, now: int
) -> list[int]:
    """Return the most significant facts and senses about people, by platform id. The caller checks the readers.

    Visits are found by their topics, not by their people.
    """
    rows = await transaction.rows(
        f"""
        SELECT r.seq FROM records r LEFT JOIN facts f ON f.id = r.id
        WHERE r.person IN (SELECT value FROM json_each(:people))
          AND r.kind IN ('fact', 'sense') AND r.soul = :soul AND r.workspace = :workspace
        ORDER BY {_WEIGHT} DESC, r.at_ms DESC LIMIT :most
        """,  # noqa: S608 - a constant
        now=now,
        people=json.dumps(list(people)),
        soul=here.soul,
        workspace=here.workspace,
        most=most,
    )
    return [row["seq"] for row in rows]


async def current_of(transaction: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """Return the fact that holds now for each superseded fact."""
    current = {}
    for old in ids:
        newest = old
        for _ in range(_MOST_HOPS):
            row = await transaction.one(
                "SELECT origin FROM links WHERE target = :id AND relation = 'supersedes' ORDER BY linked_ms DESC",
                id=newest,
            )
            if row is None:
                break
            newest = row["origin"]
        if newest != old:
            current[old] = newest
    return current


async def evidence_of(transaction: Transaction, hits: Sequence[Hit]) -> Mapping[str, tuple[HitEvidence, ...]]:
    """Return the evidence of each hit. A turn is its own evidence, and a record has its quotations."""
    found: dict[str, tuple[HitEvidence, ...]] = {
        one.id: (HitEvidence(one.id, one.text),) for one in hits if one.kind == TURN
    }
    for one in hits:
        if one.kind == TURN:
            found[one.id] = (HitEvidence(one.id, one.text),)
        else:
            rows = await transaction.rows(
                f"SELECT target, quote FROM links WHERE origin = :id AND relation = 'evidence' LIMIT {_QUOTES}",  # noqa: S608
                id=one.id,
            )
            found[one.id] = tuple(HitEvidence(row["target"], row["quote"]) for row in rows)
    return found


def _heard(
    readers: Readers | None, here: ConversationKey, *, audience: str, channel: str
) -> tuple[str, dict[str, str]]:
    return ("1 = 1", {}) if readers is None else heard_by(readers, here, audience=audience, channel=channel)


def _record(row: sqlite3.Row, here: ConversationKey) -> Hit:
    return Hit(
        id=row["id"],
        kind=row["kind"],
        seq=row["seq"],
        audience=row["audience"],
        channel=row["channel"],
        conversation=row["conversation"] or "",
        speaker=row["subject"] or "",
        person=row["person"],
        when_ms=row["at_ms"],
        text=row["text"],
        room=_room(row["audience"], row["channel"], here),
        trust=row["trust"],
        significance=row["weight"],
        ended=row["why_ended"] == "superseded",
    )


def _room(audience: str, channel: str, here: ConversationKey) -> str:
    return "" if channel == here.channel else _channel_of(audience)


@lru_cache(maxsize=1_024)  # each search reads hundreds of rows of few audiences
def _channel_of(audience: str) -> str:
    heard = Audience.parse(audience)
    return heard.id if heard.kind is AudienceKind.CHANNEL else ""


_A_VOICE: Final = 0.05
_MOST_VOICES: Final = 2  # limits the effect on a score to a tenth


class Judged(Value):
    """The number of people who praised replies to which a memory surfaced, and of people who explained a fault."""

    good: int = 0
    bad: int = 0

    @property
    def share(self) -> float:
        return _A_VOICE * max(-_MOST_VOICES, min(_MOST_VOICES, self.good - self.bad))


NOT_JUDGED: Final = Judged()


async def note_judged(transaction: Transaction, outbox: str, author: str) -> None:
    """Note the memories that surfaced to a reply that a user judges by one of its posts."""
    await transaction.run(
        """
        INSERT INTO judged_memories (id, outbox, author)
        SELECT s.id, o.id, :author FROM outbox o
        JOIN inbox i ON i.conversation = o.conversation
          AND i.answered_by = substr(o.id, 1, length(o.id) - length(o.part)) || '0'
        JOIN turns t ON t.conversation = o.conversation AND t.ts = i.ts AND t.speaker = 'soul'
        JOIN surfaced s ON s.trace_id = t.trace_id AND s.mark <> ''
        WHERE o.id = :outbox
        ON CONFLICT DO NOTHING
        """,
        outbox=outbox,
        author=author,
    )


async def judged(
    transaction: Transaction, ids: Collection[str], audiences: Iterable[Audience] | None
) -> dict[str, Judged]:
    """Return the feedback on memories by id, as far as these audiences read the replies. None is every audience."""
    rows = await transaction.rows(
        """
        SELECT j.id, f.author, f.value, f.why <> '' AS told
        FROM json_each(:ids) asked CROSS JOIN judged_memories j ON j.id = asked.value
        JOIN feedback f ON f.outbox = j.outbox AND f.author = j.author JOIN outbox o ON o.id = f.outbox
        WHERE :everywhere OR o.audience IN (SELECT value FROM json_each(:audiences)) ORDER BY f.given_ms, o.seq
        """,
        ids=json.dumps(sorted(ids)),
        everywhere=audiences is None,
        audiences=json.dumps([str(one) for one in audiences or ()]),
    )
    newest = {(row["id"], row["author"]): (row["value"], row["told"]) for row in rows}
    found: dict[str, Judged] = {}
    for (name, _), (value, told) in newest.items():
        so_far = found.get(name, NOT_JUDGED)
        found[name] = Judged(so_far.good + (value == "good"), so_far.bad + (value == "bad" and told))
    return found


async def with_judgements(transaction: Transaction, hits: Sequence[Hit], audiences: Iterable[Audience]) -> list[Hit]:
    """Return the hits with the score that feedback of these audiences adds."""
    known = await judged(transaction, [one.id for one in hits], audiences)
    return [replace(one, judged=known[one.id].share) if one.id in known else one for one in hits]
