"""Readings that programs push into a soul's conversations: each id once, stored before it is acknowledged."""

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from daemon.core.perception import BESIDE, ConversationKey, Place
from daemon.core.ports.services import Clock
from daemon.core.sensing import (
    MOST_A_MINUTE,
    MOST_THREADS,
    NowhereToPerceive,
    OtherReading,
    PushedReading,
    SourceEnded,
    TooManyReadings,
)
from daemon.core.words import keys_of_words, shares_words, words_heard
from daemon.memory.database import Database, Transaction
from daemon.memory.goals_in_force import IN_FORCE
from daemon.memory.records import as_json
from daemon.memory.senses.readings import NewReading, keep_reading

_MINUTE_MS: Final = 60_000
_GOALS_LOOKED_AT: Final = 200  # open goals in a channel, those that were touched last
_MANY: Final = 5_000  # turns of a person; to look at more of them takes longer than to look at whose each DM is
_HAD: Final = f"""
    c.soul = :soul AND c.workspace = :workspace AND c.handed_to = '' AND c.thread <> '{BESIDE}'
    AND EXISTS (SELECT 1 FROM turns t WHERE t.conversation = c.id AND t.speaker = 'person')
    """  # noqa: S608 - a constant
_OF_TURNS: Final = "SELECT DISTINCT conversation AS id FROM turns WHERE author = :person AND speaker = 'person'"
# The audiences of direct messages one by one, each by a look into the index; who spoke in one is alone there.
_NEXT: Final = (
    "SELECT min(audience) FROM conversations WHERE workspace = :workspace AND audience < 'dm;' AND audience >"
)
_OF_ROOMS: Final = f"""
    WITH RECURSIVE alone (audience) AS (
      {_NEXT} 'dm:' UNION ALL SELECT ({_NEXT} alone.audience) FROM alone WHERE alone.audience IS NOT NULL)
    SELECT c.id FROM alone CROSS JOIN conversations c ON c.workspace = :workspace AND c.audience = alone.audience
    WHERE :person = (
      SELECT t.author FROM conversations o CROSS JOIN turns t ON t.conversation = o.id AND t.speaker = 'person'
      WHERE o.workspace = :workspace AND o.audience = alone.audience LIMIT 1)
    """  # noqa: S608 - a constant
_NO_THREAD: Final = "name a thread in which people spoke with the soul, or leave thread out"
_NO_ROOM: Final = "name a channel or a person with whom the soul has spoken, by the id that Slack gives it"
_NO_GOAL: Final = "name a thread, or tell of something that the soul means to do in one of the channel's threads"


