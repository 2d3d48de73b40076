"""Forgetting a whole person survives a kill at each step, and leaves nothing in the bytes of the files (P45)."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.ports.arrivals import Source
from daemon.core.ports.services import SharedFile
from daemon.memory.database import Database, open_database
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from daemon.memory.people.erasure import Spared
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.people.tombstones import FILE, read_file, tombstone_of, write_file
from tests.fakes import TIMEOUT, Events, FakeClock
from tests.given import TEAM, new_message
from tests.residues import residues
from tests.store.forgetting_kills import killed_at_each_write
from tests.store.forgotten import ADA, BEN, CANARY, EVERYBODY, ROOM, fill
from tests.store.parts import Stores, a_fact, look, met

LEAST_WRITES = 5  # of which each is a step that a kill may come before


@pytest.fixture
async def filled(database: Database) -> Database:
    await fill(database)
    return database


def _forgetting(database: Database, folder: Path) -> ForgettingPeople:
    return ForgettingPeople(database, FakeClock(auto=True), Events(), folder, folder / "index")


async def forget_ada(database: Database, path: Path) -> Mapping[str, int]:
    """Forget Ada; gives how much went of each kind."""
    people = _forgetting(database, path.parent)
    return await people.finish(await people.ask(TEAM, ADA))


async def test_everything_of_one_person_is_gone_and_the_rest_stays(filled: Database, path: Path) -> None:
    assert residues(path.parent, CANARY)
    gone = await forget_ada(filled, path)
    assert (gone["turns"], gone["records"]) == (4, 1)
    assert residues(path.parent, CANARY) == []
    assert look(path, "SELECT body FROM turns WHERE speaker = 'person'") == [("I weave",)]
    assert look(path, "SELECT kind, text FROM records ORDER BY kind") == [("core", ""), ("episode", "")]
    assert look(path, "SELECT person, state, gone FROM tombstones") == [("", "done", "[]")]
    assert ADA not in (path.parent / FILE).read_text()


async def test_files_of_messages_never_answered_go_and_those_of_others_stay(filled: Database, path: Path) -> None:
    stores = Stores.of(filled, FakeClock(auto=True))
    for ts, author, name in (("7.0", ADA, f"{CANARY}.pdf"), ("8.0", BEN, "cloth.pdf")):
        file = SharedFile(f"F{ts}", name, "application/pdf", 9, f"https://files/{name}")
        asked = new_message(ts=ts, text="look", author=author, conversation=ROOM, audience=EVERYBODY)
        await stores.inbox.accept(replace(asked, files=(file,)))
    await filled.run("UPDATE inbox SET state = 'dead' WHERE ts IN ('7.0', '8.0')")
    await filled.run("UPDATE shared_files SET state = 'read', found = json_object('text', name)")
    assert (await forget_ada(filled, path))["shared_files"] == 1
    assert residues(path.parent, CANARY) == []
    assert look(path, "SELECT name FROM shared_files") == [("cloth.pdf",)]


_UNREADABLE = (
    f"""
    INSERT INTO approvals
      (id, conversation, soul, workspace, turn, tool, arguments, asked, audience, state, expires_ms, created_ms)
    SELECT 'a1', id, soul, workspace, 1, 't', '{{}}', '["{ADA}"', audience, 'used', 1, 1 FROM conversations
    """,
    f"""
    INSERT INTO intentions (id, soul, workspace, conversation, slot, content, params, behalf, audience, place,
      process, due_ms, created_ms, state)
    SELECT 'i1', soul, workspace, id, 'reminder-1', 'about {CANARY}', '{{"{CANARY}', '{BEN}', audience, 'channel',
      'engaged', 1, 1, 'waiting' FROM conversations
    """,
    f"""UPDATE turns SET thought = '{{"{CANARY}' WHERE speaker = 'soul'""",
    """UPDATE records SET extra = '{'""",
)


async def test_what_can_not_be_read_keeps_nothing_of_a_person(filled: Database, path: Path) -> None:
    for statement in _UNREADABLE:
        await filled.run(statement)
    await forget_ada(filled, path)
    assert look(path, "SELECT state FROM tombstones") == [("done",)]
    assert residues(path.parent, CANARY) == residues(path.parent, ADA) == []


async def test_an_order_that_can_not_be_read_holds_up_no_other(filled: Database, path: Path) -> None:
    events = Events()
    people = ForgettingPeople(filled, FakeClock(auto=True), events, path.parent, path.parent / "index")
    broken, _ = await people.ask(TEAM, ADA), await people.ask(TEAM, BEN)
    await filled.run("UPDATE tombstones SET spared = '{', asked_ms = 0 WHERE id = :id", id=broken)
    async with alongside(people.run()):
        await events.until("memory.person_erased")
    assert look(path, "SELECT body FROM turns WHERE author = ?", BEN) == []


async def test_once_a_person_is_erased_all_are_rung_who_may_show_their_words(filled: Database, path: Path) -> None:
    rung = list[str]()
    home, index = path.parent, path.parent / "index"
    people = ForgettingPeople(filled, FakeClock(auto=True), Events(), home, index, ring=lambda: rung.append("a ring"))
    order = await people.ask(TEAM, ADA)
    assert rung == []
    await people.finish(order)
    await people.finish(order)
    assert rung == ["a ring"]
    orders = {await people.ask(TEAM, BEN, Spared("c", "m")) for _ in range(2)}
    assert len(orders) == 1, "an order is given once for one message"


async def test_what_others_said_of_them_by_name_alone_goes(filled: Database, path: Path) -> None:
    for person, name in ((ADA, "Ada Quill"), (BEN, "Ben Moss"), ("U0CHLOE", "Chloe Quill")):
        await met(filled, person=person, name=name)
    goes = [("Ada", "is often late"), ("Ada Quill", "is often late"), (BEN, "Ada is often late")]
    stays = [("Adam", "is often late"), ("Moss", "told Ada to be late"), ("Quill", "is a name that two have")]
    bens = "TU_{}".format(*look(path, "SELECT seq FROM turns WHERE author = 'U0BEN'")[0])
    for subject, text in (*goes, *stays):
        said = {"audience": EVERYBODY, "channel": "C1", "trust": Trust.CLAIM, "claimed_by": BEN}
        claim = a_fact(text, subject=subject, predicate="is", object="late", **said)
        proof = Link("", Relation.EVIDENCE, bens, "I weave")
        await filled.write(partial(put, record=claim, now=1, links=[proof]))
    await forget_ada(filled, path)
    assert look(path, "SELECT subject, text FROM facts JOIN records USING (id) ORDER BY seq") == stays


async def test_each_part_of_a_reply_to_them_goes_and_none_of_a_reply_to_another(filled: Database, path: Path) -> None:
    [theirs] = [key for (key,) in look(path, "SELECT answered_by FROM inbox WHERE author = ? AND ts = '1.0'", ADA)]
    first = str(theirs).removesuffix("#0")
    for name in (f"{first}#1", f"{first}#12", f"{first}1#0", f"{first}1#1"):
        await filled.run(
            """
            INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient,
                                newer_than_ts, audience, state, created_ms)
            SELECT :id, conversation, soul, workspace, 1, 1, 'words', '', '', newer_than_ts, audience, 'sent', 1
            FROM outbox WHERE id = :theirs
            """,
            id=name,
            theirs=theirs,
        )
    await forget_ada(filled, path)
    kept = look(path, "SELECT id FROM outbox WHERE body = 'words' ORDER BY id")
    assert kept == [(f"{first}1#0",), (f"{first}1#1",)]


async def test_the_one_transaction_that_erases_needs_no_statement_for_each_of_many_turns(
    filled: Database, path: Path
) -> None:
    await filled.run(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
        INSERT INTO turns (conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
        SELECT conversation, speaker, author, name, i || '.5', body, audience, 't' || i, said_ms
        FROM turns, n WHERE seq = 1
        """
    )
    seen: list[str] = []
    await filled._writer.set_trace_callback(seen.append)
    assert (await forget_ada(filled, path))["turns"] == 304
    assert len({one for one in seen if one.startswith("DELETE FROM turns ")}) == 1, "a trigger repeats its statement"
    assert look(path, "SELECT count(*) FROM turns") == [(2,)]


