"""What a soul thinks about at the end of a visit: once for each, only what no thought has seen, for a day at most."""

import asyncio

import pytest
from msgspec.structs import replace

from daemon.core.initiative import NEVER_QUIET
from daemon.core.perception import ConversationKey
from daemon.core.tempo import LASTS_MS
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.visits import VisitNote
from daemon.memory.queues.awakenings import Awakenings
from daemon.memory.queues.ended_visits import EndedVisits, SessionAnswered, note_end_of_visit, note_tick
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.ticks import Ticks
from daemon.memory.records import Speaks, Turn
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, effect, new_message
from tests.store.parts import WORKER, Stores
from tests.store.thinking import Thinker, members

TICKS = "SELECT conversation, kind, due_ms FROM ticks"
LOOKS = "closes_the_visit"


async def visited(stores: Stores, number: int) -> ConversationKey:
    """A visit in a direct message whose words no thought has seen."""
    where = ConversationKey(SOUL, TEAM, f"D{number}")
    await stores.inbox.accept(new_message(f"{number}.000001", "is it through?", conversation=where))
    done = effect(await stores.claim())
    await stores.commits.commit(replace(done, visit_note=VisitNote("Ada", opens=True, visit=1)))
    return where


async def woken(database: Database, clock: FakeClock, stores: Stores) -> bool:
    return await Ticks(database, clock, WORKER, stores.conversations).claim_next(NEVER_QUIET) is not None


async def test_many_visits_that_end_at_once_are_each_noted_once_by_two_daemons(stores: Stores) -> None:
    for number in range(1, 31):
        await visited(stores, number)
    other = replace(WORKER, id="worker-2")
    sweeps = [EndedVisits(stores.database, stores.clock, one).sweep(0, LOOKS, wakes=True) for one in (WORKER, other)]
    await asyncio.gather(*sweeps)
    rows = await stores.database.rows(TICKS)
    assert len(rows) == len({row["conversation"] for row in rows}) == 30
    assert {row["kind"] for row in rows} == {"visit_end"}
    await EndedVisits(stores.database, stores.clock, WORKER).sweep(0, LOOKS, wakes=True)
    assert len(await stores.database.rows(TICKS)) == 30


async def test_a_visit_ends_with_its_tick_or_not_at_all(database: Database, stores: Stores, clock: FakeClock) -> None:
    await visited(stores, 1)
    await database.run("CREATE TRIGGER dies BEFORE INSERT ON ticks BEGIN SELECT RAISE(ABORT, 'killed'); END")
    with pytest.raises(sqlite3.IntegrityError):
        await EndedVisits(database, clock, WORKER).sweep(0, LOOKS, wakes=True)
    states = await database.rows("SELECT state FROM episodes")
    assert [row["state"] for row in states] == ["open"]
    await database.run("DROP TRIGGER dies")
    assert await EndedVisits(database, clock, WORKER).sweep(0, LOOKS)
    assert await database.rows(TICKS) == [], "a soul that doesn't think by itself notes none"
    await visited(stores, 2)
    await EndedVisits(database, clock, WORKER).sweep(0, LOOKS, wakes=True)
    assert len(await database.rows(TICKS)) == 1


async def ended(database: Database, clock: FakeClock, where: ConversationKey) -> int:
    async def unit(transaction: Transaction) -> None:
        await note_end_of_visit(transaction, where, clock.now_ms())

    await database.write(unit)
    return len(await database.rows(f"{TICKS} WHERE due_ms IS NOT NULL"))


async def test_what_a_thought_has_seen_is_not_noted_and_what_came_aside_since_is(stores: Stores) -> None:
    await Thinker(stores).thinks("hello", DM, members("dm:D1"))
    assert await ended(stores.database, stores.clock, DM) == 0
    aside = """
        UPDATE inbox SET state = 'ignored', aside = 1, reason = 'people talk to each other', author = :author
        WHERE ts = '2.000001'
        """
    await stores.inbox.accept(new_message("2.000001", "Ben, the blue one?", author="U1"))
    await stores.database.run(aside, author="U9")
    assert await ended(stores.database, stores.clock, DM) == 0, "who never spoke to the soul there wakes it by nothing"
    await stores.database.run(aside, author="U1")
    assert await ended(stores.database, stores.clock, DM) == 1
    where = await visited(stores, 3)
    await stores.database.run("UPDATE turns SET passing = 1")
    assert await ended(stores.database, stores.clock, where) == 1, "words that are not to be remembered wake no thought"