class PushedReadings:
    """The store of what programs push. Each call may raise StoreError."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def push(self, reading: PushedReading) -> tuple[tuple[str, ...], bool]:
        """Store a reading durably. Returns the ids of the conversations that perceive it, and whether it is new.

        Raises NowhereToPerceive, TooManyReadings, SourceEnded, and OtherReading for an id that had other words.
        """
        now, digest = self._clock.now_ms(), _digest(reading)

        async def unit(transaction: Transaction) -> tuple[tuple[str, ...], bool]:
            await _require_source(transaction, reading)
            if (known := await _known(transaction, reading, digest)) is not None:
                return known, False
            await _require_rate(transaction, reading, now)
            found = await _conversations(transaction, reading, now)
            for one in found:
                where = ConversationKey.parse(one)
                await keep_reading(transaction, where, NewReading(reading.sense, reading.words), now)
            await transaction.insert(
                "sensed",
                source=reading.source,
                event=reading.id,
                digest=digest,
                perceived_by=as_json(found),
                at_ms=now,
            )
            return tuple(found), True

        return await self._database.write(unit, within=2.0)


def _digest(reading: PushedReading) -> str:
    said = json.dumps([reading.soul, reading.sense, reading.words, reading.room, reading.thread])
    return hashlib.sha256(said.encode()).hexdigest()


async def _require_source(transaction: Transaction, reading: PushedReading) -> None:
    if reading.ends and not await transaction.one(
        "SELECT 1 FROM event_sources WHERE id = :id AND ended_ms IS NULL", id=reading.source
    ):
        raise SourceEnded("the source has ended")


async def _known(transaction: Transaction, reading: PushedReading, digest: str) -> tuple[str, ...] | None:
    """Return where the reading with this id was perceived, or None. Raises OtherReading."""
    row = await transaction.one(
        "SELECT digest, perceived_by FROM sensed WHERE source = :source AND event = :id",
        source=reading.source,
        id=reading.id,
    )
    if row is None:
        return None
    if row["digest"] != digest:
        raise OtherReading("a reading with other words had this id", hint="give every reading an id of its own")
    return tuple(json.loads(row["perceived_by"]))


async def _require_rate(transaction: Transaction, reading: PushedReading, now: int) -> None:
    row = await transaction.one(
        "SELECT count(*) AS n FROM sensed WHERE source = :source AND at_ms > :since",
        source=reading.source,
        since=now - _MINUTE_MS,
    )
    if row is not None and row["n"] >= MOST_A_MINUTE:
        raise TooManyReadings(f"{MOST_A_MINUTE} readings came in a minute", hint="send fewer, or wait a minute")


async def _conversations(transaction: Transaction, reading: PushedReading, now: int) -> Sequence[str]:
    """Return the ids of the conversations that perceive the reading, at least one. Raises NowhereToPerceive."""
    if reading.to_person:
        found, hint = await _direct_messages(transaction, reading), _NO_THREAD if reading.thread else _NO_ROOM
    elif reading.thread:
        found, hint = await _thread(transaction, reading), _NO_THREAD
    else:
        found, hint = await _threads_by_goals(transaction, reading, now), _NO_GOAL
    if not found:
        what = "has no such thread" if reading.thread else "knows nothing there that this tells of"
        raise NowhereToPerceive(f"the soul {what}", hint=hint)
    return found


async def _direct_messages(transaction: Transaction, reading: PushedReading) -> Sequence[str]:
    """Return a person's DM with the soul: the thread, or else the conversation outside threads, or the newest one."""
    more = await transaction.one(
        "SELECT 1 FROM turns WHERE author = :person LIMIT 1 OFFSET :many", person=reading.room, many=_MANY
    )
    theirs = _OF_TURNS if more is None else _OF_ROOMS
    rows = await transaction.rows(
        f"""
        SELECT c.id FROM ({theirs}) s CROSS JOIN conversations c ON c.id = s.id
        WHERE {_HAD} AND c.place = '{Place.DM}' AND (:thread = '' OR c.thread = :thread)
        ORDER BY c.thread <> '', c.last_ms DESC LIMIT 1
        """,  # noqa: S608 - constants
        person=reading.room,
        thread=reading.thread,
        soul=reading.soul,
        workspace=reading.workspace,
    )
    return [row["id"] for row in rows]


async def _thread(transaction: Transaction, reading: PushedReading) -> Sequence[str]:
    where = ConversationKey(reading.soul, reading.workspace, reading.room, reading.thread)
    rows = await transaction.rows(
        f"SELECT c.id FROM conversations c WHERE c.id = :id AND {_HAD}",  # noqa: S608 - a constant
        id=str(where),
        soul=reading.soul,
        workspace=reading.workspace,
    )
    return [row["id"] for row in rows]


async def _threads_by_goals(transaction: Transaction, reading: PushedReading, now: int) -> Sequence[str]:
    """Return the threads of a channel whose goals the reading tells of, newest touched first."""
    rows = await transaction.rows(
        f"""
        SELECT g.conversation, g.goal FROM goals g CROSS JOIN conversations c ON c.id = g.conversation
        WHERE g.soul = :soul AND g.workspace = :workspace AND {IN_FORCE}
          AND c.channel = :channel AND c.thread <> '' AND {_HAD}
        ORDER BY g.touched_ms DESC, g.seq DESC LIMIT :most
        """,  # noqa: S608 - constants
        channel=reading.room,
        now=now,
        most=_GOALS_LOOKED_AT,
        soul=reading.soul,
        workspace=reading.workspace,
    )
    heard = words_heard(reading.words)
    keys = keys_of_words(heard)
    sharing = (row["conversation"] for row in rows if shares_words(row["goal"], heard, keys))
    return list(dict.fromkeys(sharing))[:MOST_THREADS]
