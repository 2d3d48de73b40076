"""Who is claimed next: users take turns, DMs have room, what waits too long ends, and a claim stays cheap."""

import pytest
from msgspec.structs import replace

from daemon.core.errors import LostLease
from daemon.core.perception import Place
from daemon.core.ports.arrivals import NewMessage, Source
from daemon.memory.queues.commits import Superseded
from daemon.memory.queues.inbox import Inbox
from tests.fakes import Events, FakeClock
from tests.given import edited, effect, new_message, thread
from tests.store.counting import count_steps
from tests.store.parts import Stores, look

_DEADLINE = 180.0


def asked(number: int, author: str, *, place: Place = Place.PUBLIC_CHANNEL, source: Source = Source.LIVE) -> NewMessage:
    """A message that opens a thread of its own."""
    message = new_message(f"{number}.0", conversation=thread(f"{number}.0"), author=author)
    return replace(message, perception=replace(message.perception, place=place), source=source)


async def who_is_next(stores: Stores, *, dms_only: bool = False) -> str:
    claim = await stores.conversations.claim_next(dms_only=dms_only)
    return claim.messages[0].perception.author if claim else ""


async def test_a_user_with_many_threads_yields_to_one_with_nothing_under_way(stores: Stores, clock: FakeClock) -> None:
    for number in range(1, 30):
        await stores.inbox.accept(asked(number, "Ben"))
        await clock.advance(0.01)
    assert await who_is_next(stores) == "Ben"
    await stores.inbox.accept(asked(50, "Ada"))
    await clock.advance(0.01)
    await stores.inbox.accept(asked(51, "Chloe"))
    assert [await who_is_next(stores) for _ in range(3)] == ["Ada", "Chloe", "Ben"]


async def test_of_users_with_something_under_way_the_one_with_the_least_is_next(stores: Stores) -> None:
    for number, author in enumerate(("Ben", "Ben", "Ada", "Ben", "Ben", "Ada"), 1):
        await stores.inbox.accept(asked(number, author))
        await stores.clock.advance(0.01)
    ended = await stores.claim()
    assert [await who_is_next(stores) for _ in range(2)] == ["Ada", "Ben"]
    await stores.commits.commit(effect(ended, "done"))  # it no longer counts
    assert [await who_is_next(stores) for _ in range(4)] == ["Ben", "Ada", "Ben", ""]


async def test_a_slot_kept_for_dms_takes_a_dm_whoever_waits_longer(stores: Stores, clock: FakeClock) -> None:
    for number in range(1, 5):
        await stores.inbox.accept(asked(number, f"U{number}"))
    await clock.advance(1)
    assert await stores.conversations.next_due_ms(dms_only=True) is None
    assert await who_is_next(stores, dms_only=True) == ""
    await stores.inbox.accept(asked(9, "Ada", place=Place.DM))
    due = await stores.conversations.next_due_ms(dms_only=True)
    assert due is not None
    assert due <= clock.now_ms()
    assert await who_is_next(stores, dms_only=True) == "Ada"


async def test_one_conversation_too_many_of_a_user_is_marked_unless_it_was_read_after_a_gap(stores: Stores) -> None:
    inbox = Inbox(stores.database, stores.clock, Events(), lambda _: None, most_waiting=3)
    for number in range(1, 6):
        await inbox.accept(asked(number, "Ben"))
    await inbox.accept(asked(6, "Ben", source=Source.BACKFILL))
    await inbox.accept(asked(7, "Ada"))
    await inbox.accept(replace(new_message("8.0", conversation=thread("1.0"), author="Ben")))
    assert look(stores.path, "SELECT ts FROM inbox WHERE crowded = 1 ORDER BY ts") == [("4.0",), ("5.0",)]
    claims = [await stores.conversations.claim_overdue(_DEADLINE) for _ in range(3)]
    assert [claim.messages[0].crowded for claim in claims if claim] == [True, True]


async def test_a_live_message_is_overdue_after_the_deadline_and_one_of_a_gap_is_not(stores: Stores) -> None:
    await stores.clock.advance(1_000)  # this daemon lives since long
    await stores.inbox.accept(asked(1, "Ada"))
    await stores.inbox.accept(asked(2, "Ben", source=Source.BACKFILL))
    due = await stores.conversations.next_overdue_ms(_DEADLINE)
    assert due is not None
    assert due - stores.clock.now_ms() == _DEADLINE * 1000
    await stores.clock.advance(_DEADLINE - 1)
    assert await stores.conversations.claim_overdue(_DEADLINE) is None
    await stores.clock.advance(1)
    claim = await stores.conversations.claim_overdue(_DEADLINE)
    assert claim is not None
    assert [one.perception.author for one in claim.messages] == ["Ada"]
    assert await stores.conversations.claim_overdue(_DEADLINE) is None
    assert await stores.conversations.next_overdue_ms(_DEADLINE) is None


