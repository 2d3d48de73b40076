"""What calls cost is reserved and settled: no cap is passed, and no cent is counted twice or lost."""

import datetime as dt
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from daemon.core.ports.telemetry import LLMCall
from daemon.core.spending import Caps, PaidBy, Payer, TickBudget, day_at, nano_of, nano_of_cap
from daemon.memory.database import Database, open_database
from daemon.memory.queues.presence import Presence, ProcessIdentity
from daemon.memory.records import Worker
from daemon.memory.spending.forgetting import forget_payer
from daemon.memory.spending.llm_calls import store_calls
from daemon.memory.spending.reservations import (
    FORGOTTEN_MS,
    BudgetReached,
    CapReached,
    Reservations,
    Settlements,
    WantedCall,
    limits_for,
)
from tests import chance
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM, call
from tests.store.parts import Stores, look

TODAY, PAYER = "2026-07-06", Payer(SOUL, TEAM, "U1", "C1")
ADA, BEN, CLEO = "U1", "U2", ""
ROOMS = ("C1", "C2")
SPENT = "SELECT paid_by, id, nano FROM spending ORDER BY paid_by, id"


def reservations(database: Database, clock: FakeClock, name: str = "worker-1") -> Reservations:
    return Reservations(database, clock, Worker(name, SOUL, TEAM, 60_000))


def wanted(id_: str, nano: int, *, payer: Payer = PAYER, **limits: int) -> WantedCall:
    """A call that can cost so much, under these caps in nano-dollars."""
    given = {PaidBy(name): limit for name, limit in limits.items()}
    return WantedCall(id_, payer, TODAY, nano, limits_for(payer, given), "t1", "persona", "respond", "a/model")


def ended(id_: str, usd: float | None, payer: Payer = PAYER) -> LLMCall:
    return replace(call(), reservation=id_, cost_usd=usd, payer=payer, day=TODAY)


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
    assert await till.reserve(wanted("a", 60, soul=100), nothing()) is None
    assert await other.reserve(wanted("b", 60, soul=100), nothing()) == CapReached(PaidBy.SOUL, may_fit=True)
    await till.settle(Settlements(calls=[ended("a", 40e-9)]))
    assert await other.reserve(wanted("c", 60, soul=100), nothing()) is None
    assert await till.reserve(wanted("d", 61, soul=100), nothing()) == CapReached(PaidBy.SOUL, may_fit=False)
    assert look(path, SPENT) == [("person", "U1", 40), ("room", "C1", 40), ("soul", SOUL, 40)]
    assert look(path, "SELECT id FROM reservations") == [("c",)]


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


async def test_a_call_is_settled_once_and_one_that_was_never_made_costs_nothing(
    till: Reservations, database: Database, path: Path
) -> None:
    await till.reserve(wanted("a", 9), nothing())
    await till.reserve(wanted("b", 9), nothing())
    for _ in range(2):
        await till.settle(Settlements([ended("a", 5e-9)], ["b"]))
    assert look(path, "SELECT outcome, cost_usd, day FROM llm_calls") == [("ok", 5e-9, TODAY)]
    assert look(path, "SELECT count(*) FROM reservations") == [(0,)]
    again = ended("a", 5e-9)
    await database.write(lambda transaction: store_calls(transaction, (again, replace(again, reservation=""))))
    assert look(path, "SELECT count(*) FROM llm_calls") == [(2,)]
    assert ("soul", SOUL, 10) in look(path, SPENT)


async def test_what_dead_daemons_had_reserved_counts_as_spent(database: Database, clock: FakeClock, path: Path) -> None:
    presence = Presence(database, clock, soul=SOUL, workspace=TEAM, kind="slack", version="0", lease=60)
    earlier = replace(ProcessIdentity.current(), start="1")  # a process that had our pid
    theirs, ours = reservations(database, clock, str(earlier)), reservations(database, clock)
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
    await database.write(lambda transaction: forget_payer(transaction, TEAM, "U1"))
    await till.settle(Settlements([ended("b", 8e-9)]))
    assert look(path, "SELECT DISTINCT person FROM llm_calls") == [("",)]
    assert look(path, SPENT) == [("room", "C1", 15), ("soul", SOUL, 15)]


class Reckoning:
    """What should have been counted, in plain numbers."""

    def __init__(self, dice: Random) -> None:
        self.dice, self.open = dice, dict[str, tuple[int, Payer]]()
        self.spent = Counter[tuple[str, str]]()

    def any_payer(self) -> Payer:
        return Payer(SOUL, TEAM, self.dice.choice((ADA, BEN, CLEO)), self.dice.choice(ROOMS))

    def owes(self, payer: Payer, nano: int) -> None:
        for paid_by in PaidBy:
            if id_ := payer.id_of(paid_by):
                self.spent[paid_by, id_] += nano

    def reserved(self, paid_by: PaidBy, payer: Payer) -> int:
        return sum(nano for nano, one in self.open.values() if one.id_of(paid_by) == payer.id_of(paid_by))


async def test_in_any_order_the_sums_are_true_and_no_cap_is_passed(
    till: Reservations, other: Reservations, path: Path, clock: FakeClock
) -> None:
    dice = chance.dice("spending")
    reckoning, limits = Reckoning(dice), {PaidBy.SOUL: 6_000, PaidBy.PERSON: 3_000, PaidBy.ROOM: 4_000}
    refused = 0
    for number in range(80):
        daemon, act = dice.choice((till, other)), dice.random()
        if act < 0.6 or not reckoning.open:
            payer, nano = reckoning.any_payer(), dice.randint(1, 900)
            met = await daemon.reserve(
                replace(wanted(str(number), nano, payer=payer), limits=limits_for(payer, limits)), nothing()
            )
            tight = [one for one in limits_for(payer, limits) if _fits(reckoning, payer, one) + nano > limits[one]]
            assert (met is None) == (not tight)
            if met is None:
                reckoning.open[str(number)] = nano, payer
            refused += met is not None
            continue
        id_ = dice.choice(sorted(reckoning.open))
        nano, payer = reckoning.open.pop(id_)
        cost = dice.choice((0, nano, dice.randint(0, nano)))
        if act < 0.9:
            await daemon.settle(Settlements([ended(id_, cost / 1e9, payer)]))
            reckoning.owes(payer, cost)
        else:
            await daemon.settle(Settlements(unused=[id_]))
        sums = {(paid_by, one): nano for paid_by, one, nano in look(path, SPENT)}
        assert sums == {key: nano for key, nano in reckoning.spent.items() if nano}
    assert refused
    assert all(nano <= limits[PaidBy(paid_by)] for (paid_by, _), nano in reckoning.spent.items())


def _fits(reckoning: Reckoning, payer: Payer, paid_by: PaidBy) -> int:
    return reckoning.spent[paid_by, payer.id_of(paid_by)] + reckoning.reserved(paid_by, payer)


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
        Settlements(calls=[replace(ended("a", 0.0), tokens_in=20, tokens_out=10, started_ms=clock.now_ms())])
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