async def test_a_day_later_the_end_of_a_visit_is_thought_about_no_more(stores: Stores, clock: FakeClock) -> None:
    where = await visited(stores, 1)
    assert await ended(stores.database, clock, where) == 1
    await clock.advance(LASTS_MS / 1000 + 1)
    assert not await woken(stores.database, clock, stores)
    assert await stores.database.rows(f"{TICKS} WHERE due_ms IS NOT NULL") == []
    assert await stores.database.rows("SELECT 1 FROM tick_counts") == []
    assert await ended(stores.database, clock, where) == 1
    assert await woken(stores.database, clock, stores)


async def test_a_decision_that_a_thought_has_perceived_wakes_none(stores: Stores, clock: FakeClock) -> None:
    await visited(stores, 1)

    async def unit(transaction: Transaction) -> None:
        await note_tick(transaction, ConversationKey(SOUL, TEAM, "D1"), "result", clock.now_ms())

    await stores.database.write(unit)
    assert not await woken(stores.database, clock, stores)


async def test_an_answer_of_a_session_wakes_one_thought_unless_one_has_seen_it(stores: Stores) -> None:
    where = await visited(stores, 1)
    asker = Asker("U1", where, members("dm:D1").audience, "1.000001")

    async def note(transaction: Transaction) -> None:
        await SessionAnswered().perform(transaction, asker, stores.clock.now_ms())

    await stores.database.write(note)
    assert not await woken(stores.database, stores.clock, stores), "there is no answer by now"
    await stores.inbox.accept(new_message("2.000001", "is it?", conversation=where))
    said = Turn(Speaks.SESSION, "session.1", "Ada's session", "2.000001", "It is 42.")
    await stores.commits.commit(replace(effect(await stores.claim()), turns=(said,)))
    await stores.database.write(note)
    claim = await Ticks(stores.database, stores.clock, WORKER, stores.conversations).claim_next(NEVER_QUIET)
    assert claim is not None
    await stores.commits.commit(effect(claim))
    await stores.database.write(note)
    await Thinker(stores, 2).thinks("and now?", where, members("dm:D1"))
    assert not await woken(stores.database, stores.clock, stores), "the thought that answered has seen it"


async def test_what_surprised_it_days_ago_wakes_nothing_once_it_thinks_by_itself(stores: Stores) -> None:
    await Thinker(stores, 1).thinks("hello", DM, members("dm:D1"))
    for ago_ms, wakes in ((200 * LASTS_MS, False), (LASTS_MS, False), (LASTS_MS - 1, True)):
        await stores.database.run(
            """
            INSERT INTO predictions (soul, id, workspace, conversation, audience, readers, thought, confidence, kind,
                                     goal, made_ms, due_ms, state, scored_by, surprise, scored_ms, what, timeframe,
                                     awaited)
            SELECT soul, :id, workspace, conversation, audience, '{}', id, 0.9, 'reply', '', :then, :then, 'miss',
                   'rule', 0.9, :then, 'they answer', '', '{"kind":"reply"}' FROM thoughts
            """,
            id=f"P{ago_ms}",
            then=stores.clock.now_ms() - ago_ms,
        )
        assert await woken(stores.database, stores.clock, stores) is wakes, ago_ms
        assert {row["woken"] for row in await stores.database.rows("SELECT woken FROM predictions")} == {1}


async def test_of_two_daemons_that_start_at_the_same_moment_one_begins_its_first_thought(stores: Stores) -> None:
    both = [Awakenings(stores.database, stores.clock, one) for one in (WORKER, replace(WORKER, id="worker-2"))]
    assert sorted(await asyncio.gather(*(one.begin() for one in both))) == [False, True]
    assert [row["kind"] for row in await stores.database.rows(TICKS)] == ["awakening"]
    assert await woken(stores.database, stores.clock, stores)
    assert not await woken(stores.database, stores.clock, stores)
