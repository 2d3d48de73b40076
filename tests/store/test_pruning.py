"""Old records of how work went are deleted; messages, notes and waiting rows stay."""

import asyncio
import dataclasses
from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.ports.arrivals import Acceptance
from daemon.core.ports.services import SharedFile
from daemon.memory.admin.queue_admin import Admin
from daemon.memory.admin.replies import StoredReplies
from daemon.memory.database import Database
from daemon.memory.emptied_posts import Note
from daemon.memory.knowledge.soul_states import PathStep, store_path
from daemon.memory.people.retention import PRUNED_EVERY_S, prune, prune_periodically
from daemon.memory.queues.approvals import NewApproval, store_approval
from daemon.memory.queues.intentions import Intentions
from tests.fakes import Events, FakeClock
from tests.given import DM, HERE, call, deleted, edited, effect, new_message, thread
from tests.store.parts import WORKER, Stores, intend, later, look, poke, room

DAY_S = 86_400.0
KEPT = {"trace_days": 90, "queue_text_days": 30, "job_days": 7}  # calls of the tests' cycles are as old as the epoch


@pytest.fixture
async def lived(stores: Stores, database: Database, clock: FakeClock) -> Database:
    """A conversation with messages, a path, an intention that fell due and one that still waits."""
    await room(database)
    await stores.inbox.accept(new_message("1.0"))
    await stores.answer("hello")
    step = PathStep(0, "stay", "engaged", "engaged", "rule", "")
    await database.write(lambda transaction: store_path(transaction, DM, "t1", (step,), clock.now_ms()))
    await intend(database, clock, later(clock, "soon", 1), later(clock, "far", 60 * 24 * 300))
    await clock.advance(120)
    assert await Intentions(database, clock, WORKER).fall_due() == 1
    await stores.commits.commit(effect(await stores.claim(), "the build"))
    return database


async def test_old_rows_go_while_messages_and_waiting_rows_stay(lived: Database, clock: FakeClock, path: Path) -> None:
    assert await prune(lived, clock, KEPT) == 0
    await clock.advance(91 * DAY_S)
    pruned = await prune(lived, clock, {"trace_days": 90, "job_days": 7})
    assert pruned == 3, "the path, the due intention, its row in the inbox"
    assert look(path, "SELECT count(*) FROM transitions") == [(0,)]
    assert look(path, "SELECT slot FROM intentions") == [("far",)]
    assert look(path, "SELECT modality, body FROM inbox") == [("words", "hi")]
    assert look(path, "SELECT count(*) FROM turns WHERE speaker = 'soul'") == [(2,)]


async def test_pruning_runs_periodically_and_keeps_forever_what_zero_days_say(lived: Database, stores: Stores) -> None:
    await stores.clock.advance(2 * DAY_S)
    for days, left in ((0, 1), (1, 0)):
        events = Events()
        stores.clock.slept.clear()
        retention = {"trace_days": days}
        async with alongside(prune_periodically(lived, retention, stores.clock, events, lambda: nullcontext(0.0))):
            while PRUNED_EVERY_S not in stores.clock.slept:
                await stores.clock.advance(0.01)
                await asyncio.sleep(0.001)
        assert look(stores.path, "SELECT count(*) FROM transitions") == [(left,)]
        assert bool(events.named("memory.pruned")) is not bool(left)


async def test_settled_texts_go_after_a_month_and_rows_and_replies_stay(stores: Stores, path: Path) -> None:
    await stores.inbox.accept(replace(new_message("1.0"), message_id="m-1"))
    await stores.outbox.sent(await stores.answer("hello"), "2.0")
    reply = await StoredReplies(stores.database).find(DM, "m-1")
    await stores.inbox.accept(new_message("3.0", event="waits"))
    await stores.clock.advance(31 * DAY_S)
    await stores.inbox.accept(new_message("4.0", event="new"))
    assert await prune(stores.database, stores.clock, KEPT) == 2
    assert look(path, "SELECT ts, body, state FROM inbox ORDER BY ts") == [
        ("1.0", "", "answered"),
        ("3.0", "hi", "new"),
        ("4.0", "hi", "new"),
    ]
    assert look(path, "SELECT body, state FROM outbox") == [("", "sent")]
    assert look(path, "SELECT body FROM turns ORDER BY seq") == [("hi",), ("hello",)]
    assert await prune(stores.database, stores.clock, KEPT) == 0
    assert await stores.inbox.accept(new_message("1.0", event="again")) is Acceptance.DUPLICATE
    assert await StoredReplies(stores.database).find(DM, "m-1") == reply, "a program finds it all the same"
    said, held = "SELECT body FROM turns WHERE speaker = 'person'", "SELECT body FROM inbox WHERE ts = '1.0'"
    for event, words in (("preview", "hi"), ("edit", "other words")):
        await stores.inbox.accept(edited("1.0", words, event=event))
        assert (look(path, said), look(path, held)) == ([(words,)], [("",)]), event
    await stores.inbox.accept(deleted("1.0"))
    assert look(path, said) == []


