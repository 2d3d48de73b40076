"""An admin lists and changes rows of memory.db, and every change goes into the audit log."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from daemon.core.errors import StoreError
from daemon.memory.admin.overview import check_file, survey
from daemon.memory.admin.queue_admin import INBOX_STATES, OUTBOX_STATES, Admin, JobAdmin, Retried
from daemon.memory.database import open_database
from daemon.memory.database.schema import SCHEMA
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.outbox import Outbox
from daemon.memory.records import Worker
from tests.cli.stocked import NOW, THOUGHT, WORDS, add_daemon, dead_identity, message_in, one, opened, post_in, stock
from tests.fakes import FakeClock

WORKER = Worker("here/boot/1/1", "minoan", "T1", 30_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stock(tmp_path / "memory.db")


@asynccontextmanager
async def admin_of(path: Path, clock: FakeClock | None = None) -> AsyncIterator[Admin]:
    clock = clock or FakeClock(auto=True, start_ms=NOW + 10_000_000)
    async with open_database(path, clock, create=False) as database:
        yield Admin(database, clock, "ada")


def lease(path: Path, table: str) -> None:
    with opened(path) as connection:
        connection.execute(f"UPDATE {table} SET lease_owner = 'here/boot/1/1', lease_until = ?", (NOW * 2,))


async def test_messages_and_posts_are_listed_by_state_and_time_and_found_by_id_and_ts(path: Path) -> None:
    async with admin_of(path) as admin:
        assert [found["state"] for found in await admin.messages(None, 100)] == list(reversed(INBOX_STATES))
        assert [found["id"] for found in await admin.messages("dead", 100)] == [message_in("dead")]
        assert len(await admin.messages(None, 3)) == 3
        found = await admin.message(message_in("dead"))
        assert found["body"] == WORDS
        assert await admin.message("6.5") == found
        assert len(await admin.posts(None, 100)) == len(OUTBOX_STATES)
        (post,) = await admin.posts("unknown", 100)
        assert await admin.post(str(post["seq"])) == await admin.post(post_in("unknown")) == post
        assert post["last"] is True
        with pytest.raises(StoreError, match="no message x"):
            await admin.message("x")
        with pytest.raises(StoreError, match="no post x"):
            await admin.post("x")
    with opened(path) as connection:
        for table in ("inbox", "outbox"):
            connection.execute(f"UPDATE {table} SET settled_ms = ? WHERE state = 'dead'", (NOW + 5000,))
    async with admin_of(path) as admin:
        for since, number in ((NOW + 5000, 1), (NOW + 5001, 0)):
            assert len(await admin.messages("dead", 9, since)) == len(await admin.posts("dead", 9, since)) == number
    with opened(path) as connection:
        connection.execute(
            "INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, author, place, audience, body, source,"
            " state, received_ms, envelope) SELECT 'minoan/T2/D1/6.5', soul, 'T2', channel, ts, conversation, author,"
            " place, audience, body, source, state, received_ms, envelope FROM inbox WHERE ts = '6.5'"
        )
    async with admin_of(path) as admin:
        with pytest.raises(StoreError, match="several messages"):
            await admin.message("6.5")


async def test_a_retried_message_is_claimed_as_a_new_one(tmp_path: Path) -> None:
    for state in ("dead", "ignored", "stale", "dropped"):
        path = stock(tmp_path / f"{state}.db")
        clock = FakeClock(auto=True, start_ms=NOW + 10_000_000)
        with opened(path) as connection:
            connection.execute("UPDATE inbox SET state = 'answered' WHERE state IN ('new', 'claimed')")
        async with open_database(path, clock, create=False) as database:
            before = await Admin(database, clock, "ada").retry_message(message_in(state))
            claim = await Conversations(database, clock, WORKER).claim_next()
        assert before["state"] == state
        assert claim is not None, state
        assert [(heard.id, heard.perception.received_ms, heard.attempts) for heard in claim.messages] == [
            (message_in(state), clock.now_ms(), 1)
        ]


async def test_what_waits_or_is_settled_is_not_retried_unless_an_answered_message_is_by_force(path: Path) -> None:
    for state in ("new", "claimed", "answered", "withdrawn"):
        lease(path, "conversations")
        async with admin_of(path) as admin:
            with pytest.raises(StoreError) as raised:
                await admin.retry_message(message_in(state))
        assert raised.value.hint, state
        assert one(path, "SELECT state FROM inbox WHERE id = ?", message_in(state)) == state
        assert one(path, "SELECT count(*) FROM audit") == 0, state
    for state in ("drafting", "sending", "sent"):
        lease(path, "outbox")
        async with admin_of(path) as admin:
            with pytest.raises(StoreError, match=f"is {state}"):
                await admin.retry_post(post_in(state))
    async with admin_of(path) as admin:
        await admin.retry_message(message_in("answered"), force=True)
        with pytest.raises(StoreError, match="withdrawn"):
            await admin.retry_message(message_in("withdrawn"), force=True)
    assert one(path, "SELECT state FROM inbox WHERE id = ?", message_in("answered")) == "new"


async def test_only_unsettled_messages_and_posts_are_dropped(path: Path) -> None:
    for state in INBOX_STATES:
        droppable = state in {"new", "claimed", "dead", "ignored", "stale"}
        async with admin_of(path) as admin:
            if droppable:
                await admin.drop_message(message_in(state))
            else:
                with pytest.raises(StoreError):
                    await admin.drop_message(message_in(state))
        found = one(path, "SELECT state FROM inbox WHERE id = ?", message_in(state))
        assert found == ("dropped" if droppable else state)
    for state in OUTBOX_STATES:
        droppable = state in {"pending", "unknown", "dead", "expired"}
        lease(path, "outbox")
        async with admin_of(path) as admin:
            if droppable:
                await admin.drop_post(post_in(state))
            else:
                with pytest.raises(StoreError):
                    await admin.drop_post(post_in(state))
        assert one(path, "SELECT state FROM outbox WHERE id = ?", post_in(state)) == ("dropped" if droppable else state)


async def test_a_retried_post_is_claimed_and_an_unknown_one_is_looked_up_first(tmp_path: Path) -> None:
    for state, blindly, doubtful in (
        ("dead", False, False),
        ("expired", False, False),
        ("dropped", False, False),
        ("unknown", False, True),
        ("unknown", True, False),
    ):
        path = stock(tmp_path / f"{state}-{blindly}.db")
        clock = FakeClock(auto=True, start_ms=NOW + 10_000_000)
        with opened(path) as connection:
            connection.execute("UPDATE outbox SET state = 'sent' WHERE state IN ('pending', 'sending')")
        async with open_database(path, clock, create=False) as database:
            outcome = await Admin(database, clock, "ada").retry_post(post_in(state), blindly=blindly)
            delivery = await Outbox(database, clock, WORKER).claim_next()
        assert outcome is (Retried.LOOKED_UP_FIRST if doubtful else Retried.SENT_AGAIN), state
        assert delivery is not None, state
        assert (delivery.post.key, delivery.doubtful) == (post_in(state), doubtful)
        assert delivery.created_ms == clock.now_ms(), state


async def test_rows_whose_lease_has_lapsed_are_retried_and_dropped(path: Path) -> None:
    async with admin_of(path) as admin:
        assert (await admin.retry_message(message_in("claimed")))["state"] == "claimed"
        assert await admin.retry_post(post_in("sending")) is Retried.LOOKED_UP_FIRST
        assert (await admin.drop_post(post_in("sending")))["state"] == "sending"
    assert one(path, "SELECT state FROM inbox WHERE id = ?", message_in("claimed")) == "new"
    assert one(path, "SELECT state FROM outbox WHERE id = ?", post_in("sending")) == "dropped"
    with opened(path) as connection:
        connection.execute("UPDATE outbox SET faults = 3, doubted_ms = 1, draft_tries = 9 WHERE state = 'dead'")
    async with admin_of(path) as admin:
        assert await admin.retry_post(post_in("dead")) is Retried.LOOKED_UP_FIRST
    with opened(path) as connection:
        row = connection.execute(
            "SELECT state, faults, doubted_ms, draft_tries FROM outbox WHERE id = ?", (post_in("dead"),)
        ).fetchone()
    assert tuple(row) == ("sending", 0, None, 0)


async def test_dead_jobs_are_retried_or_dropped_by_number(path: Path) -> None:
    with opened(path) as connection:
        connection.execute("UPDATE jobs SET state = 'dead', attempts = 5, faults = 2")
        connection.execute(
            "INSERT INTO jobs (kind, conversation, soul, workspace, state, created_ms)"
            " SELECT 'other', conversation, soul, workspace, 'dead', created_ms FROM jobs"
        )
    async with open_database(path, FakeClock(auto=True), create=False) as database:
        admin = JobAdmin(database, FakeClock(auto=True), "ada")
        assert [found["seq"] for found in await admin.jobs("dead", 9)] == [2, 1]
        assert (await admin.retry(1))["faults"] == 2
        await admin.drop(2)
        for wrong in (1, 2, 3):
            with pytest.raises(StoreError):
                await admin.retry(wrong)
        with pytest.raises(StoreError):
            await admin.drop(1)
    assert one(path, "SELECT state || attempts || faults FROM jobs WHERE seq = 1") == "ready00"
    assert one(path, "SELECT reason FROM jobs WHERE seq = 2") == "dropped by ada"
    assert one(path, "SELECT group_concat(act) FROM audit") == "jobs.retry,jobs.drop"


async def test_a_dead_job_yields_to_a_newer_one_of_its_kind(path: Path) -> None:
    with opened(path) as connection:
        connection.execute(
            "INSERT INTO jobs (kind, conversation, soul, workspace, state, created_ms)"
            " SELECT kind, conversation, soul, workspace, 'dead', created_ms FROM jobs"
        )
    async with open_database(path, FakeClock(auto=True), create=False) as database:
        with pytest.raises(StoreError, match="newer job"):
            await JobAdmin(database, FakeClock(auto=True), "ada").retry(2)


async def test_every_change_goes_into_the_audit_log_without_messages(path: Path) -> None:
    async with admin_of(path) as admin:
        await admin.retry_message(message_in("dead"))
        await admin.drop_message(message_in("new"))
        await admin.retry_post(post_in("unknown"))
        await admin.drop_post(post_in("pending"))
    with opened(path) as connection:
        rows = [tuple(row) for row in connection.execute("SELECT actor, act, object, detail FROM audit ORDER BY seq")]
    assert [row[:3] for row in rows] == [
        ("ada", "inbox.retry", message_in("dead")),
        ("ada", "inbox.drop", message_in("new")),
        ("ada", "outbox.retry", post_in("unknown")),
        ("ada", "outbox.drop", post_in("pending")),
    ]
    assert [json.loads(row[3])["state"] for row in rows] == ["dead", "new", "unknown", "pending"]
    assert not any(WORDS in row[3] for row in rows)


async def test_a_survey_counts_rows_and_gives_the_age_of_the_oldest(path: Path) -> None:
    add_daemon(path, seen_ms=NOW)
    add_daemon(path, identity=dead_identity(), seen_ms=NOW)
    clock = FakeClock(auto=True)
    async with open_database(path, clock, create=False) as database:
        seen = await survey(database, NOW + 1000, NOW)
        later = await survey(database, NOW + 3_600_000, NOW + 1)
    assert seen.inbox == dict.fromkeys(sorted(INBOX_STATES), 1)
    assert seen.outbox == dict.fromkeys(sorted(OUTBOX_STATES), 1)
    assert seen.jobs == {"ready": 1}
    assert (seen.oldest_inbox_ms, seen.oldest_outbox_ms, seen.oldest_job_ms) == (NOW, NOW, NOW)
    assert (seen.spent["calls"], seen.spent["tokens_in"], seen.spent["cost_usd"]) == (1, 10, 0.25)
    assert later.spent["calls"] == 0
    assert sorted((found.gone, found.alive) for found in seen.daemons) == [(False, True), (True, False)]
    assert sorted((found.silent, found.alive) for found in later.daemons) == [(True, False), (True, False)]
    assert THOUGHT not in repr(seen)


def test_a_check_finds_a_row_that_refers_to_a_missing_one_and_another_schema(path: Path) -> None:
    for whole in (True, False):
        found = check_file(path, whole=whole)
        assert (found.schema, found.faults) == (SCHEMA, ()), whole
    with opened(path) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM conversations")
    assert any("conversations" in fault for fault in check_file(path, whole=True).faults)
    for version, said in ((0, "soul db migrate"), (16, "passport export DIR"), (99, "update the program")):
        with opened(path) as connection:
            connection.execute(f"PRAGMA user_version={version}")
        found = check_file(path, whole=False)
        assert len(found.faults) == 1, version
        assert said in found.cure


def test_a_check_reports_damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(bytes(content))
    for whole in (True, False):
        assert "damaged" in _report(path, whole)


def _report(path: Path, whole: bool) -> str:
    """The faults that a check reports, or the error that it raises."""
    try:
        return " ".join(f"damaged: {fault}" for fault in check_file(path, whole=whole).faults)
    except StoreError as error:
        return error.message
