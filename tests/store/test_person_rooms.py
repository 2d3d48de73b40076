"""The private rooms of a user are known for as long as they are surely true, and the commit asks once more."""

from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports import PersonRooms, RoomListKey
from daemon.memory.database import Database
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.person_rooms import MOST_ROOMS, PersonRoomsStore, require_rooms
from tests.fakes import FakeClock, FakePersonRooms
from tests.given import SOUL, TEAM, effect, new_message
from tests.store.parts import Stores, look, room

ANN = RoomListKey(TEAM, "U1", "U0SOUL")
NOW = FakeClock().now_ms()
BEN = replace(ANN, person="U2")


@pytest.fixture(params=["store", "fake"])
async def rooms(request: pytest.FixtureRequest, database: Database, clock: FakeClock) -> PersonRooms:
    for channel in ("G1", "G2"):
        await room(database, ConversationKey(SOUL, TEAM, channel), Audience(AudienceKind.CHANNEL, channel))
    return PersonRoomsStore(database, clock) if request.param == "store" else FakePersonRooms()


async def listed(rooms: PersonRooms, key: RoomListKey, *names: str) -> bool:
    return await rooms.keep(key, names, await rooms.begin(key), NOW)


async def test_a_list_is_known_from_when_it_was_asked_for(rooms: PersonRooms) -> None:
    assert await rooms.known(ANN, SOUL, 0) is None
    assert await listed(rooms, ANN, "G1", "G2")
    assert await rooms.known(ANN, SOUL, NOW) == frozenset({"G1", "G2"})
    assert await rooms.known(ANN, SOUL, NOW + 1) is None
    assert await rooms.known(BEN, SOUL, 0) is None
    assert await rooms.keep(ANN, [], await rooms.begin(ANN), NOW + 1)
    assert await rooms.known(ANN, SOUL, NOW + 1) == frozenset()


async def test_news_outdates_what_was_read_and_what_is_being_read_of_those_it_is_about(rooms: PersonRooms) -> None:
    for news in ({"person": "U1"}, {"person": "U1", "room": "G1"}, {"room": "G1"}, {}):
        await listed(rooms, ANN, "G1", "G2")
        begun = await rooms.begin(ANN)
        await rooms.outdate(TEAM, **news)
        assert await rooms.known(ANN, SOUL, 0) is None, news
        assert not await rooms.keep(ANN, ["G1"], begun, NOW), news
        assert await rooms.known(ANN, SOUL, 0) is None, news
        assert await listed(rooms, ANN, "G2"), news
        assert await rooms.known(ANN, SOUL, 0) == frozenset({"G2"}), news
    await listed(rooms, BEN, "G1")
    await rooms.outdate(TEAM, person="U1", room="G1")
    await rooms.outdate("T2")
    assert await rooms.known(BEN, SOUL, 0) == frozenset({"G1"})


async def test_rooms_in_which_the_soul_never_spoke_are_left_out(database: Database, clock: FakeClock) -> None:
    rooms = PersonRoomsStore(database, clock)
    await room(database, ConversationKey("bob", TEAM, "G3"))
    for number in range(MOST_ROOMS + 3):
        await room(database, ConversationKey(SOUL, TEAM, f"M{number}"))
    await listed(rooms, ANN, "G3", "G4", *(f"M{number}" for number in range(MOST_ROOMS + 3)))
    found = await rooms.known(ANN, SOUL, 0)
    assert found is not None
    assert len(found) == MOST_ROOMS
    assert not found & {"G3", "G4"}


async def test_old_lists_go(database: Database, clock: FakeClock, path: Path) -> None:
    rooms = PersonRoomsStore(database, clock)
    await listed(rooms, ANN, "G1")
    await clock.advance(3_601)
    await listed(rooms, BEN, "G1")
    for table in ("room_lists", "room_members"):
        assert look(path, f"SELECT person FROM {table}") == [("U2",)]  # a literal


async def test_a_room_that_was_left_is_asked_for_in_vain_at_once(database: Database, clock: FakeClock) -> None:
    rooms = PersonRoomsStore(database, clock)
    await listed(rooms, ANN, "G1", "G2")
    await listed(rooms, BEN, "G1")
    ask = partial(require_rooms, workspace=TEAM)
    await database.write(partial(ask, person="U1", rooms={"G1", "G2"}))
    await rooms.outdate(TEAM, person="U1", room="G1")
    await database.write(partial(ask, person="U1", rooms={"G2"}))
    await database.write(partial(ask, person="U2", rooms={"G1"}))
    await rooms.outdate(TEAM, room="G1")
    for person in ("U1", "U2"):
        with pytest.raises(ReadersChanged):
            await database.write(partial(ask, person=person, rooms={"G1"}))


async def test_no_reply_is_committed_that_may_rest_on_a_room_that_its_reader_left(stores: Stores) -> None:
    rooms = PersonRoomsStore(stores.database, stores.clock)
    await listed(rooms, ANN, "G1")
    await stores.inbox.accept(new_message("1.0", "hello"))
    claim = await stores.claim()
    rests = replace(effect(claim, "as they said"), recipient="U1", rooms=frozenset({"G1"}))
    await rooms.outdate(TEAM, person="U1", room="G1")
    with pytest.raises(ReadersChanged):
        await stores.commits.commit(rests)
    await listed(rooms, ANN, "G1")
    assert await stores.commits.commit(rests) is not None
