"""Holds words that arrived against the cues that wait for them, and puts a report into the inbox, once.

A message costs a bounded number of reads: it is looked up by its own words (`cue_words`), never by going through the
cues. The platform may be asked in between who reads it, so there is no lock meanwhile: the unit that reports takes the
queued message away, and does nothing where another daemon was first, or the message was edited or deleted.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.hearing import Origin
from daemon.core.perception import Audience, ConversationKey, Modality, Perception, Place
from daemon.memory.database import Transaction, one_of
from daemon.memory.database.driver import sqlite3
from daemon.memory.queues.cues import HIT, REPORTS, REVISION, CueKind, key_of_person, queue_words
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.records import InboxMessage
from daemon.memory.worker_store import WorkerStore

MOST_CUES: Final = 500
"""Cues that one message is held against at most; those that were set first come first."""

_KEYS_AT_ONCE: Final = 400
_TRIES: Final = 12  # of a message about which the platform can't be asked
_LONGEST_REST_MS: Final = 600_000
_CUE_ID: Final = "CU_"
_LOOKED_AT: Final = 50  # queued messages at a time
_NEXT: Final = """
    SELECT h.seq AS queued, h.tries, i.*, c.audience AS room FROM heard_words h
    LEFT JOIN inbox i ON i.id = h.message LEFT JOIN conversations c ON c.id = i.conversation
    WHERE h.soul = :soul AND h.workspace = :workspace AND h.not_before <= :now
    ORDER BY h.not_before, h.seq LIMIT :most
    """


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message that is to be held against the cues: its queue number, and who may hear it by what is stored.

    `room` is the audience of its conversation, which follows a channel that was made private.
    """

    seq: int
    message: Perception
    revision: int
    room: Audience
    tries: int = 0

    @property
    def origins(self) -> tuple[Origin, Origin]:
        """Where it was said, as it was stored then and as its conversation counts now."""
        channel = self.message.conversation.channel
        return Origin(self.message.audience, channel), Origin(self.room, channel)


@dataclass(frozen=True, slots=True)
class WaitingCue:
    """A cue that waits for words, who asked for it and in which conversation, with its audience now."""

    seq: int
    intention: str
    topic: str
    person: str
    since_ms: int
    conversation: ConversationKey
    place: Place
    audience: Audience
    outsider_spoke: bool
    asker: str
    content: str

    @property
    def kind(self) -> CueKind:
        """What it waits for."""
        return CueKind.TOPIC if self.topic else CueKind.PERSON


@dataclass(frozen=True, slots=True)
class CueReport:
    """What an event reports. `heard` is the message, None for a silence; `holds`: it still is as it was found."""

    heard: HeardMessage | None
    holds: bool


