"""No record is for more people than its sources are, and none stays so when a channel becomes private."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Origin, Readers
from daemon.core.words import terms_of
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.knowledge.records.kinds import Episode, Record, Trust
from daemon.memory.knowledge.records.links import HeardByMore, Link, Relation, common_of
from daemon.memory.knowledge.records.store import RECORD_INDEX, change, get, put
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.reader_codes import codes_for_readers
from daemon.memory.records import Speaks, Turn
from tests.given import DM, SOUL, TEAM
from tests.store.parts import a_fact, room

NOW = 1_769_558_400_000
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
MINE, CLOSED = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.CHANNEL, "G1")
OPEN_ROOM, CLOSED_ROOM = (ConversationKey(SOUL, TEAM, one, "1.0") for one in ("C1", "G1"))
PLACES = {"dm": (DM, MINE), "open": (OPEN_ROOM, EVERYBODY), "closed": (CLOSED_ROOM, CLOSED)}


async def said(transaction: Transaction, place: str) -> str:
    where, audience = PLACES[place]
    turn = Turn(Speaks.PERSON, "U1", "Ann", "1.000", "the kraken sleeps")
    await store_turns(transaction, [turn], conversation=where, audience=audience, trace_id="t", now=NOW)
    newest = await transaction.one("SELECT max(seq) AS seq FROM turns")
    assert newest is not None
    return f"TU_{newest['seq']}"


def episode(audience: Audience, channel: str) -> Episode:
    common = {"soul": SOUL, "workspace": TEAM, "at_ms": NOW, "trust": Trust.INFERRED}
    return Episode(text="of a kraken", audience=audience, channel=channel, **common)  # type: ignore[arg-type]


def in_one(unit: Callable[[Transaction], Awaitable[object]]) -> Callable[[Database], Awaitable[None]]:
    """A test that is one unit of work, where all the places are conversations."""

    async def test(database: Database) -> None:
        for where, audience in PLACES.values():
            await room(database, where, audience)
        await database.write(unit)

    return test


def _sources(*turns: str) -> list[Link]:
    return [Link("", Relation.SOURCES, one) for one in turns]


@in_one
async def test_the_sources_say_who_may_hear_what_is_made_of_them(transaction: Transaction) -> None:
    turns = {place: await said(transaction, place) for place in PLACES}
    for places, origin in (
        (["open"], Origin(EVERYBODY, "C1")),
        (["closed"], Origin(CLOSED, "G1")),
        (["closed", "open"], Origin(CLOSED, "")),
        (["dm", "open"], Origin(MINE, "")),
        (["dm", "closed"], None),
        ([], None),
    ):
        sources = [turns[place] for place in places]
        assert await common_of(transaction, sources) == origin, places
        if origin:
            stored = await put(transaction, episode(origin.audience, origin.channel), NOW, _sources(*sources))
            assert await common_of(transaction, [stored.id]) == origin, places
        assert await common_of(transaction, [*sources, "EP_20200101_001"]) is None, "one is unknown"


@in_one
async def test_a_record_for_more_people_than_its_source_is_refused(transaction: Transaction) -> None:
    turns = {place: await said(transaction, place) for place in PLACES}
    for place, audience, channel in (
        ("closed", EVERYBODY, "G1"),
        ("closed", MINE, "D1"),
        ("dm", EVERYBODY, ""),
        ("open", CLOSED, "G1"),  # a guest in the closed room may not know the open one
        ("open", EVERYBODY, "C2"),
    ):
        with pytest.raises(HeardByMore):
            await put(transaction, episode(audience, channel), NOW, _sources(turns[place]))
    stored = await put(transaction, episode(CLOSED, "G1"), NOW, _sources(turns["closed"]))
    with pytest.raises(HeardByMore):  # no change gives it more hearers either
        await change(transaction, stored.id, NOW, "", audience=EVERYBODY)


@in_one
async def test_what_was_learned_in_a_channel_now_private_is_for_its_members_alone(transaction: Transaction) -> None:
    closed = Audience(AudienceKind.CHANNEL, "C1")
    here, there = await said(transaction, "open"), await said(transaction, "dm")
    fact = await put(transaction, a_fact("works on billing", audience=EVERYBODY, channel="C1"), NOW, _sources(here))
    core = await put(transaction, episode(EVERYBODY, "C1"), NOW, _sources(fact.id))
    mixed = await put(transaction, replace(episode(MINE, ""), text="both"), NOW, _sources(here, there))
    await make_private(transaction, TEAM, "C1", closed, NOW)
    assert [await _origin(transaction, one) for one in (fact, core)] == [Origin(closed, "C1")] * 2
    assert await get(transaction, mixed.id) is None, "it would be made of two private rooms"
    for readers, where, found in (
        (Readers(MINE, members_only=True), DM, 0),
        (Readers(MINE, members_only=True, rooms=frozenset({"C1"})), DM, 1),
        (Readers(closed, members_only=False), OPEN_ROOM, 1),
    ):
        hits = await RECORD_INDEX.find(transaction, codes_for_readers(where, readers), terms_of("billing"))
        assert len(hits.found) == found


@in_one
async def test_what_comes_from_elsewhere_too_is_found_by_members_of_the_room_alone(transaction: Transaction) -> None:
    turns = [await said(transaction, one) for one in ("open", "closed")]
    await put(transaction, episode(CLOSED, ""), NOW, _sources(*turns))
    for only in (True, False):
        codes = codes_for_readers(CLOSED_ROOM, Readers(CLOSED, members_only=only))
        assert len((await RECORD_INDEX.find(transaction, codes, terms_of("kraken"))).found) == only


async def _origin(transaction: Transaction, record: Record) -> Origin | None:
    return await common_of(transaction, [record.id])
