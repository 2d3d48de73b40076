"""What calls cost is reserved and settled: no cap is passed, and no cent is counted twice or lost."""

import dataclasses
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.ports.services import LLMCall
from daemon.core.spending import Caps, PaidBy, Payer, TickBudget, day_at, nano_of, nano_of_cap
from daemon.memory.database import Database, open_database
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.queues.presence import Presence
from daemon.memory.records import Worker
from daemon.memory.spending.reservations import (
    FORGOTTEN_MS,
    BudgetReached,
    CapReached,
    Reservations,
    Settlements,
    WantedCall,
    limits_for,
    store_calls,
)
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM, call
from tests.store.parts import Stores, look

TODAY, PAYER = "2026-07-06", Payer(SOUL, TEAM, "U1", "C1")
SPENT = "SELECT paid_by, id, nano FROM spending ORDER BY paid_by, id"


def reservations(database: Database, clock: FakeClock, name: str = "worker-1") -> Reservations:
    return Reservations(database, clock, Worker(name, SOUL, TEAM, 60_000))


def wanted(id_: str, nano: int, *, payer: Payer = PAYER, **limits: int) -> WantedCall:
    """A call that can cost so much, under these caps in nano-dollars."""
    given = {PaidBy(name): limit for name, limit in limits.items()}
    return WantedCall(id_, payer, TODAY, nano, limits_for(payer, given), "t1", "persona", "respond", "a/model")


def ended(id_: str, usd: float | None, payer: Payer = PAYER) -> LLMCall:
    return dataclasses.replace(call(), reservation=id_, cost_usd=usd, payer=payer, day=TODAY)


def nothing() -> Settlements:
    return Settlements()


@pytest.fixture
async def till(database: Database, clock: FakeClock) -> Reservations:
    return reservations(database, clock)


@pytest.fixture
async def other(path: Path, clock: FakeClock, database: Database) -> AsyncIterator[Reservations]:
    async with open_database(path, clock) as opened:
        yield reservations(opened, clock, "worker-2")


async def test_what_others_reserved_counts_until_settled(till: Reservations, other: Reservations, path: Path) -> None:
    for name in PaidBy:
        payer = Payer(f"soul {name}", TEAM, f"U {name}", f"C {name}")

        def call_of(id_: str, nano: int, name: str = name, payer: Payer = payer) -> WantedCall:
            return wanted(f"{id_} {name}", nano, payer=payer, **{name: 100})

        assert await till.reserve(call_of("a", 60), nothing()) is None
        assert await other.reserve(call_of("b", 60), nothing()) == CapReached(name, may_fit=True)
        await till.settle(Settlements(calls=[ended(f"a {name}", 40e-9, payer)]))
        assert await other.reserve(call_of("c", 60), nothing()) is None
        assert await till.reserve(call_of("d", 61), nothing()) == CapReached(name, may_fit=False)
        spent = [("person", f"U {name}", 40), ("room", f"C {name}", 40), ("soul", f"soul {name}", 40)]
        assert [row for row in look(path, SPENT) if str(row[1]).endswith(name)] == spent
    assert look(path, "SELECT id FROM reservations ORDER BY id") == [(f"c {name}",) for name in sorted(PaidBy)]


async def test_a_cap_of_zero_lets_nothing_pass_and_concerns_no_others_nor_other_workspaces(till: Reservations) -> None:
    for name in PaidBy:
        payer, stranger = (Payer(f"{who}-{name}", TEAM, f"U-{who}-{name}", f"C-{who}-{name}") for who in "ab")
        call_of = wanted(f"a-{name}", 1, payer=payer)
        met = await till.reserve(replace(call_of, limits={name: 0}), nothing())
        assert met == CapReached(name, may_fit=False)
        theirs = wanted(f"b-{name}", 1, payer=stranger)
        assert await till.reserve(replace(theirs, limits={name: 1}), nothing()) is None, name
        assert await till.reserve(replace(call_of, limits={name: 1}), nothing()) is None, name
    there = replace(PAYER, soul="other", workspace="T2")
    assert await till.reserve(wanted("a", 5, person=5, room=5), nothing()) is None
    assert await till.reserve(wanted("b", 5, payer=there, person=5, room=5), nothing()) is None
    assert await till.reserve(wanted("c", 1, payer=there, person=5), nothing()) is not None


async def test_a_call_is_settled_once_or_costs_nothing(till: Reservations, database: Database, path: Path) -> None:
    await till.reserve(wanted("a", 9), nothing())
    await till.reserve(wanted("b", 9), nothing())
    for _ in range(2):
        await till.settle(Settlements([ended("a", 5e-9)], ["b"]))
    assert look(path, "SELECT outcome, cost_usd, day FROM llm_calls") == [("ok", 5e-9, TODAY)]
    assert look(path, "SELECT count(*) FROM reservations") == [(0,)]
    again = ended("a", 5e-9)
    await database.write(
        lambda transaction: store_calls(transaction, (again, dataclasses.replace(again, reservation="")))
    )
    assert look(path, "SELECT count(*) FROM llm_calls") == [(2,)]
    assert ("soul", SOUL, 10) in look(path, SPENT)


