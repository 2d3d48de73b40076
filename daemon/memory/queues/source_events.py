"""Events of programs: each is stored once, with the inbox row by which its soul perceives it."""

import hashlib
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Place
from daemon.core.ports.services import Clock
from daemon.core.sensing import (
    FROM_PARAM,
    LATELY_MS,
    SOURCE_PARAM,
    EventSource,
    OtherEvent,
    Signing,
    SourceEnded,
    SourceEvent,
    TooManyEvents,
)
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import read_row
from daemon.memory.senses.readings import Sensed, wait_on

MOST_A_MINUTE: Final = 30
"""The most events of one source in a minute."""

PROCESS: Final = "attending"
"""The mental process that an event visits."""

_MINUTE_MS: Final = 60_000
_SHOWN: Final = 5  # events in one prompt
_SOURCE: Final = "SELECT *, 0 AS events, NULL AS heard_ms FROM event_sources WHERE ended_ms IS NULL"


class NewEvent(Value):
    """An event as it came: the id that its source gave it, and its words."""

    source: EventSource
    id: str
    words: str


class SourceEvents:
    """The events of programs. Each call may raise StoreError."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def source(self, name: str) -> EventSource | None:
        """Return the source of this name that is in force."""
        return await self._read_source(f"{_SOURCE} AND name = :name", name=name)

    async def still(self, id_: str) -> EventSource | None:
        """Return the source with this id, if it is in force."""
        return await self._read_source(f"{_SOURCE} AND id = :id", id=id_)

    async def take(self, event: NewEvent) -> bool:
        """Store an event durably, or return False if its id came before.

        Ids are kept for good. Raises TooManyEvents, SourceEnded, and OtherEvent for an id that had other words.
        """
        now, source = self._clock.now_ms(), event.source
        digest = hashlib.sha256(event.words.encode("utf-8", "surrogatepass")).hexdigest()

        async def unit(transaction: Transaction) -> bool:
            if await transaction.one(f"{_SOURCE} AND id = :id", id=source.id) is None:
                raise SourceEnded(f"the source {source.name} has ended")
            known = await transaction.one(
                "SELECT digest FROM source_events WHERE source = :source AND event = :event",
                source=source.id,
                event=event.id,
            )
            if known is not None:
                if known["digest"] != digest:
                    raise OtherEvent("an event with another body has this id", hint="give every event an id of its own")
                return False
            await _require_rate(transaction, source, now)
            await _store(transaction, event, digest, now)
            return True

        return await self._database.write(unit, within=2.0)

    async def lately(self, where: ConversationKey) -> tuple[SourceEvent, ...]:
        """Return the recent events in the room of a conversation, newest first, without those not looked at yet."""
        rows = await self._database.rows(
            f"""
            SELECT s.name AS source, e.words, e.at_ms FROM source_events e JOIN event_sources s ON s.id = e.source
            WHERE e.room = :room AND e.at_ms >= :since AND s.soul = :soul AND s.workspace = :workspace AND e.words <> ''
              AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.id = e.inbox AND i.state IN ('new', 'claimed'))
            ORDER BY e.at_ms DESC, e.seq DESC LIMIT {_SHOWN}
            """,  # noqa: S608 - a constant
            room=where.channel,
            soul=where.soul,
            workspace=where.workspace,
            since=self._clock.now_ms() - LATELY_MS,
        )
        return tuple(read_row(SourceEvent, row) for row in rows)

    async def _read_source(self, sql: str, **values: object) -> EventSource | None:
        row = await self._database.one(sql, **values)
        return read_row(EventSource, row, signing=Signing, wakes=bool) if row else None


async def _require_rate(transaction: Transaction, source: EventSource, now: int) -> None:
    row = await transaction.one(
        "SELECT count(*) AS n FROM source_events WHERE source = :source AND at_ms > :since",
        source=source.id,
        since=now - _MINUTE_MS,
    )
    if row is not None and row["n"] >= MOST_A_MINUTE:
        raise TooManyEvents(
            f"{source.name} sent {MOST_A_MINUTE} events in a minute", hint="send fewer, or wait a minute"
        )


async def _store(transaction: Transaction, event: NewEvent, digest: str, now: int) -> None:
    source = event.source
    await transaction.insert(
        "source_events",
        source=source.id,
        event=event.id,
        digest=digest,
        room=source.room,
        words=event.words,
        at_ms=now,
        inbox=await _have_perceived(transaction, event, digest, now) if source.wakes else None,
    )


async def _have_perceived(transaction: Transaction, event: NewEvent, digest: str, now: int) -> str:
    """Put the event into the inbox of its room, and return the row's id."""
    source, key = event.source, event.source.conversation
    # Until the platform says what the room is, it counts as one for those in it alone.
    await open_conversation(transaction, key, Place.PRIVATE_CHANNEL, Audience(AudienceKind.CHANNEL, source.room), now)
    room = await transaction.one("SELECT place, audience FROM conversations WHERE id = :id", id=str(key))
    assert room is not None  # opened just now
    return await store_internal_event(
        transaction,
        name=f"event:{source.id}:{digest[:8]}:{event.id}",
        conversation=key,
        modality=Modality.EVENT,
        author=f"{SOURCE_PARAM}.{source.name}",
        place=room["place"],
        audience=room["audience"],
        body=event.words,
        process=PROCESS,
        params={SOURCE_PARAM: source.id, FROM_PARAM: source.name},
        now=now,
    )


class ReadingsPerceived(Value):
    """The readings in the prompt of a thought, and how many had gone. `trace` is the id of its cycle."""

    sensed: Sensed
    trace: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        said = await self._said(transaction, asker.conversation)
        for one in self.sensed.readings:
            row = await transaction.one(
                """
                UPDATE readings SET state = 'perceived', perceived_by = :trace, perceived_ms = :now, said = :said,
                  wakes_ms = NULL
                WHERE seq = :seq AND state = 'waiting' RETURNING *
                """,
                trace=self.trace,
                now=now,
                said=said,
                seq=one.seq,
            )
            if row is not None and (more := row["n"] - one.n) > 0:
                await transaction.run("UPDATE readings SET n = :n WHERE seq = :seq", n=one.n, seq=one.seq)
                await wait_on(transaction, row, more, now)
        if self.sensed.dropped:
            await transaction.run(
                """
                UPDATE readings SET perceived_by = :trace WHERE seq IN
                  (SELECT seq FROM readings WHERE conversation = :id AND state = 'dropped' AND perceived_by = ''
                   ORDER BY seq LIMIT :many)
                """,
                trace=self.trace,
                id=str(asker.conversation),
                many=self.sensed.dropped,
            )

    async def _said(self, transaction: Transaction, where: ConversationKey) -> str:
        row = await transaction.one(
            "SELECT output, trace_id FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1", id=str(where)
        )
        if row is None or row["trace_id"] != self.trace:
            return ""
        return hashlib.sha256(row["output"].encode("utf-8", "surrogatepass")).hexdigest()[:16]
