"""One worker at a time claims a conversation, in order; a worker that lost its claim writes nothing."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.errors import LostLease
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.memory.emptied_posts import Note
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.commits import Superseded
from daemon.memory.records import Claim, Dismissal, Draft, ProcessState
from tests.fakes import FakeClock
from tests.given import DM, LEASE, SOUL, TEAM, call, deleted, effect, new_message, thread
from tests.store.parts import Stores, look, poke

OTHER = ConversationKey(SOUL, TEAM, "D2")
_TABLES = ("conversations", "inbox", "outbox", "turns", "jobs", "llm_calls", "working_memory")


def everything(path: Path) -> list[object]:
    return [look(path, f"SELECT * FROM {table}") for table in _TABLES]


async def test_messages_are_claimed_in_ts_order_by_one_worker(stores: Stores, others: Stores) -> None:
    for ts in ("9.5", "10.000002", "10.000001"):
        await stores.inbox.accept(new_message(ts))
    assert [one.perception.ts for one in (await stores.claim()).messages] == ["9.5", "10.000001", "10.000002"]
    await stores.inbox.accept(new_message("11.0"))
    assert await others.conversations.claim_next() is None


async def test_the_conversation_that_waited_longest_comes_first(stores: Stores, clock: FakeClock) -> None:
    await stores.inbox.accept(new_message("5.0", conversation=OTHER))
    for number in range(20):
        await clock.advance(1)
        await stores.inbox.accept(new_message(f"{number}.0"))
    assert [(await stores.claim()).conversation for _ in range(2)] == [OTHER, DM]


async def test_a_claim_not_renewed_is_taken_over_and_who_lost_it_writes_nothing(stores: Stores, others: Stores) -> None:
    lost = await stores.claimed(new_message())
    for _ in range(3):
        await stores.clock.advance(LEASE * 0.9)
        await stores.conversations.renew(lost)
        assert await others.conversations.claim_next() is None
    await stores.clock.advance(LEASE + 1)
    taken = await others.claim()
    assert (taken.fence, taken.version) == (lost.fence + 1, lost.version)
    assert [one.attempts for one in taken.messages] == [2]
    await draft(others, taken)
    await _refuses_all(stores, lost, stores.path)
    before = everything(stores.path)
    await stores.conversations.release(lost, retry_in=99)
    assert not await stores.conversations.park(lost, "KeyError", reply_to="", retry_in=5)
    assert everything(stores.path) == before
    assert await others.commits.commit(effect(taken, "answer")) is not None


async def draft(stores: Stores, claim: Claim, reply_to: str = "") -> None:
    await stores.conversations.begin_draft(claim, reply_to=reply_to, recipient="U1", newer_than_ts="1")


_CALLS: dict[str, Callable[[Stores, Claim], Awaitable[object]]] = {
    "renew": lambda stores, claim: stores.conversations.renew(claim),
    "begin a draft": draft,
    "open a draft": lambda stores, claim: stores.conversations.draft_opened(claim, "7.0"),
    "refuse a draft": lambda stores, claim: stores.conversations.draft_refused(claim),
    "commit": lambda stores, claim: stores.commits.commit(effect(claim, "late", jobs=("summarizes",))),
}


async def _refuses_all(stores: Stores, claim: Claim, path: Path) -> None:
    before = everything(path)
    for name, call_with in _CALLS.items():
        with pytest.raises(LostLease):
            await call_with(stores, claim)
        assert everything(path) == before, name


@pytest.mark.parametrize("end", ["commit", "release"])
async def test_a_claim_ends_with_its_commit_or_release(stores: Stores, path: Path, end: str) -> None:
    claim = await stores.claimed(new_message())
    if end == "commit":
        await stores.commits.commit(effect(claim, "answer"))
    else:
        await stores.conversations.release(claim)
    await _refuses_all(stores, claim, path)  # a late renewal must not hold the conversation for a whole lease


async def test_a_paused_message_holds_up_its_conversation_also_with_a_draft(stores: Stores, clock: FakeClock) -> None:
    claim = await stores.claimed(new_message("1.0"))
    await draft(stores, claim)
    await stores.conversations.release(claim, retry_in=5, reason="not now")
    await stores.inbox.accept(new_message("2.0"))  # it must not overtake the first
    due = await stores.conversations.next_due_ms()
    assert due is not None
    assert due - clock.now_ms() == pytest.approx(5000, abs=50)
    assert await stores.conversations.claim_next() is None
    await clock.advance(5.1)
    assert [(one.perception.ts, one.attempts) for one in (await stores.claim()).messages] == [("1.0", 1), ("2.0", 1)]


@pytest.mark.parametrize("ts", ["7.0", None])
async def test_the_next_claim_finds_and_finishes_a_draft_or_has_it_looked_up_where_its_ts_was_lost(
    stores: Stores, others: Stores, clock: FakeClock, path: Path, ts: str | None
) -> None:
    claim = await stores.claimed(new_message())
    await draft(stores, claim)
    if ts:
        await stores.conversations.draft_opened(claim, ts)
    await clock.advance(LEASE + 1)
    taken = await others.claim()
    assert taken.draft == Draft(claim.key(0), ts)
    delivery = await others.commits.commit(effect(taken, "whole"))
    assert delivery is not None
    assert (delivery.post.key, delivery.post.draft, delivery.post.draft_lost) == (claim.key(0), ts, ts is None)
    assert look(path, "SELECT count(*) FROM outbox") == [(1,)]


async def test_a_draft_that_is_refused_leaves_nothing_and_one_without_a_reply_is_dropped(stores: Stores) -> None:
    claim = await stores.claimed(new_message())
    await draft(stores, claim)
    await stores.conversations.draft_refused(claim)
    assert look(stores.path, "SELECT count(*) FROM outbox") == [(0,)]
    await draft(stores, claim)
    assert await stores.commits.commit(effect(claim)) is None
    assert look(stores.path, "SELECT state FROM outbox") == [("dropped",)]
    assert look(stores.path, "SELECT state, answered_by FROM inbox") == [("answered", None)]


async def test_a_draft_whose_messages_are_deleted_is_claimed_and_dropped(stores: Stores, path: Path) -> None:
    claim = await stores.claimed(new_message("1.0"))
    await draft(stores, claim)
    await stores.conversations.draft_opened(claim, "7.0")
    await stores.inbox.accept(deleted("1.0"))
    with pytest.raises(Superseded):
        await stores.commits.commit(effect(claim, "reply"))
    await stores.conversations.release(claim)
    orphan = await stores.claim()
    assert (orphan.messages, orphan.draft) == ((), Draft(claim.key(0), "7.0"))
    delivery = await stores.commits.commit(effect(orphan, "it is gone"))
    assert delivery is not None
    with pytest.raises(LostLease):  # the worker that lost the claim must not store the reply again
        await stores.commits.commit(effect(orphan, "it is gone"))
    assert look(path, "SELECT state, body FROM outbox") == [("sending", "it is gone")]


async def test_a_message_that_comes_during_a_cycle_or_is_left_over_was_not_tried(stores: Stores, path: Path) -> None:
    await stores.inbox.accept(new_message("1.0"))
    claim = await stores.claimed(new_message("2.0"))
    await stores.inbox.accept(new_message("3.0"))
    await stores.commits.commit(replace(effect(claim, "one"), answered=claim.messages[:1]))
    assert look(path, "SELECT ts, state, attempts FROM inbox ORDER BY ts") == [
        ("1.0", "answered", 1),
        ("2.0", "new", 0),
        ("3.0", "new", 0),
    ]
    later = await stores.claim()
    assert ([one.perception.ts for one in later.messages], later.version) == (["2.0", "3.0"], claim.version + 1)


async def test_a_commit_stores_the_whole_cycle_and_model_calls_need_none(stores: Stores, path: Path) -> None:
    await stores.inbox.accept(new_message("1.0"))
    await stores.inbox.accept(new_message("2.0"))
    claim = await stores.claimed(new_message("3.0"))
    dismissed = {
        claim.messages[1].id: Dismissal("guest"),
        claim.messages[2].id: Dismissal("too old to answer", stale=True),
    }
    await stores.commits.commit(
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
    assert await stores.conversations.next_due_ms() is None
    await stores.commits.record_calls(())
    await stores.commits.record_calls((call("a"), call("b")))
    assert look(path, "SELECT trace_id FROM llm_calls") == [("a",), ("b",), ("t1",)]


PUBLIC, PRIVATE = Audience(AudienceKind.WORKSPACE, TEAM), Audience(AudienceKind.CHANNEL, "C1")


async def _claimed_in(stores: Stores, audience: Audience, then: Audience) -> Claim:
    """A claim on a thread whose audience is told otherwise by the next message there."""
    claim = await stores.claimed(new_message("1.0", conversation=thread("1.0"), audience=audience))
    await stores.inbox.accept(new_message("2.0", conversation=thread("1.0"), audience=then))
    return claim


async def test_a_claim_is_void_once_the_words_of_its_conversation_are_for_fewer_people(stores: Stores) -> None:
    claim = await _claimed_in(stores, PUBLIC, PRIVATE)
    before = everything(stores.path)
    writes: dict[str, Callable[[], Awaitable[object]]] = {
        "commit": lambda: stores.commits.commit(effect(claim, "hello")),
        "renew": lambda: stores.conversations.renew(claim),
        "absorb": lambda: stores.conversations.absorb_new_messages(claim),
        "draft": lambda: draft(stores, claim),
    }
    for name, write in writes.items():
        with pytest.raises(ReadersChanged):
            await write()
        assert everything(stores.path) == before, name
    await stores.conversations.release(claim)
    assert (await stores.claim()).audience == PRIVATE


async def test_a_claim_for_fewer_people_keeps_its_narrower_audience(stores: Stores, path: Path) -> None:
    claim = await _claimed_in(stores, PRIVATE, PUBLIC)
    await stores.commits.commit(effect(claim, "hello"))
    assert look(path, "SELECT DISTINCT audience FROM turns UNION SELECT DISTINCT audience FROM outbox") == [
        ("channel:C1",)
    ]


async def test_a_corrected_audience_is_that_of_the_conversation_and_its_messages(stores: Stores, path: Path) -> None:
    await stores.inbox.accept(new_message("1.0", conversation=thread("1.0"), audience=PUBLIC))
    claim = await stores.conversations.correct_audience(await stores.claim(), PRIVATE)
    assert claim.audience == PRIVATE
    await stores.commits.commit(effect(claim, "hello"))
    for table in ("conversations", "inbox", "turns", "outbox"):
        assert look(path, f"SELECT DISTINCT audience FROM {table}") == [("channel:C1",)]
    with pytest.raises(LostLease):
        await stores.conversations.correct_audience(claim, PUBLIC)


async def test_that_an_outsider_spoke_is_never_forgotten(stores: Stores) -> None:
    for number, spoke in enumerate((False, True, False, False), 1):
        claim = await stores.claimed(new_message(f"{number}.0"))
        assert claim.outsider_spoke is (number >= 3)
        await stores.commits.commit(replace(effect(claim, "hello"), outsider_spoke=spoke))


async def test_a_message_that_can_not_be_read_is_parked_and_holds_up_no_other(stores: Stores, path: Path) -> None:
    for ts in ("1.0", "2.0"):
        await stores.inbox.accept(new_message(ts))
    poke(path, "UPDATE inbox SET params = '[' WHERE ts = '1.0'")
    claim = await stores.claim()
    assert [one.perception.ts for one in claim.messages] == ["2.0"]
    assert len(claim.unreadable) == 1
    assert look(path, "SELECT state FROM inbox WHERE ts = '1.0'") == [("dead",)]
    assert look(path, "SELECT body, note FROM outbox") == [(Note.UNREAD, 1)]


async def test_a_state_and_the_private_part_of_a_turn_that_can_not_be_read_stop_nothing(stores: Stores) -> None:
    await stores.inbox.accept(new_message())
    for fault in ("params = '['", "params = '[]'", "process_memory = '[1]'"):
        poke(stores.path, f"UPDATE conversations SET process = 'sleeping', {fault}")
        claim = await stores.claim()
        assert (claim.state, claim.unreadable) == (ProcessState(), (str(DM),)), fault
        await stores.conversations.release(claim)
    await stores.answer("hello")
    for thought in ("[", "[]", "3"):
        poke(stores.path, "UPDATE turns SET thought = ?", thought)
        read = [(turn.body, turn.thought) for turn in (await stores.turns.transcript(DM, 9)).turns]
        assert read == [("hi", {}), ("hello", {})], thought


@pytest.mark.parametrize("draft", [True, False])
async def test_messages_that_failed_three_times_are_parked_with_a_note(stores: Stores, path: Path, draft: bool) -> None:
    await stores.inbox.accept(new_message())
    for failure in (1, 2, 3):
        claim = await stores.claim()
        if draft and failure == 1:
            await stores.conversations.begin_draft(claim, reply_to="9.9", recipient="U1", newer_than_ts="1")
        parked = await stores.conversations.park(claim, "KeyError", reply_to="9.9", retry_in=5)
        assert parked == (failure == 3)
        assert await stores.conversations.claim_next() is None
        await stores.clock.advance(6)
    assert look(path, "SELECT state, reason FROM inbox") == [("dead", "KeyError")]
    assert look(path, "SELECT state, body, reply_to, note FROM outbox") == [("pending", Note.UNREAD, "9.9", 1)]
    assert await stores.conversations.claim_next() is None
    await stores.inbox.accept(new_message("2.0"))
    assert (await stores.claim()).draft is None