async def test_what_dead_daemons_had_reserved_counts_as_spent(database: Database, clock: FakeClock, path: Path) -> None:
    presence = Presence(database, clock, soul=SOUL, workspace=TEAM, kind="slack", version="0", lease=60)
    theirs, ours = reservations(database, clock, "1-of-the-dead"), reservations(database, clock, database.processes.own)
    await theirs.reserve(wanted("a", 70), nothing())
    assert await ours.reserve(wanted("b", 40, soul=100), nothing()) == CapReached(PaidBy.SOUL, may_fit=True)
    assert await presence.release_dead_claims(0.1) == 1
    assert await ours.reserve(wanted("c", 40, soul=100), nothing()) == CapReached(PaidBy.SOUL, may_fit=False)
    assert look(path, "SELECT outcome, cost_bound, cost_usd FROM llm_calls") == [("lost", 1, 70e-9)]
    await theirs.settle(Settlements([ended("a", 1e-9)]))  # it was not dead after all, and is late
    assert look(path, "SELECT outcome FROM llm_calls") == [("lost",)]


async def test_a_reservation_that_nobody_settles_is_counted_after_an_hour(till: Reservations, stores: Stores) -> None:
    for ahead in (1, -1):
        await till.reserve(wanted(f"a{ahead}", 7), nothing())
        assert await till.settle_forgotten() == 0, ahead
        stores.clock.set_back(-ahead * (FORGOTTEN_MS / 1000 + 1))
        assert await till.settle_forgotten() == 1, ahead
    assert look(stores.path, SPENT) == [("person", "U1", 14), ("room", "C1", 14), ("soul", SOUL, 14)]


async def test_who_is_forgotten_is_in_no_row_of_the_sums(till: Reservations, database: Database, path: Path) -> None:
    await till.reserve(wanted("a", 7), nothing())
    await till.reserve(wanted("b", 8), nothing())
    await till.settle(Settlements([ended("a", 7e-9)]))
    await database.write(lambda transaction: erase(transaction, TEAM, "U1", Spared(), 1, 1))
    await till.settle(Settlements([ended("b", 8e-9)]))
    assert look(path, "SELECT DISTINCT person FROM llm_calls") == [("",)]
    assert look(path, SPENT) == [("room", "C1", 15), ("soul", SOUL, 15)]


def test_a_day_ends_at_midnight_in_its_zone() -> None:
    for now, zone, date, hours in (
        ("2026-03-28T23:30:00+00:00", "Europe/Berlin", "2026-03-29", 22.5),  # a day of 23 hours, half an hour old
        ("2026-10-24T22:00:00+00:00", "Europe/Berlin", "2026-10-25", 25),
        ("2026-07-06T23:59:59+00:00", "", "2026-07-06", 1 / 3600),
        ("2026-07-06T23:30:00+00:00", "Asia/Kolkata", "2026-07-07", 19),
        ("2026-07-06T12:00:00+00:00", "Nowhere/Land", "2026-07-06", 12),
    ):
        at = round(dt.datetime.fromisoformat(now).timestamp() * 1000)
        day = day_at(at, zone)
        assert (day.date, day.ends_ms - at) == (date, round(hours * 3_600_000)), (now, zone)


def test_costs_are_rounded_up_and_caps_down_and_a_part_is_kept_for_answers() -> None:
    assert nano_of(1.5e-9) == 2
    assert nano_of_cap(1.9e-9, background=False) == 1
    assert nano_of_cap(10.0, background=True) == 8_000_000_000
    assert Caps(5.0).with_own(2.0).soul == Caps(2.0).with_own(5.0).soul == Caps().with_own(2.0).soul == 2.0
    assert Caps(5.0, 1.0, 0.0).with_own(None).known == {PaidBy.SOUL: 5.0, PaidBy.PERSON: 1.0, PaidBy.ROOM: 0.0}


def unasked(id_: str, tokens: int, budget: TickBudget, nano: int = 0) -> WantedCall:
    return replace(wanted(id_, nano), tokens=tokens, tick=budget)


async def test_unasked_thoughts_keep_to_their_budgets_over_daemons_hours_and_deaths(
    till: Reservations, other: Reservations, path: Path, clock: FakeClock
) -> None:
    budget = TickBudget(tokens_hour=100, tokens_day=150, usd_day=100e-9)
    assert await till.reserve(unasked("a", 60, budget), nothing()) is None
    assert isinstance(await other.reserve(unasked("b", 60, budget), nothing()), BudgetReached)
    await till.settle(
        Settlements(
            calls=[dataclasses.replace(ended("a", 0.0), tokens_in=20, tokens_out=10, started_ms=clock.now_ms())]
        )
    )
    assert await other.reserve(unasked("c", 60, budget), nothing()) is None
    assert await till.reserve(wanted("words", 10, soul=100), nothing()) is None, "words have no such budget"
    await clock.sleep(2 * FORGOTTEN_MS / 1000)
    assert await till.settle_forgotten() == 2
    assert look(path, "SELECT tokens_in, outcome FROM llm_calls WHERE tick = 1 ORDER BY seq DESC LIMIT 1") == [
        (60, "lost")
    ]
    assert isinstance(await till.reserve(unasked("d", 61, budget), nothing()), BudgetReached), "the day has 60 left"
    assert isinstance(await till.reserve(unasked("e", 1, budget, nano=101), nothing()), BudgetReached)
    assert await till.reserve(unasked("f", 60, budget, nano=100), nothing()) is None
