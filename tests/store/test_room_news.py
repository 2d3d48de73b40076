"""What one daemon is told of a room, every other daemon on the file asks about again."""

import pytest

from daemon.core.ports import RoomNews
from daemon.memory.database import Database
from daemon.memory.queues.person_rooms import RoomNewsStore
from tests.fakes import FakeClock, FakeRoomNews
from tests.store.parts import look

Daemons = tuple[RoomNews, RoomNews]


@pytest.fixture(params=["store", "fake"])
def daemons(request: pytest.FixtureRequest, database: Database, clock: FakeClock) -> Daemons:
    if request.param == "store":
        return RoomNewsStore(database, clock), RoomNewsStore(database, clock)
    fake = FakeRoomNews()
    return fake, fake


async def test_each_piece_of_news_is_heard_once_by_another_daemon(daemons: Daemons) -> None:
    one, other = daemons
    assert await other.changed("T1", 0) == (frozenset(), 0)
    await one.tell("T2", ("C9",))
    await one.tell("T1", ("C1", "U1"))
    heard, upto = await other.changed("T1", 0)
    assert heard == {"C1", "U1"}
    assert await other.changed("T1", upto) == (frozenset(), upto)
    await one.tell("T1", ("C1",))
    assert (await other.changed("T1", upto))[0] == {"C1"}
    assert (await other.changed("T1", 0))[0] == {"C1", "U1"}


async def test_old_news_goes_and_its_numbers_are_never_used_again(database: Database, clock: FakeClock) -> None:
    one, other = RoomNewsStore(database, clock), RoomNewsStore(database, clock)
    await one.tell("T1", ("C1", "C2"))
    await clock.advance(3_601)
    await one.tell("T1", ("C3",))
    assert look(database.path, "SELECT seq, subject FROM room_news") == [(3, "C3")]
    assert await other.changed("T1", 2) == (frozenset({"C3"}), 3)
    assert (await one.changed("T1", 0))[0] == frozenset(), "its own news is none"