async def test_a_text_that_an_admin_may_still_send_is_kept(stores: Stores, clock: FakeClock, path: Path) -> None:
    for ts, state in (("1.0", "dead"), ("2.0", "unknown")):
        await stores.inbox.accept(new_message(ts, conversation=thread(ts)))
        await stores.outbox.give_up(await stores.answer("hello"), state, "no", Note.DEAD)
    poke(path, "UPDATE inbox SET state = 'dead'")
    await clock.advance(31 * DAY_S)
    assert await prune(stores.database, clock, KEPT) == 0
    admin = Admin(stores.database, clock, "ada")
    await admin.retry_message("1.0")
    poke(path, "UPDATE inbox SET state = 'stale', cleared = 1")
    with pytest.raises(StoreError, match="because of its age"):
        await admin.retry_message("1.0")


async def test_a_question_that_still_waits_keeps_its_text(stores: Stores, clock: FakeClock, path: Path) -> None:
    await stores.inbox.accept(new_message("1.0"))
    await stores.outbox.sent(await stores.answer("may I?"), "2.0")
    new = NewApproval("q1", "deploy", {}, ("U1",), clock.now_ms() + 90 * 86_400_000)
    now = clock.now_ms()
    await stores.database.write(
        lambda transaction: store_approval(transaction, new, conversation=DM, turn=1, audience=HERE, now=now)
    )
    poke(path, "UPDATE outbox SET approval = 'q1'")
    await clock.advance(31 * DAY_S)
    await prune(stores.database, clock, KEPT)
    assert look(path, "SELECT body FROM outbox") == [("may I?",)]


async def test_finished_jobs_go_after_a_week(stores: Stores, database: Database, clock: FakeClock, path: Path) -> None:
    await stores.inbox.accept(new_message("1.0"))
    await stores.answer("hello", jobs=("one", "two"))
    job = await stores.jobs.claim_next()
    assert job is not None
    await stores.jobs.finish(job, ())
    await clock.advance(8 * DAY_S)
    assert await prune(database, clock, KEPT) == 1
    assert look(path, "SELECT kind FROM jobs") == [("two",)]


async def test_old_model_calls_become_sums_of_their_days(stores: Stores, clock: FakeClock, path: Path) -> None:
    day, calls = int(DAY_S * 1000), [call(f"t{number}") for number in range(120)]
    spread = [
        dataclasses.replace(one, started_ms=clock.now_ms() + number % 2 * day, tokens_in=number, cost_usd=0.25)
        for number, one in enumerate(calls)
    ]
    await stores.commits.record_calls(spread)
    spent = "SELECT sum(tokens_in), sum(tokens_out), sum(cost_usd) FROM llm_calls"
    before = look(path, spent)
    await clock.advance(95 * DAY_S)
    await stores.commits.record_calls([dataclasses.replace(call("new"), started_ms=clock.now_ms())])
    assert await prune(stores.database, clock, {"call_days": 90}) == 120
    assert look(path, "SELECT count(*) FROM llm_calls") == [(1,)]
    assert look(path, "SELECT calls FROM llm_days ORDER BY day") == [(60,), (60,)]
    assert look(path, spent.replace("llm_calls", "llm_days")) == before


async def test_pruning_never_holds_the_write_lock_for_a_scan(database: Database, clock: FakeClock) -> None:
    """What runs in the writer names the rows by their keys alone."""
    statements: list[str] = []
    await room(database)
    await database.run(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
        INSERT INTO transitions (conversation, trace_id, hop, act, origin, target, decided_by, reason, at_ms)
        SELECT :id, 't', 0, 'stay', 'a', 'a', 'rule', '', i FROM n
        """,
        id=str(DM),
    )
    await database._writer.set_trace_callback(statements.append)
    assert await prune(database, clock, KEPT) == 1200
    await database._writer.set_trace_callback(lambda _: None)
    changes = [sql for sql in statements if sql.startswith("DELETE")]
    assert len(changes) == 1200
    assert all("WHERE seq = " in sql for sql in changes)
    assert statements.count("COMMIT") >= 1200 / 50
    assert len([rest for rest in clock.slept if rest >= 0.05]) >= 1200 / 50


async def test_what_was_read_of_a_file_goes_with_the_texts_of_the_queues_where_nothing_answered_its_message(
    stores: Stores, database: Database, clock: FakeClock, path: Path
) -> None:
    for ts in ("1.0", "2.0"):
        file = SharedFile(f"F{ts}", f"{ts}.pdf", "application/pdf", 9, "https://files/it")
        await stores.inbox.accept(replace(new_message(ts), files=(file,)))
        if ts == "1.0":
            await stores.answer("hello")
    await database.run("UPDATE shared_files SET state = 'read', found = json_object('text', 'words of ' || name)")
    await clock.advance(31 * DAY_S)
    await prune(database, clock, KEPT)
    assert look(path, "SELECT name FROM shared_files") == [("1.0.pdf",)]
