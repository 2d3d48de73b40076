"""What repeats for a person is due once at the same local time wherever they live, and is theirs alone."""

import asyncio
import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.perception import Audience, AudienceKind, Place
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.user_models import Zones
from daemon.memory.queues.intention_rows import Intention, NewIntention
from daemon.memory.queues.intentions import Intentions
from daemon.memory.queues.memory_acts import Asker, MemoryAct
from daemon.memory.queues.own_reminders import (
    DigestPosted,
    OwnThings,
    ReminderCancelled,
    ReminderMoved,
    ReminderPaused,
    ReminderResumed,
    ReminderSet,
)
from daemon.memory.records import Worker
from tests import template
from tests.fakes import FakeClock
from tests.given import DM, HERE, LEASE, SOUL, TEAM
from tests.store.parts import Stores, intend, look

WORKER = Worker("worker-1", SOUL, TEAM, int(LEASE * 1000))
DAY_S = 24 * 3_600.0


@pytest.fixture
def intentions(database: Database, clock: FakeClock) -> Intentions:
    return Intentions(database, clock, WORKER)


@pytest.fixture
def own(database: Database, clock: FakeClock) -> OwnThings:
    return OwnThings(database, clock, WORKER)


@pytest.fixture
def zones(database: Database, clock: FakeClock) -> Zones:
    return Zones(database, clock, WORKER)


def daily(slot: str = "reminder-1", *, zone: str = "Europe/Berlin", behalf: str = "U1") -> NewIntention:
    return NewIntention(slot=slot, content="stand-up", every="daily 09:00", zone=zone, behalf=behalf)


def local(intention: Intention, zone: str) -> str:
    return f"{dt.datetime.fromtimestamp(intention.due_ms / 1000, ZoneInfo(zone)):%H:%M}"


async def act(database: Database, clock: FakeClock, done: MemoryAct, person: str = "U1") -> None:
    asker = Asker(person, DM, HERE, "1.0")
    await database.write(lambda transaction: done.perform(transaction, asker, clock.now_ms()))


async def test_nine_stays_nine_all_year_round(stores: Stores, intentions: Intentions, own: OwnThings) -> None:
    await intend(stores.database, stores.clock, daily())
    for _ in range(366):
        (one,) = await own.reminders("U1")
        assert local(one, "Europe/Berlin") == "09:00"
        await stores.clock.advance((one.due_ms - stores.clock.now_ms()) / 1000)
        assert await intentions.fall_due() == 1
        assert await intentions.fall_due() == 0
    assert look(stores.path, "SELECT count(DISTINCT date(CAST(ts AS INTEGER), 'unixepoch')), count(*) FROM inbox") == [
        (366, 366)
    ]


async def test_who_moves_is_reminded_at_the_local_time_of_where_they_live(
    database: Database, clock: FakeClock, own: OwnThings, zones: Zones, intentions: Intentions
) -> None:
    await intend(database, clock, daily())
    for zone in ("Asia/Tokyo", "America/New_York", "Europe/Berlin"):
        await zones.keep({"U1": zone, "U2": "Asia/Kathmandu"})
        (one,) = await own.reminders("U1")
        assert (local(one, zone), one.zone) == ("09:00", zone)
        assert await zones.zone_of("U1") == zone
    await zones.keep({"U1": "Asia/Tokyo"})
    (one,) = await own.reminders("U1")
    await clock.advance((one.due_ms - clock.now_ms()) / 1000)
    assert await intentions.fall_due() == 1
    await zones.keep({"U1": "America/New_York"})  # where it is the day before
    (following,) = await own.reminders("U1")
    assert local(following, "America/New_York") == "09:00"
    assert following.due_ms - one.due_ms > DAY_S * 1000, "not twice for one day"
    await clock.advance((following.due_ms - clock.now_ms()) / 1000 + 1)
    await zones.keep({"U1": "Asia/Tokyo"})
    assert await intentions.fall_due() == 1, "what is overdue while its person moves still comes"
    (following,) = await own.reminders("U1")
    assert (local(following, "Asia/Tokyo"), following.zone) == ("09:00", "Asia/Tokyo")


async def test_days_of_absence_count_as_one(stores: Stores, intentions: Intentions, own: OwnThings, path: Path) -> None:
    await intend(stores.database, stores.clock, daily())
    await stores.clock.advance(30 * DAY_S)
    assert await intentions.fall_due() == 1
    (one,) = await own.reminders("U1")
    assert (local(one, "Europe/Berlin"), one.due_ms > stores.clock.now_ms()) == ("09:00", True)
    assert look(path, "SELECT count(*) FROM inbox") == [(1,)]