async def test_what_waited_while_no_daemon_lived_or_the_gate_could_not_be_asked_is_not_overdue(stores: Stores) -> None:
    await stores.inbox.accept(asked(1, "Ada"))
    await stores.clock.advance(_DEADLINE + 100)
    reborn = Stores.of(stores.database, stores.clock)
    assert await reborn.conversations.claim_overdue(_DEADLINE) is None
    due = await reborn.conversations.next_overdue_ms(_DEADLINE)
    assert due == stores.clock.now_ms() + _DEADLINE * 1000
    await reborn.conversations.release(await reborn.claim(), retry_in=_DEADLINE)
    await stores.clock.advance(_DEADLINE + 1)
    assert await reborn.conversations.claim_overdue(_DEADLINE) is None  # its pause ended just now


async def test_a_message_that_keeps_changing_rests_longer_and_longer_and_no_edit_is_a_crash(stores: Stores) -> None:
    await stores.inbox.accept(new_message("1.0"))
    rests: list[float] = []
    for number in range(7):
        began = stores.clock.now_ms()
        due = await stores.conversations.next_due_ms()
        assert due is not None
        await stores.clock.advance(max(0, due - began) / 1000)
        rests.append(round((stores.clock.now_ms() - began) / 1000))
        claim = await stores.claim()
        assert [(one.attempts, one.voided) for one in claim.messages] == [(1, number)]
        await stores.inbox.accept(edited("1.0", f"draft {number}"))
        with pytest.raises(Superseded):
            await stores.commits.commit(effect(claim, "too late"))
        await stores.conversations.release(claim, text_changed=True)
    assert rests == [0, 0, 0, 5, 10, 20, 40]


async def test_an_edit_during_its_rest_makes_a_message_rest_anew_for_two_minutes_at_most(stores: Stores) -> None:
    await stores.inbox.accept(new_message("1.0"))
    for number in range(3):
        claim = await stores.claim()
        await stores.inbox.accept(edited("1.0", f"draft {number}"))
        await stores.conversations.release(claim, text_changed=True)
    for number in range(60):
        await stores.clock.advance(4)
        await stores.inbox.accept(edited("1.0", f"later {number}"))
        if await stores.conversations.claim_next() is not None:
            break
    assert 120 < (number + 1) * 4 < 130


async def test_a_lost_claim_counts_no_cycle_in_vain(stores: Stores, others: Stores, clock: FakeClock) -> None:
    await stores.inbox.accept(new_message("1.0"))
    lost = await stores.claim()
    await clock.advance(61)
    await others.claim()
    await stores.conversations.release(lost, text_changed=True)
    with pytest.raises(LostLease):
        await stores.conversations.renew(lost)
    await clock.advance(61)
    assert [one.voided for one in (await stores.claim()).messages] == [0]


_MANY = "WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)"
_CONVERSATIONS = """
    INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
    SELECT 'ada/T1/C1/' || i || '.0', 'ada', 'T1', 'C1', i || '.0', 'public_channel', 'channel:C1', 0 FROM n
"""
_MESSAGES = """
    INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, author, place, audience, body, source, state,
                       received_ms, envelope)
    SELECT 'ada/T1/C1/' || i || '.0', 'ada', 'T1', 'C1', i || '.0', 'ada/T1/C1/' || i || '.0', 'U' || (i % :people),
           'public_channel', 'channel:C1', 'hi', 'live', 'new', :now + i, '{}' FROM n
"""


@pytest.mark.parametrize("people", [1, 2000], ids=["of one user", "of thousands"])
async def test_a_claim_costs_as_little_with_thousands_waiting_as_with_few(stores: Stores, people: int) -> None:
    counter = await count_steps(stores.database)

    async def fill(first: int, last: int) -> None:
        await stores.database.run(_MANY + _CONVERSATIONS, first=first, last=last)
        await stores.database.run(_MANY + _MESSAGES, first=first, last=last, people=people, now=stores.clock.now_ms())
        await stores.clock.advance(100)

    async def steps_of_a_claim() -> int:
        before = counter.steps
        await stores.claim()
        return counter.steps - before

    await fill(1, 40)
    few = await steps_of_a_claim()
    await fill(41, 2000)
    many = max([await steps_of_a_claim() for _ in range(3)])
    assert await stores.conversations.next_due_ms() is not None
    assert many <= few + 10_000, (few, many)  # a step a row of the whole queue is more
