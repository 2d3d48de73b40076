"""Each slot of an intention fires exactly once: with a second daemon, after a kill, and when the clock jumps."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.timetable import FARTHEST_MS, MINUTE_MS
from daemon.memory.database import Database, open_database
from daemon.memory.queues import intention_rows
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import IDLE, Intentions, cancel_intentions
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.records import Worker
from tests import template
from tests.fakes import FakeClock
from tests.given import CHANNEL, DM, LEASE, SOUL, TEAM, new_message, thread
from tests.store.parts import Stores, intend, later, look, poke

WORKER = Worker("worker-1", SOUL, TEAM, int(LEASE * 1000))
HOUR_MS = 60 * MINUTE_MS


@pytest.fixture
def intentions(database: Database, clock: FakeClock) -> Intentions:
    return Intentions(database, clock, WORKER)


@pytest.fixture
def second(others: Stores, clock: FakeClock) -> Intentions:
    return Intentions(others.database, clock, Worker("worker-2", SOUL, TEAM, int(LEASE * 1000)))


def waiting(path: Path) -> list[tuple[object, ...]]:
    return look(path, "SELECT slot, due_ms FROM intentions WHERE state = 'waiting' ORDER BY due_ms")


async def test_a_due_intention_goes_into_the_inbox_as_a_time_event(stores: Stores, intentions: Intentions) -> None:
    assert await intentions.next_due_ms() is None
    assert await intend(stores.database, stores.clock, later(stores.clock)) == ()
    (one,) = await intentions.waiting(DM)
    assert (one.slot, one.params, one.fired) == ("look", {"why": "asked"}, 0)
    assert await intentions.next_due_ms() == one.due_ms
    assert await intentions.fall_due() == 0
    await stores.clock.advance(660)
    assert await intentions.fall_due() == 1
    due = f"{one.due_ms // 1000}.{one.due_ms % 1000:03d}000"
    assert look(
        stores.path,
        "SELECT id, ts, conversation, author, place, audience, body, source, state, modality, process, received_ms,"
        " envelope FROM inbox",
    ) == [
        (f"ada/T1/D1/due:{one.id}:1", due, str(DM), "U1", "dm", "dm:D1", "the build", "live", "new", "time", "ready",
         stores.clock.now_ms(), "{}"),
    ]  # fmt: skip
    assert json.loads(str(look(stores.path, "SELECT params FROM inbox")[0][0])) == {"why": "asked"}
    assert look(stores.path, "SELECT state, fired, settled_ms FROM intentions") == [("due", 1, stores.clock.now_ms())]
    assert await intentions.fall_due() == 0
    assert await intentions.next_due_ms() is None
    assert await intentions.waiting(DM) == ()


async def test_intentions_of_other_souls_and_workspaces_are_left_alone_and_one_without_a_process_visits_none(
    database: Database, clock: FakeClock, intentions: Intentions, path: Path
) -> None:
    await intend(database, clock, later(clock, minutes=0), key=ConversationKey("bo", TEAM, "D1"))
    await intend(database, clock, later(clock, minutes=0), key=ConversationKey(SOUL, "T2", "D1"))
    assert await intentions.fall_due() == 0
    assert await intentions.next_due_ms() is None
    await intend(database, clock, NewIntention(slot="s", due_ms=clock.now_ms(), behalf="U1"))
    assert await intentions.fall_due() == 1
    assert look(path, "SELECT process FROM inbox") == [(None,)]


async def test_intentions_are_replaced_by_slot_and_cancelled_by_slot_or_id_within_their_conversation(
    database: Database, clock: FakeClock, intentions: Intentions, path: Path
) -> None:
    elsewhere = ConversationKey(SOUL, TEAM, "D2")
    await intend(database, clock, later(clock, "one", 5), later(clock, "one", 9), later(clock, "two", 7))
    assert [slot for slot, _ in waiting(path)] == ["two", "one"]
    ended = "SELECT state, reason FROM intentions WHERE state <> 'waiting'"
    assert look(path, ended) == [("cancelled", "replaced by a newer one")]
    await intend(database, clock, later(clock, "three", 11))
    listed = await intentions.waiting(DM)
    assert [one.slot for one in listed] == ["two", "one", "three"]
    name = {one.slot: one.id for one in listed}["two"]

    async def cancel(key: ConversationKey, *names: str) -> int:
        return await database.write(lambda it: cancel_intentions(it, key, names, clock.now_ms()))

    assert await cancel(elsewhere, "one", name) == 0
    assert await cancel(DM, "one", name, "unheard of") == 2
    assert await cancel(DM, "one") == 0
    assert [slot for slot, _ in waiting(path)] == ["three"]


async def test_the_cap_refuses_further_intentions_with_a_reason(database: Database, clock: FakeClock) -> None:
    elsewhere = ConversationKey(SOUL, TEAM, "D2")
    assert await intend(database, clock, later(clock, "a"), later(clock, "b"), most=2) == ()
    (refused,) = await intend(database, clock, later(clock, "c"), key=elsewhere, most=2)
    assert refused == "c: 2 intentions are scheduled already, and no more than 2 may be"
    assert await intend(database, clock, later(clock, "b", 3), most=2) == ()  # it replaces one that counts already
    assert (
        await intend(database, clock, later(clock, IDLE), key=elsewhere, most=2) == ()
    )  # the daemon's own look does not count
    assert await intend(database, clock, later(clock, "c"), key=ConversationKey(SOUL, "T2", "D2"), most=2) == ()
    assert len(waiting(database.path)) == 4


async def test_a_refused_intention_leaves_its_slot_unchanged(database: Database, clock: FakeClock, path: Path) -> None:
    await intend(database, clock, later(clock))
    before = waiting(path)
    for minutes, every, reason in (
        (FARTHEST_MS / MINUTE_MS + 1, "", "more than a year ahead"),
        (0, "*/10 * * * *", "less than 15 minutes apart"),
        (0, "0 0 30 2 *", "has no slot"),
        (0, "now and then", "is no crontab"),
    ):
        (refused,) = await intend(database, clock, later(clock, minutes=minutes, every=every))
        assert refused.startswith("look: ")
        assert reason in refused
        assert waiting(path) == before, reason


async def test_a_recurring_intention_skips_missed_slots_and_ends_with_its_last_one(
    database: Database, clock: FakeClock, intentions: Intentions, path: Path
) -> None:
    await intend(database, clock, later(clock, minutes=0, every="0 * * * *"))
    ((_, first),) = waiting(path)
    assert datetime.fromtimestamp(int(str(first)) / 1000, UTC).minute == 0
    await clock.advance(5.5 * 3600)
    assert await intentions.fall_due() == 1
    assert await intentions.fall_due() == 0
    ((_, following),) = waiting(path)
    assert clock.now_ms() < int(str(following)) <= clock.now_ms() + HOUR_MS
    assert look(path, "SELECT fired FROM intentions") == [(1,)]
    poke(path, "UPDATE intentions SET every = '0 0 29 2 *'")
    await clock.advance(3600)
    assert await intentions.fall_due() == 1
    assert look(path, "SELECT count(DISTINCT ts) FROM inbox") == [(2,)]
    assert look(path, "SELECT state FROM intentions") == [("due",)]


async def test_a_new_message_cancels_the_look_after_a_silence(stores: Stores, intentions: Intentions) -> None:
    await intend(stores.database, stores.clock, later(stores.clock, IDLE, 1), later(stores.clock, "promise", 1))
    await stores.inbox.accept(new_message())
    await stores.clock.advance(120)
    assert await intentions.fall_due() == 1
    assert look(stores.path, "SELECT slot, state, reason FROM intentions ORDER BY slot") == [
        (IDLE, "cancelled", "a message came first"),
        ("promise", "due", ""),
    ]
    poke(stores.path, "UPDATE inbox SET state = 'answered'")
    await intend(stores.database, stores.clock, later(stores.clock, IDLE, 0))
    assert await intentions.waiting(DM) == ()  # the daemon's own look is not listed
    assert await intentions.fall_due() == 1


async def test_one_user_gets_a_tenth_of_the_book(database: Database, clock: FakeClock, intentions: Intentions) -> None:
    wanted = [later(clock, f"slot-{one}") for one in range(30)]
    refused = await intend(database, clock, *wanted, shared_out=True)
    assert len(refused) == 20
    assert "10 of this user" in refused[0]
    assert not await intentions.has_room(100, "U1")
    assert await intentions.has_room(100, "U2", planned=9)
    assert not await intentions.has_room(100, "U2", planned=10)
    assert await intend(database, clock, replace(later(clock, "another"), behalf="U2"), shared_out=True) == ()
    assert await intend(database, clock, later(clock, "by the admin"), shared_out=False) == ()


async def test_two_daemons_at_once_fire_each_slot_once(
    database: Database, clock: FakeClock, intentions: Intentions, second: Intentions, path: Path
) -> None:
    number = 150  # more than one transaction can move
    await intend(database, clock, *(later(clock, f"slot-{one}", 0) for one in range(number)), most=number)
    runs: list[int] = []

    async def look_for(worker: Intentions) -> None:
        while moved := await worker.fall_due():
            runs.append(moved)

    async with asyncio.TaskGroup() as group:
        for worker in (intentions, second, intentions, second):
            group.create_task(look_for(worker))
    assert sum(runs) == number
    assert look(path, "SELECT count(*) FROM inbox") == [(number,)]
    print(f"slots={number} runs={sum(runs)}")


async def test_what_is_cut_off_in_its_transaction_neither_repeats_nor_loses_a_slot(
    database: Database, clock: FakeClock, intentions: Intentions, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await intend(database, clock, later(clock, minutes=0))

    async def stored_and_cut_off(*args: Any, **more: Any) -> None:  # noqa: ANN401  # as they are
        await store_internal_event(*args, **more)
        raise KeyError("cut off")

    with monkeypatch.context() as cut_off:
        cut_off.setattr(intention_rows, "store_internal_event", stored_and_cut_off)
        with pytest.raises(KeyError):
            await intentions.fall_due()
    assert look(path, "SELECT count(*) FROM inbox") == [(0,)]
    assert [await intentions.fall_due(), await intentions.fall_due()] == [1, 0]
    assert look(path, "SELECT count(*), max(fired) FROM inbox, intentions") == [(1, 1)]


@settings(max_examples=8, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.integers(-180, 240)), max_size=12))
def test_no_slot_is_fired_twice_when_the_clock_jumps(steps: list[tuple[int, int]]) -> None:
    async def live(path: Path) -> None:
        clock = FakeClock(auto=True)
        async with open_database(path, clock) as database, open_database(path, clock) as another:
            workers = [Intentions(one, clock, WORKER) for one in (database, another)]
            await intend(database, clock, later(clock, minutes=0, every="*/30 * * * *"), later(clock, "once", 45))
            fired = 0
            for worker, minutes in steps:
                clock.set_back(-60 * minutes)
                if worker == 2:
                    async with asyncio.TaskGroup() as group:
                        tasks = [group.create_task(one.fall_due()) for one in workers]
                    fired += sum(task.result() for task in tasks)
                else:
                    fired += await workers[worker].fall_due()
        slots = look(path, "SELECT ts FROM inbox WHERE id NOT LIKE '%due:' || (SELECT id FROM intentions"
                     " WHERE slot = 'once') || ':%'")  # fmt: skip
        assert len(slots) == len(set(slots))
        assert look(path, "SELECT count(*) FROM inbox") == [(fired,)]
        assert look(path, "SELECT fired <= 1 FROM intentions WHERE slot = 'once'") == [(1,)]

    with template.folder() as folder:
        path = Path(folder) / "memory.db"
        asyncio.run(live(path))


async def test_a_silence_is_believed_only_once_all_was_heard(
    database: Database, clock: FakeClock, intentions: Intentions, path: Path
) -> None:
    await intend(database, clock, replace(later(clock), cue="silence"))
    await clock.advance(660)
    begun_now = Intentions(database, clock, WORKER)
    assert await begun_now.fall_due() == 0
    unread = "INSERT INTO unread_places (soul, workspace, channel, thread, state, since, heard_ms, due_ms)"
    poke(path, f"{unread} VALUES (?, ?, 'D1', '', 'due', '1.0', 0, 0)", SOUL, TEAM)
    await clock.advance(70)
    assert await begun_now.fall_due() == 0
    poke(path, "UPDATE unread_places SET state = 'read'")
    await clock.advance(70)
    assert await begun_now.fall_due() == 1
    assert await begun_now.fall_due() == 0
    [(params,)] = look(path, "SELECT params FROM inbox WHERE modality = 'time'")
    assert json.loads(str(params))["cue"] == "silence"


async def test_later_words_of_another_person_cancel_what_waits_for_an_answer(stores: Stores, clock: FakeClock) -> None:
    room, readers = thread("100.0"), Audience(AudienceKind.CHANNEL, CHANNEL)
    asked = replace(later(clock), cue="silence", covers_to="100.0")
    await intend(stores.database, clock, asked, key=room)
    state = "SELECT state, reason FROM intentions"
    for ts, author in (("101.0", "U1"), ("99.0", "U2")):
        await stores.inbox.accept(new_message(ts, "hello", author=author, conversation=room, audience=readers))
        assert look(stores.path, state) == [("waiting", "")]
    await stores.inbox.accept(new_message("102.0", "hello", author="U2", conversation=room, audience=readers))
    assert look(stores.path, state) == [("cancelled", "answered")]
    await intend(stores.database, clock, asked, key=room)
    assert look(stores.path, state) == [("cancelled", "answered")] * 2, "it came while the reply was made"
    await intend(stores.database, clock, replace(asked, covers_to="102.0"), key=room)
    assert look(stores.path, f"{state} WHERE state = 'waiting'") == [("waiting", "")]
