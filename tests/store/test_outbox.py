"""Each post becomes visible once, in order within its conversation; a doubtful post is looked up first."""

import asyncio
from pathlib import Path

import pytest

from daemon.core.errors import LostLease
from daemon.core.perception import ConversationKey
from daemon.memory.emptied_posts import Note
from daemon.memory.records import Delivery
from tests.fakes import FakeClock
from tests.given import DM, LEASE, SOUL, TEAM, effect, new_message
from tests.store.parts import Stores, look

OTHER = ConversationKey(SOUL, TEAM, "D2")


async def _next(stores: Stores, where: ConversationKey | None = None) -> Delivery:
    delivery = await stores.outbox.claim_next(*([str(where)] if where else []))
    assert delivery is not None
    return delivery


async def test_the_commit_claims_the_first_part_and_the_others_follow_in_order(stores: Stores, path: Path) -> None:
    await stores.inbox.accept(new_message())
    delivery = await stores.answer("a", "b", "c")
    bodies = [delivery.post.body]
    while not delivery.post.last:
        assert await stores.outbox.claim_next() is None  # a later part waits for the earlier
        await stores.outbox.sent(delivery, f"{len(bodies)}.5")
        delivery = await _next(stores)
        bodies.append(delivery.post.body)
    assert bodies == ["a", "b", "c"]
    await stores.outbox.sent(delivery, "3.5")
    assert look(path, "SELECT state, platform_ts, lease_owner FROM outbox") == [
        ("sent", f"{n}.5", "") for n in (1, 2, 3)
    ]
    assert await stores.outbox.next_due_ms() is None


async def test_a_reply_waits_for_the_one_before_it_in_its_conversation_only(stores: Stores) -> None:
    await stores.inbox.accept(new_message("1.0"))
    first = await stores.answer("first")
    await stores.inbox.accept(new_message("2.0"))
    claim = await stores.claim()
    assert await stores.commits.commit(effect(claim, "second")) is None
    await stores.inbox.accept(new_message("3.0", conversation=OTHER))
    assert (await stores.answer("elsewhere")).post.conversation == OTHER
    await stores.outbox.postpone(first, 10, doubtful=False, reason="429")
    assert await stores.outbox.claim_next() is None
    assert await stores.outbox.claim_next(str(DM)) is None


async def test_a_post_found_after_a_crash_is_doubtful_and_another_workers(stores: Stores, others: Stores) -> None:
    await stores.inbox.accept(new_message())
    delivery = await stores.answer()
    assert not delivery.doubtful
    assert await others.outbox.claim_next() is None
    due = await others.outbox.next_due_ms()
    assert due is not None
    await stores.clock.advance((due - stores.clock.now_ms()) / 1000)
    again = await _next(others)
    assert (again.doubtful, again.fence, again.attempts) == (True, delivery.fence + 1, 2)
    before = look(stores.path, "SELECT * FROM outbox")
    for change in (
        stores.outbox.sent(delivery, "9.0"),
        stores.outbox.give_up(delivery, "dead", "no", Note.DEAD),
        stores.outbox.postpone(delivery, 1, doubtful=False, reason="no"),
        stores.outbox.note_draft(delivery, "9.0"),
    ):
        with pytest.raises(LostLease):
            await change
    assert look(stores.path, "SELECT * FROM outbox") == before


async def test_a_postponed_post_comes_back_when_it_is_due(stores: Stores, clock: FakeClock) -> None:
    await stores.inbox.accept(new_message())
    delivery = await stores.answer()
    for attempts, doubtful in ((2, True), (3, False)):
        await stores.outbox.postpone(delivery, 30, doubtful=doubtful, reason="later")
        assert await stores.outbox.claim_next() is None
        due = await stores.outbox.next_due_ms()
        assert due is not None
        assert due - clock.now_ms() == pytest.approx(30_000, abs=50)
        await clock.advance(30.1)
        delivery = await _next(stores)
        assert (delivery.doubtful, delivery.attempts) == (doubtful, attempts)


async def test_a_settled_post_is_never_claimed_again_and_blocks_no_other(stores: Stores, path: Path) -> None:
    states = ("unknown", "expired", "dead")
    for number, state in enumerate(states):
        where = ConversationKey(SOUL, TEAM, f"D{number}")
        await stores.inbox.accept(new_message(conversation=where))
        await stores.outbox.give_up(await stores.answer("a", "b"), state, "why", Note.DEAD)
        assert (await _next(stores, where)).post.body == "b"
        await stores.clock.advance(LEASE * 100)
        again = await _next(stores, where)
        assert again.post.body == "b", state
        await stores.outbox.sent(again, f"{number}.5")
    settled = "SELECT state, reason FROM outbox WHERE part = 0 AND note = 0 ORDER BY conversation"
    assert look(path, settled) == [(state, "why") for state in states]


async def test_the_ts_of_a_draft_survives_a_postponement(stores: Stores, clock: FakeClock) -> None:
    await stores.inbox.accept(new_message())
    claim = await stores.claim()
    await stores.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
    delivery = await stores.commits.commit(effect(claim, "whole"))
    assert delivery is not None
    assert delivery.post.draft_lost
    await stores.outbox.postpone(delivery, 1, doubtful=True, reason="history can't be read")
    await clock.advance(2)
    delivery = await _next(stores)
    assert delivery.post.draft_lost  # it must still be looked up
    await stores.outbox.note_draft(delivery, "7.0")
    await stores.outbox.postpone(delivery, 1, doubtful=False, reason="429")
    await clock.advance(2)
    delivery = await _next(stores)
    assert (delivery.post.draft_lost, delivery.post.draft) == (False, "7.0")


async def test_two_workers_never_send_the_same_post(stores: Stores, others: Stores) -> None:
    keys = [ConversationKey(SOUL, TEAM, f"D{number}") for number in range(20)]
    for key in keys:
        await stores.inbox.accept(new_message(conversation=key))
        await stores.outbox.postpone(await stores.answer(), 0, doubtful=False, reason="")
    claimed: list[str] = []

    async def send(worker: Stores) -> None:
        while (delivery := await worker.outbox.claim_next()) is not None:
            claimed.append(delivery.post.key)

    async with asyncio.TaskGroup() as group:
        for worker in (stores, others, stores, others):
            group.create_task(send(worker))
    assert sorted(claimed) == sorted(f"{key}@1#0" for key in keys)
