"""Jobs run at least once, one of a kind at a time, and die when they fail too often."""

from pathlib import Path

import pytest

from daemon.core.perception import ConversationKey
from daemon.memory.queues.jobs import TRIES, Job
from tests.fakes import FakeClock
from tests.given import DM, LEASE, SOUL, TEAM, call, effect, new_message
from tests.store.parts import Stores, look

KIND = "summarizes"


async def _ask(stores: Stores, ts: str = "1.0", conversation: ConversationKey = DM) -> None:
    await stores.inbox.accept(new_message(ts, conversation=conversation))
    await stores.commits.commit(effect(await stores.claim(), jobs=(KIND,)))


async def _next(stores: Stores) -> Job:
    job = await stores.jobs.claim_next()
    assert job is not None
    return job


async def test_one_job_of_a_kind_lives_per_conversation(stores: Stores, path: Path) -> None:
    await _ask(stores, "1.0")
    await _ask(stores, "2.0")
    await _ask(stores, "3.0", ConversationKey(SOUL, TEAM, "D2"))
    assert look(path, "SELECT conversation FROM jobs") == [("ada/T1/D1/",), ("ada/T1/D2/",)]
    await stores.jobs.finish(await _next(stores), (call(),))
    await _ask(stores, "4.0")
    assert look(path, "SELECT count(*) FROM jobs") == [(3,)]


async def test_a_job_is_claimed_by_one_worker_and_who_lost_it_can_not_end_it(stores: Stores, others: Stores) -> None:
    await _ask(stores)
    job = await _next(stores)
    assert (job.kind, job.conversation, job.attempts) == (KIND, DM, 1)
    assert await others.jobs.claim_next() is None
    due = await others.jobs.next_due_ms()
    assert due is not None
    await stores.clock.advance((due - stores.clock.now_ms()) / 1000)
    assert (await _next(others)).fence == job.fence + 1
    await stores.jobs.finish(job, (call("spent"),))
    await stores.jobs.fail(job, "late", ())
    assert look(stores.path, "SELECT state, reason FROM jobs") == [("running", "")]
    kept = look(stores.path, "SELECT count(*) FROM llm_calls WHERE trace_id = 'spent'")
    assert kept == [(1,)], "its model calls are recorded all the same"


async def test_a_failing_job_is_retried_after_growing_pauses_and_dies_in_the_end(stores: Stores, path: Path) -> None:
    await _ask(stores)
    pauses = []
    for _ in range(TRIES):
        assert look(path, "SELECT settled_ms FROM jobs") == [(None,)]
        job = await _next(stores)
        await stores.jobs.fail(job, "model unavailable", ())
        if (due := await stores.jobs.next_due_ms()) is not None:
            assert await stores.jobs.claim_next() is None
            pauses.append((due - stores.clock.now_ms()) / 1000)
            await stores.clock.advance(pauses[-1] + 0.01)
    assert pauses == pytest.approx([5, 10, 20, 40], abs=0.1)
    assert look(path, "SELECT state, reason, attempts FROM jobs") == [("dead", "model unavailable", TRIES)]
    assert await stores.jobs.claim_next() is None


async def test_a_job_that_kills_its_daemon_each_time_dies(stores: Stores, clock: FakeClock, path: Path) -> None:
    await _ask(stores)
    for attempt in range(1, TRIES + 1):
        assert (await _next(stores)).attempts == attempt
        await clock.advance(LEASE * 4 + 1)
    assert await stores.jobs.claim_next() is None
    assert look(path, "SELECT state FROM jobs") == [("dead",)]
    await _ask(stores, "2.0")  # a new one may be enqueued
    assert (await _next(stores)).attempts == 1