@pytest.mark.slow
async def test_a_process_killed_before_any_write_is_followed_by_one_that_finishes(path: Path, tmp_path: Path) -> None:
    async with open_database(path, FakeClock(auto=True)) as database:
        await fill(database)
    kills = 0
    async for home in killed_at_each_write(path.parent, TEAM, ADA, tmp_path.parent / f"{tmp_path.name}-kills"):
        kills += 1
        assert residues(home, CANARY) == []
        assert look(home / "memory.db", "SELECT state FROM tombstones") == [("done",)]
    assert kills >= LEAST_WRITES


async def test_one_whose_files_cannot_be_deleted_holds_up_nobody_else(
    filled: Database, clock: FakeClock, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, both = 0, asyncio.Event()

    async def stuck(*_: object) -> None:
        nonlocal failures
        failures += 1
        if failures == 2:
            both.set()
        raise StoreError("the folder can't be changed", hint="check its owner")

    people = ForgettingPeople(filled, clock, Events(), path.parent, path.parent / "index")
    for person in (BEN, ADA):
        await people.ask(TEAM, person)
        await clock.sleep(1)
    monkeypatch.setattr("daemon.memory.people.forgetting.clear_leftovers", stuck)
    running = asyncio.create_task(people.run())
    await both.wait()
    running.cancel()
    assert look(path, "SELECT body FROM turns WHERE speaker = 'person'") == []


@pytest.mark.parametrize(
    ("asks", "ahead_s"),
    [
        ("command, nothing known", 0),  # the clocks are taken for one
        *((asks, ahead_s) for asks in ("message", "command", "put back") for ahead_s in (-420, 420)),
    ],
)
async def test_old_words_from_history_are_not_taken_in_again_and_new_ones_are(
    *, database: Database, stores: Stores, clock: FakeClock, path: Path, ahead_s: int, asks: str
) -> None:
    platform_s = clock.now_ms() / 1000 - ahead_s
    asked = new_message(ts=f"{platform_s:.6f}", text="forget me", author=ADA)
    people = ForgettingPeople(database, clock, Events(), path.parent, path.parent / "index")
    if asks != "command, nothing known":
        await stores.inbox.accept(asked)
    order = await people.ask(TEAM, ADA, ts="" if "command" in asks else asked.perception.ts)
    await clock.sleep(30)  # so long it takes
    await people.finish(order)
    if asks == "put back":
        await database.run("DELETE FROM tombstones")
        await clock.sleep(3 * 86_400)
        await people.adopt()

    async def accepted(author: str, after_s: int) -> bool:
        message = new_message(ts=f"{platform_s + after_s:.6f}", author=author)
        return await stores.inbox.accept(replace(message, source=Source.BACKFILL)) == "accepted"

    assert [await accepted(ADA, -2), await accepted(BEN, -1), await accepted(ADA, 2)] == [False, True, True]


@pytest.mark.parametrize("ahead_s", [-420, 420], ids=["our clock behind", "our clock ahead"])
async def test_what_is_said_while_it_is_under_way_is_heard_afterwards(stores: Stores, path: Path, ahead_s: int) -> None:
    platform_s = stores.clock.now_ms() / 1000 - ahead_s
    said = {name: f"{platform_s + after:.6f}" for name, after in (("before", -1), ("asks", 0), ("after", 1))}
    people = ForgettingPeople(stores.database, stores.clock, Events(), path.parent, path.parent / "index")
    for name, ts in said.items():
        await stores.inbox.accept(new_message(ts=ts, text=name, author=ADA))
    await people.finish(await people.ask(TEAM, ADA, ts=said["asks"]))
    assert look(path, "SELECT body FROM inbox WHERE state = 'new'") == [("after",)]


async def test_a_file_put_back_by_hand_forgets_by_the_tombstones_beside_it(filled: Database, path: Path) -> None:
    write_file(path.parent, [tombstone_of(TEAM, ADA, 5, 5), tombstone_of(TEAM, "U0GONE", 5, 5)])
    people = _forgetting(filled, path.parent)
    assert [await people.adopt(), await people.adopt()] == [1, 0]
    for row in await filled.rows("SELECT id FROM tombstones"):
        await people.finish(row["id"])
    assert residues(path.parent, CANARY) == []
    assert len(read_file(path.parent)) == 2


def test_a_file_of_tombstones_that_cannot_be_read_stops_the_work_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    with pytest.raises(StoreError, match="can't be read") as raised:
        read_file(tmp_path)
    assert "put back a copy" in raised.value.hint


async def test_while_a_copy_is_being_made_it_is_not_done_and_ends_after_it(filled: Database, stores: Stores) -> None:
    if not await filled.in_wal_mode():
        pytest.skip("this SQLite keeps no write-ahead log")
    people = ForgettingPeople(filled, stores.clock, Events(), stores.path.parent, stores.path.parent / "index")
    with closing(sqlite3.connect(stores.path, isolation_level=None)) as copy:
        copy.execute("BEGIN")  # the one snapshot of a copy
        copy.execute("SELECT count(*) FROM turns").fetchone()
        await people.finish(await people.ask(TEAM, ADA))
        assert residues(stores.path.parent, CANARY)
        assert look(stores.path, "SELECT person, state, gone FROM tombstones") == [("", "erased", "[]")]
        copy.execute("ROLLBACK")
    async with alongside(people.run()):
        async with asyncio.timeout(TIMEOUT):
            while look(stores.path, "SELECT state FROM tombstones") != [("done",)]:  # noqa: ASYNC110 - a file has no events
                await asyncio.sleep(0.01)
    assert residues(stores.path.parent, CANARY) == [], "also while the file is open"
