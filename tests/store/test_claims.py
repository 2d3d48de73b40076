"""One worker at a time claims a conversation, in order; a worker that lost its claim writes nothing."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from daemon.core.errors import LostLease
from daemon.core.perception import ConversationKey
from daemon.memory.queues.commits import Superseded
from daemon.memory.records import Claim, Dismissal, Draft
from tests.fakes import FakeClock
from tests.store.parts import DM, LEASE, SOUL, TEAM, Hands, call, deleted, effect, look, said

OTHER = ConversationKey(SOUL, TEAM, "D2")
_TABLES = ("conversations", "inbox", "outbox", "turns", "jobs", "llm_calls", "working_memory")


def everything(path: Path) -> list[object]:
    return [look(path, f"SELECT * FROM {table}") for table in _TABLES]


async def test_messages_are_claimed_in_ts_order(hands: Hands) -> None:
    for ts in ("9.5", "10.000002", "10.000001"):
        await hands.inbox.accept(said(ts))
    assert [one.perception.ts for one in (await hands.claim()).messages] == ["9.5", "10.000001", "10.000002"]


async def test_a_claimed_conversation_is_not_claimed_again(hands: Hands, others: Hands) -> None:
    await hands.inbox.accept(said("1.0"))
    await hands.claim()
    await hands.inbox.accept(said("2.0"))
    assert await others.conversations.claim_next() is None


async def test_the_conversation_that_waited_longest_comes_first(hands: Hands, clock: FakeClock) -> None:
    await hands.inbox.accept(said("5.0", conversation=OTHER))
    for number in range(20):
        await clock.advance(1)
        await hands.inbox.accept(said(f"{number}.0"))
    assert [(await hands.claim()).conversation for _ in range(2)] == [OTHER, DM]


async def test_a_lapsed_claim_is_taken_over_with_a_higher_fence(hands: Hands, others: Hands, clock: FakeClock) -> None:
    await hands.inbox.accept(said())
    lost = await hands.claim()
    await clock.advance(LEASE + 1)
    taken = await others.claim()
    assert (taken.fence, taken.version) == (lost.fence + 1, lost.version)
    assert [one.attempts for one in taken.messages] == [2]


async def test_a_renewed_claim_is_not_taken_over(hands: Hands, others: Hands, clock: FakeClock) -> None:
    await hands.inbox.accept(said())
    claim = await hands.claim()
    for _ in range(3):
        await clock.advance(LEASE * 0.9)
        await hands.conversations.renew(claim)
        assert await others.conversations.claim_next() is None


_CALLS: dict[str, Callable[[Hands, Claim], Awaitable[object]]] = {
    "renew": lambda hands, claim: hands.conversations.renew(claim),
    "begin a draft": lambda hands, claim: hands.conversations.begin_draft(
        claim, reply_to="", recipient="U1", newer_than_ts="1"
    ),
    "open a draft": lambda hands, claim: hands.conversations.draft_opened(claim, "7.0"),
    "refuse a draft": lambda hands, claim: hands.conversations.draft_refused(claim),
    "commit": lambda hands, claim: hands.commits.commit(effect(claim, "late", jobs=("summarizes",))),
}


@pytest.mark.parametrize("action", _CALLS)
async def test_a_worker_with_a_lost_claim_writes_nothing(
    hands: Hands, others: Hands, clock: FakeClock, path: Path, action: str
) -> None:
    await hands.inbox.accept(said())
    claim = await hands.claim()
    await clock.advance(LEASE + 1)
    taken = await others.claim()
    await others.conversations.begin_draft(taken, reply_to="", recipient="U1", newer_than_ts="1")
    before = everything(path)
    with pytest.raises(LostLease):
        await _CALLS[action](hands, claim)
    await hands.conversations.release(claim, retry_in=99)
    assert everything(path) == before
    assert await others.commits.commit(effect(taken, "answer")) is not None


@pytest.mark.parametrize("end", ["commit", "release"])
@pytest.mark.parametrize("action", _CALLS)
async def test_a_claim_ends_with_its_commit_or_release(hands: Hands, path: Path, action: str, end: str) -> None:
    await hands.inbox.accept(said())
    claim = await hands.claim()
    if end == "commit":
        await hands.commits.commit(effect(claim, "answer"))
    else:
        await hands.conversations.release(claim)
    before = everything(path)
    with pytest.raises(LostLease):  # a late renewal must not hold the conversation for a whole lease
        await _CALLS[action](hands, claim)
    assert everything(path) == before


async def test_a_paused_message_holds_up_its_conversation(hands: Hands, clock: FakeClock) -> None:
    await hands.inbox.accept(said("1.0"))
    await hands.conversations.release(await hands.claim(), retry_in=5, reason="not now")
    await hands.inbox.accept(said("2.0"))  # it must not overtake the first
    due = await hands.conversations.next_due_ms()
    assert due is not None
    assert due - clock.now_ms() == pytest.approx(5000, abs=50)
    assert await hands.conversations.claim_next() is None
    await clock.advance(5.1)
    assert [(one.perception.ts, one.attempts) for one in (await hands.claim()).messages] == [("1.0", 1), ("2.0", 1)]


async def test_a_draft_does_not_cut_a_pause_short(hands: Hands) -> None:
    await hands.inbox.accept(said())
    claim = await hands.claim()
    await hands.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
    await hands.conversations.release(claim, retry_in=5)
    assert await hands.conversations.claim_next() is None


async def test_the_next_claim_finds_and_finishes_a_draft(
    hands: Hands, others: Hands, clock: FakeClock, path: Path
) -> None:
    await hands.inbox.accept(said())
    claim = await hands.claim()
    await hands.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
    await hands.conversations.draft_opened(claim, "7.0")
    await clock.advance(LEASE + 1)
    taken = await others.claim()
    assert taken.draft == Draft(claim.key(0), "7.0")
    delivery = await others.commits.commit(effect(taken, "whole"))
    assert delivery is not None
    assert (delivery.post.key, delivery.post.draft, delivery.post.draft_lost) == (claim.key(0), "7.0", False)
    assert look(path, "SELECT count(*) FROM outbox") == [(1,)]


async def test_a_draft_with_a_lost_ts_is_looked_up(hands: Hands, others: Hands, clock: FakeClock) -> None:
    await hands.inbox.accept(said())
    await hands.conversations.begin_draft(await hands.claim(), reply_to="", recipient="U1", newer_than_ts="1")
    await clock.advance(LEASE + 1)
    taken = await others.claim()
    assert taken.draft is not None
    assert taken.draft.ts is None
    delivery = await others.commits.commit(effect(taken, "whole"))
    assert delivery is not None
    assert (delivery.post.draft, delivery.post.draft_lost) == (None, True)


async def test_a_refused_draft_leaves_nothing(hands: Hands, path: Path) -> None:
    await hands.inbox.accept(said())
    claim = await hands.claim()
    await hands.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
    await hands.conversations.draft_refused(claim)
    assert look(path, "SELECT count(*) FROM outbox") == [(0,)]


async def test_a_draft_whose_messages_are_deleted_is_claimed_and_dropped(hands: Hands, path: Path) -> None:
    await hands.inbox.accept(said("1.0"))
    claim = await hands.claim()
    await hands.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
    await hands.conversations.draft_opened(claim, "7.0")
    await hands.inbox.accept(deleted("1.0"))
    with pytest.raises(Superseded):
        await hands.commits.commit(effect(claim, "reply"))
    await hands.conversations.release(claim)
    orphan = await hands.claim()
    assert (orphan.messages, orphan.draft) == ((), Draft(claim.key(0), "7.0"))
    delivery = await hands.commits.commit(effect(orphan, "it is gone"))
    assert delivery is not None
    with pytest.raises(LostLease):  # the worker that lost the claim must not store the reply again
        await hands.commits.commit(effect(orphan, "it is gone"))
    assert look(path, "SELECT state, body FROM outbox") == [("sending", "it is gone")]


async def test_a_commit_without_a_reply_drops_the_draft(hands: Hands, path: Path) -> None:
    await hands.inbox.accept(said())
    claim = await hands.claim()
    await hands.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
    assert await hands.commits.commit(effect(claim)) is None
    assert look(path, "SELECT state FROM outbox") == [("dropped",)]
    assert look(path, "SELECT state, answered_by FROM inbox") == [("answered", None)]


async def test_a_message_that_arrives_during_a_cycle_waits_for_the_next_cycle(hands: Hands) -> None:
    await hands.inbox.accept(said("1.0"))
    claim = await hands.claim()
    await hands.inbox.accept(said("2.0"))
    await hands.commits.commit(effect(claim, "one"))
    later = await hands.claim()
    assert ([one.perception.ts for one in later.messages], later.version) == (["2.0"], claim.version + 1)


async def test_a_commit_stores_the_whole_cycle(hands: Hands, path: Path) -> None:
    await hands.inbox.accept(said("1.0"))
    await hands.inbox.accept(said("2.0"))
    await hands.inbox.accept(said("3.0"))
    claim = await hands.claim()
    dismissed = {
        claim.messages[1].id: Dismissal("guest"),
        claim.messages[2].id: Dismissal("too old to answer", stale=True),
    }
    await hands.commits.commit(
        effect(claim, "a", "b", answered=claim.messages[:1], dismissed=dismissed, jobs=("summarizes", "summarizes"))
    )
    assert look(path, "SELECT ts, state, reason, answered_by FROM inbox ORDER BY ts") == [
        ("1.0", "answered", "", claim.key(0)),
        ("2.0", "ignored", "guest", None),
        ("3.0", "stale", "too old to answer", None),
    ]
    assert look(path, "SELECT id, part, last, state FROM outbox") == [
        (claim.key(0), 0, 0, "sending"),
        (claim.key(1), 1, 1, "pending"),
    ]
    assert look(path, "SELECT speaker, ts FROM turns") == [("person", "1.0"), ("soul", "1.0")]
    assert look(path, "SELECT kind, state FROM jobs") == [("summarizes", "ready")]
    assert look(path, "SELECT count(*) FROM llm_calls") == [(1,)]
    assert look(path, "SELECT version, taking_part, lease_until, lease_owner FROM conversations") == [(1, 1, 0, "")]
    assert await hands.conversations.next_due_ms() is None


async def test_model_calls_of_a_cycle_without_a_commit_are_recorded(hands: Hands, path: Path) -> None:
    await hands.commits.record_calls(())
    await hands.commits.record_calls((call("a"), call("b")))
    assert look(path, "SELECT trace_id FROM llm_calls") == [("a",), ("b",)]