async def test_each_has_own_numbers_and_none_twice(database: Database, clock: FakeClock, own: OwnThings) -> None:
    await intend(database, clock, daily("reminder-1"), daily("reminder-2"), daily("reminder-3", behalf="U2"))
    assert [one.number for one in await own.reminders("U1")] == [1, 2]
    assert [one.number for one in await own.reminders("U2")] == [1]
    (_, second) = await own.reminders("U1")
    await act(database, clock, ReminderCancelled(second.id))
    await intend(database, clock, daily("reminder-4"))
    assert [one.number for one in await own.reminders("U1")] == [1, 3]


async def test_the_reminders_of_another_stay_as_they_are(database: Database, clock: FakeClock, own: OwnThings) -> None:
    await intend(database, clock, daily())
    (before,) = await own.reminders("U1")
    for done in (
        ReminderCancelled(before.id),
        ReminderMoved(before.id, clock.now_ms() + 1, "", "UTC"),
        ReminderPaused(before.id, "archived"),
        DigestPosted(before.id, "9"),
    ):
        await act(database, clock, done, person="U2")
        assert await own.reminders("U1") == (before,)
    for posted in ("1772355600.000100", "1772355600.000300", "1772355600.000200"):
        await act(database, clock, DigestPosted(before.id, posted))
    assert (await own.reminders("U1"))[0].covers_to == "1772355600.000300", "a digest never goes back"


async def test_one_is_moved_paused_and_resumed(
    database: Database, clock: FakeClock, own: OwnThings, intentions: Intentions
) -> None:
    await intend(database, clock, daily())
    (one,) = await own.reminders("U1")
    await act(database, clock, ReminderMoved(one.id, one.due_ms + 1_800_000, "daily 09:30", "Europe/Berlin"))
    (one,) = await own.reminders("U1")
    assert (local(one, "Europe/Berlin"), one.every) == ("09:30", "daily 09:30")
    await act(database, clock, ReminderPaused(one.id, "archived"))
    await clock.advance(3 * DAY_S)
    assert await intentions.next_due_ms() is None
    assert await intentions.fall_due() == 0
    await act(database, clock, ReminderResumed(one.id, "Europe/Berlin"))
    (again,) = await own.reminders("U1")
    assert (local(again, "Europe/Berlin"), again.paused, again.due_ms > clock.now_ms()) == ("09:30", "", True)
    await act(database, clock, ReminderResumed(one.id, "Europe/Berlin"))
    assert await own.reminders("U1") == (again,)


async def test_one_for_another_room_waits_there_and_keeps_to_the_share(
    database: Database, clock: FakeClock, own: OwnThings, intentions: Intentions
) -> None:
    await intend(database, clock)
    there = Audience(AudienceKind.WORKSPACE, TEAM)
    for number in range(7):
        new = daily(f"reminder-{number}")
        await act(database, clock, ReminderSet(new, "C1", Place.PUBLIC_CHANNEL, there, 50))
    waiting = await own.reminders("U1")
    assert {(one.conversation, one.place, one.audience) for one in waiting} == {
        (f"{SOUL}/{TEAM}/C1/", "public_channel", str(there))
    }
    assert len(waiting) == 5, "a tenth of what the soul may have"
    assert await own.due(waiting[0].id) == waiting[0]
    assert await own.due("gone") is None


@settings(max_examples=6, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(("Europe/Berlin", "Asia/Tokyo", "America/New_York", "Pacific/Apia")),
            st.integers(1, 40),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_moves_restarts_and_pauses_never_double_a_day(steps: list[tuple[str, int, bool]]) -> None:
    async def live(path: Path) -> None:
        clock = FakeClock(auto=True)
        async with open_database(path, clock) as database, open_database(path, clock) as another:
            await intend(database, clock, daily())
            for zone, hours, second in steps:
                of = another if second else database
                await Zones(of, clock, WORKER).keep({"U1": zone})
                await clock.advance(hours * 3_600.0)
                await Intentions(of, clock, WORKER).fall_due()
                (day,) = await database.rows("SELECT fired_day, due_ms, zone FROM intentions")
                rule_hour = dt.datetime.fromtimestamp(day["due_ms"] / 1000, ZoneInfo(day["zone"]))
                assert (rule_hour.hour, rule_hour.minute) == (9, 0)
                assert str(rule_hour.date()) > day["fired_day"]
            fired = await database.rows("SELECT count(*) AS n, count(DISTINCT id) AS ids FROM inbox")
            assert fired[0]["n"] == fired[0]["ids"]

    with template.folder() as folder:
        asyncio.run(live(Path(folder) / "memory.db"))