class CueMatching(WorkerStore):
    """The queued words and the cues of one worker's soul in its workspace."""

    async def next_heard(self) -> HeardMessage | None:
        """The message that was queued first, if one is due; those that are gone, or can't be read, are dropped."""
        now, gone = self._clock.now_ms(), list[int]()
        while rows := await self._database.rows(_NEXT, now=now, most=_LOOKED_AT, **self._worker.scope):
            for row in rows:
                if (heard := _readable(row)) is not None:
                    await self._drop(gone)
                    return heard
                gone.append(row["queued"])
            await self._drop(gone)
        return None

    async def _drop(self, queued: list[int]) -> None:
        if queued:
            delete = "DELETE FROM heard_words WHERE seq = :key"
            await self._database.write(lambda transaction: transaction.run_for_each(delete, queued))

    async def candidates(self, keys: Collection[str]) -> tuple[WaitingCue, ...]:
        """The cues that are looked up by one of these keys and report nothing else just now."""
        wanted = sorted(keys)

        async def unit(transaction: Transaction) -> list[int]:
            found: dict[int, None] = {}
            for start in range(0, len(wanted), _KEYS_AT_ONCE):
                among, values = one_of(wanted[start : start + _KEYS_AT_ONCE])
                rows = await transaction.rows(
                    f"""
                    SELECT DISTINCT cue FROM cue_words
                    WHERE soul = :soul AND workspace = :workspace AND word IN {among} LIMIT {MOST_CUES}
                    """,  # noqa: S608 - names of values, and a constant
                    **values,
                    **self._worker.scope,
                )
                found |= dict.fromkeys(row["cue"] for row in rows)
            return sorted(found)[:MOST_CUES]

        return await self._waiting(await self._database.read(unit)) if wanted else ()

    async def by_vector(self, ids: Collection[str]) -> tuple[WaitingCue, ...]:
        """The cues whose vectors have these ids, as far as they still wait."""
        seqs = [int(one[len(_CUE_ID) :]) for one in ids if one.startswith(_CUE_ID) and one[len(_CUE_ID) :].isdecimal()]
        return await self._waiting(seqs[:MOST_CUES])

    async def any_topics(self) -> bool:
        """Whether any cue waits for a topic."""
        row = await self._database.one(
            """
            SELECT 1 FROM cues WHERE soul = :soul AND workspace = :workspace AND silence_ms = 0 AND topic <> '' LIMIT 1
            """,
            **self._worker.scope,
        )
        return row is not None

    async def report(self, heard: HeardMessage, cues: Sequence[WaitingCue]) -> int:
        """Take a message off the queue and report it for these cues; for how many it is.

        None where another daemon was first, or the message is no longer as it was found.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows("DELETE FROM heard_words WHERE seq = :seq RETURNING seq", seq=heard.seq)
            if not rows or not await _is_unchanged(transaction, heard):
                return 0
            return sum([await _report(transaction, heard, cue, now) for cue in cues])

        return await self._database.write(unit)

    async def put_off(self, heard: HeardMessage) -> None:
        """Look at a message again later, after a growing pause; it is dropped after too many tries."""
        rest = min(5_000 * 2**heard.tries, _LONGEST_REST_MS)
        await self._database.run(
            "UPDATE heard_words SET tries = tries + 1, not_before = :due WHERE seq = :seq",
            due=self._clock.now_ms() + rest,
            seq=heard.seq,
        )
        await self._database.run(
            "DELETE FROM heard_words WHERE seq = :seq AND tries >= :most", seq=heard.seq, most=_TRIES
        )

    async def report_of(self, event: Perception) -> CueReport | None:
        """What an event reports, as it stands now; None for an event that reports on no cue."""
        if event.params.get(REPORTS) not in set(CueKind):
            return None

        async def unit(transaction: Transaction) -> CueReport:
            cue = await transaction.one(
                """
                SELECT i.due_ms >= c.until_ms AS silent FROM cues c JOIN intentions i ON i.id = c.intention
                WHERE c.pending = :event AND c.pending <> '' -- so it finds the index
                """,
                event=event.id,
            )
            if event.params[REPORTS] == CueKind.SILENCE:
                return CueReport(None, cue is not None and bool(cue["silent"]))
            row = await transaction.one(
                """
                SELECT i.*, c.audience AS room FROM inbox i JOIN conversations c ON c.id = i.conversation
                WHERE i.id = :id
                """,
                id=event.params.get(HIT, ""),
            )
            if row is None or not row["body"]:
                return CueReport(None, holds=False)
            heard = _heard(row)
            return CueReport(heard, cue is not None and heard.revision == event.params.get(REVISION))

        return await self._database.read(unit)

    async def look_again(self, heard: HeardMessage) -> None:
        """Hold a message against the cues once more: it was edited before it was reported."""
        await self._database.write(lambda transaction: queue_words(transaction, heard.message.id, self._worker.scope))

    async def _waiting(self, seqs: Collection[int]) -> tuple[WaitingCue, ...]:
        if not seqs:
            return ()
        among, values = one_of(seqs)
        rows = await self._database.rows(
            f"""
            SELECT c.seq, c.intention, c.topic, c.person, c.since_ms, i.conversation, i.place, i.behalf, i.content,
              v.audience, v.outsider_spoke
            FROM cues c JOIN intentions i ON i.id = c.intention JOIN conversations v ON v.id = i.conversation
            WHERE c.seq IN {among} AND c.soul = :soul AND c.workspace = :workspace AND c.silence_ms = 0
              AND c.pending = '' AND c.until_ms > :now AND i.state = 'waiting' ORDER BY c.seq
            """,  # noqa: S608 - names of values
            now=self._clock.now_ms(),
            **values,
            **self._worker.scope,
        )
        return tuple(cue for row in rows if (cue := _cue(row)) is not None)


def keys_of_author(author: str) -> frozenset[str]:
    """The key of the cues that wait for a person."""
    return frozenset({key_of_person(author)})


async def _is_unchanged(transaction: Transaction, heard: HeardMessage) -> bool:
    row = await transaction.one("SELECT revision, body FROM inbox WHERE id = :id", id=heard.message.id)
    return row is not None and row["revision"] == heard.revision and bool(row["body"])


async def _report(transaction: Transaction, heard: HeardMessage, cue: WaitingCue, now: int) -> bool:
    """Report a message for one cue, unless that reports something else by now, or has ended."""
    key = cue.conversation
    name = "'cue:' || intention || ':' || (hits + 1)"
    row = await transaction.one(
        f"""
        UPDATE cues SET pending = :prefix || {name}, hits = hits + 1
        WHERE seq = :seq AND pending = '' AND until_ms > :now RETURNING hits, pending
        """,  # noqa: S608 - a constant
        prefix=f"{key.soul}/{key.workspace}/{key.channel}/",
        seq=cue.seq,
        now=now,
    )
    if row is None:
        return False
    await store_internal_event(
        transaction,
        name=f"cue:{cue.intention}:{row['hits']}",
        conversation=key,
        modality=Modality.TIME,
        author=cue.asker,
        place=cue.place,
        audience=str(cue.audience),
        body=cue.content,
        params={REPORTS: cue.kind, HIT: heard.message.id, REVISION: heard.revision},
        now=now,
    )
    return True


def _heard(row: sqlite3.Row, seq: int = 0, tries: int = 0) -> HeardMessage:
    message = InboxMessage.from_row(row)
    return HeardMessage(seq, message.perception, message.revision, Audience.parse(row["room"]), tries)


def _readable(row: sqlite3.Row) -> HeardMessage | None:
    """A queued message, if it is there and can be read."""
    if row["id"] is None or not row["body"]:
        return None
    try:
        return _heard(row, row["queued"], row["tries"])
    except (ValueError, TypeError):  # what another program wrote must not hold up the others
        return None


def _cue(row: sqlite3.Row) -> WaitingCue | None:
    try:
        conversation, place, audience = (
            ConversationKey.parse(row["conversation"]),
            Place(row["place"]),
            Audience.parse(row["audience"]),
        )
    except ValueError:
        return None
    return WaitingCue(
        seq=row["seq"],
        intention=row["intention"],
        topic=row["topic"],
        person=row["person"],
        since_ms=row["since_ms"],
        conversation=conversation,
        place=place,
        audience=audience,
        outsider_spoke=bool(row["outsider_spoke"]),
        asker=row["behalf"],
        content=row["content"],
    )
