"""What is older than it may be kept for is erased, also after a week in which nothing ran (P46)."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import Episode, Fact, JournalEntry, Record, Sense, Trust
from daemon.memory.knowledge.records.links import Link, Relation, link
from daemon.memory.knowledge.records.store import put
from daemon.memory.people.retention import change_old, prune
from daemon.memory.tables import TABLES
from tests.given import HERE, SOUL, TEAM, new_message
from tests.store.parts import Stores, a_fact, look, poke

DAY = 86_400_000


async def test_each_kind_is_kept_for_its_days_and_no_longer_after_a_week_without_a_daemon(stores: Stores) -> None:
    await stores.inbox.accept(new_message(text="an old word"))
    await stores.answer("an old answer")
    now = stores.clock.now_ms()
    common: dict[str, Any] = {"soul": SOUL, "workspace": TEAM, "audience": HERE, "channel": "D1", "at_ms": now}
    common["trust"] = Trust.OWN
    kept: tuple[Record, ...] = (
        a_fact("holds", at_ms=now),
        a_fact("ended", at_ms=now, valid_until_ms=now),
        Episode(**common, text="a visit"),
        Sense(**common, text="a picture", data_type="image"),
        JournalEntry(**common, text="dear me"),
    )

    async def unit(transaction: Transaction) -> None:
        for one in kept:
            await put(transaction, one, now)

    await stores.database.write(unit)
    days = {"turn_days": 6, "fact_days": 6, "episode_days": 6, "sense_days": 6, "journal_days": 6}
    assert await prune(stores.database, stores.clock, days) == 0
    await stores.clock.sleep(7 * DAY / 1000)
    assert await prune(stores.database, stores.clock, {}) == 0
    assert await prune(stores.database, stores.clock, days) == 6
    assert look(stores.path, "SELECT text FROM records") == [("holds",)]
    assert look(stores.path, "SELECT count(*) FROM turns") == [(0,)]
    assert look(stores.path, "SELECT body FROM inbox") == [("",)]


async def test_what_holds_no_more_never_holds_again_as_other_facts_grow_too_old(stores: Stores, path: Path) -> None:
    now = stores.clock.now_ms()

    def ended(text: str, at_ms: int, why: str = "retired") -> Fact:
        return a_fact(text, at_ms=now, valid_from_ms=now, valid_until_ms=at_ms, why_ended=why)

    async def unit(transaction: Transaction) -> None:
        stayed = await put(transaction, ended("lives in Rome", now + 2), now)
        for number in range(25):  # more than go at once
            await put(transaction, ended(f"line {number}", now), now)
        twin = await put(transaction, ended("has a home in Rome", now + 1, "superseded"), now)
        await link(transaction, [Link(stayed.id, Relation.SUPERSEDES, twin.id)], now)

    await stores.database.write(unit)
    await stores.clock.sleep(7 * DAY / 1000)
    assert await prune(stores.database, stores.clock, {"fact_days": 6}) == 27
    assert look(path, "SELECT text FROM records") == []


async def test_a_rule_that_fails_holds_up_no_other(stores: Stores) -> None:
    await stores.inbox.accept(new_message(text="an old word"))
    await stores.answer("an old answer")
    poke(stores.database.path, "CREATE TRIGGER stuck BEFORE DELETE ON turns BEGIN SELECT RAISE(ABORT, 'stuck'); END")
    await stores.clock.sleep(7 * DAY / 1000)
    with pytest.raises(sqlite3.IntegrityError, match="stuck"):
        await prune(stores.database, stores.clock, {"turn_days": 6, "queue_text_days": 6})
    assert look(stores.database.path, "SELECT body FROM inbox") == [("",)]


async def test_a_fact_that_holds_again_when_it_would_be_forgotten_stays(stores: Stores) -> None:
    now = stores.clock.now_ms()
    fact = a_fact("ended", at_ms=now, valid_until_ms=now)
    await stores.database.write(lambda transaction: put(transaction, fact, now))
    [table] = [one for one in TABLES if one.name == "facts"]
    [name] = look(stores.database.path, "SELECT id FROM facts")[0]
    poke(stores.database.path, "UPDATE facts SET valid_until_ms = NULL")
    change = partial(change_old, table=table, age=table.ages[0], keys=[name], now=now)
    assert await stores.database.write(change) == 0
    assert look(stores.database.path, "SELECT count(*) FROM facts") == [(1,)]
