"""How far history was read survives the daemon; the fake of the tests orders and bounds as the store does."""

from pathlib import Path

import pytest

from daemon.core.ports import CatchUpLog, HeardPlace, UnreadPlace
from daemon.core.ports.arrivals import Acceptance
from tests.fake_catch_up import FakeCatchUpLog
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, new_message, thread
from tests.store.parts import Stores, look

ROOM, TALK, OTHER = UnreadPlace("C1", "", "5.0"), UnreadPlace("C1", "2.0", "5.0"), UnreadPlace("C2", "", "5.0")


@pytest.fixture(params=["store", "fake"])
def log(request: pytest.FixtureRequest, stores: Stores) -> CatchUpLog:
    return stores.inbox.catch_up_log if request.param == "store" else FakeCatchUpLog()


async def worked_off(log: CatchUpLog) -> list[UnreadPlace]:
    """Reads all due places; gives them in order."""
    found = []
    while (place := await log.next_unread(SOUL, TEAM, most_failures=3)) is not None:
        found.append(place)
        await log.mark_read(SOUL, TEAM, place, "9.0")
    return found


async def test_places_come_in_order_of_who_was_heard_last_or_as_they_waited(log: CatchUpLog, clock: FakeClock) -> None:
    await log.add_unread(SOUL, TEAM, [OTHER])
    await clock.sleep(1)
    places = [UnreadPlace(f"C1{number}", "", "5.0", heard_ms=number * 7 % 12) for number in range(12)]
    await log.add_unread(SOUL, TEAM, places)
    assert await log.next_unread(SOUL, TEAM, most_failures=3, waited_longest=True) == OTHER
    heard = [one.heard_ms for one in await worked_off(log)]
    assert heard == [*sorted((one.heard_ms for one in places), reverse=True), 0]


async def test_a_place_added_again_keeps_the_earlier_time_until_it_is_read_and_goes_on_there(log: CatchUpLog) -> None:
    await log.add_unread(SOUL, TEAM, [ROOM])
    await log.put_off(SOUL, TEAM, UnreadPlace("C1", "", "5.0", resume="7.0"))
    assert await log.next_unread(SOUL, TEAM, most_failures=3) == UnreadPlace("C1", "", "5.0", resume="7.0")
    await log.add_unread(SOUL, TEAM, [UnreadPlace("C1", "", "8.0", heard_ms=3)])
    assert await worked_off(log) == [UnreadPlace("C1", "", "5.0", heard_ms=3)]
    await log.add_unread(SOUL, TEAM, [UnreadPlace("C1", "", "8.0")])
    assert await worked_off(log) == [UnreadPlace("C1", "", "9.0", heard_ms=3)]


async def test_failed_places_come_last_then_rest_and_stay_due_when_the_mark_moves(log: CatchUpLog) -> None:
    await log.add_unread(SOUL, TEAM, [UnreadPlace("C1", "", "5.0", heard_ms=9), OTHER])
    await log.put_off(SOUL, TEAM, UnreadPlace("C1", "", "5.0", heard_ms=9, failures=1))
    assert await log.next_unread(SOUL, TEAM, most_failures=3) == OTHER
    await log.put_off(SOUL, TEAM, UnreadPlace("C1", "", "5.0", heard_ms=9, failures=3))
    assert await worked_off(log) == [OTHER]
    await log.advance(SOUL, TEAM, "20.0")
    await log.add_unread(SOUL, TEAM, [UnreadPlace("C1", "", "19.0"), UnreadPlace("C2", "", "19.0")])
    assert [one.since for one in await worked_off(log)] == ["5.0", "19.0"]


async def test_quiet_threads_count_as_read_and_unseen_ones_do_not(log: CatchUpLog) -> None:
    unseen, loud = UnreadPlace("C1", "3.0", "5.0"), UnreadPlace("C1", "4.0", "5.0")
    await log.add_unread(SOUL, TEAM, [TALK, unseen, loud, OTHER])
    await log.mark_quiet(SOUL, TEAM, "C1", {"2.0": "4.5", "4.0": "5.5"})
    assert await worked_off(log) == [unseen, loud, OTHER]


async def test_the_watermark_moves_forward_only_except_from_the_future(stores: Stores, clock: FakeClock) -> None:
    log, now = stores.inbox.catch_up_log, clock.now_ms() / 1000
    assert await log.watermark(SOUL, TEAM) is None
    for ts in ("9.5", "10.1", "9.9"):
        await log.advance(SOUL, TEAM, ts)
    assert await log.watermark(SOUL, TEAM) == "10.1"
    clock.set_back(-86_400)  # a day ahead, for a moment
    await log.advance(SOUL, TEAM, f"{now + 86_000:.6f}")
    clock.set_back(86_400)
    assert await log.watermark(SOUL, TEAM) is None  # it proves nothing: the whole day is read
    await log.advance(SOUL, TEAM, f"{now - 60:.6f}")
    assert await log.watermark(SOUL, TEAM) == f"{now - 60:.6f}"


async def test_old_event_ids_are_deleted_when_the_watermark_moves(stores: Stores, path: Path, clock: FakeClock) -> None:
    await stores.inbox.accept(new_message("1.0"))
    await clock.advance(49 * 3600)
    await stores.inbox.accept(new_message("2.0"))
    await stores.inbox.catch_up_log.advance(SOUL, TEAM, "2.0")
    assert look(path, "SELECT event_id FROM deliveries") == [("ED12.0",)]
    assert await stores.inbox.accept(new_message("1.0")) is Acceptance.DUPLICATE  # the message is known for ever


async def test_heard_places_are_the_recent_ones_and_some_older_threads(stores: Stores, clock: FakeClock) -> None:
    log, older, newer = stores.inbox.catch_up_log, thread("1.0"), thread("2.0", "C2")
    last = {}
    for key in (older, newer, DM):
        await clock.advance(1)
        await stores.inbox.accept(new_message(key.thread or "9.0", conversation=key))
        last[key] = HeardPlace(key.channel, key.thread, clock.now_ms())
    since = last[DM].last_ms
    assert await log.heard_places(TEAM, 0, 0) == ((last[DM], last[newer], last[older]), 0)
    assert await log.heard_places(TEAM, since, 1) == ((last[DM], last[newer]), 1)
    assert await log.heard_places(TEAM, since + 1, 5) == ((last[newer], last[older]), 0)


async def test_messages_and_posts_of_any_soul_are_known_and_one_on_its_way_before_it_is_named(stores: Stores) -> None:
    log = stores.inbox.catch_up_log
    for ts in ("1.0", "3.0"):
        await stores.inbox.accept(new_message(ts))
    assert await log.known_messages(TEAM, "D1", ["1.0", "2.0", "3.0"], "U0SOUL") == {"1.0", "3.0"}
    assert await log.known_messages(TEAM, "D1", [], "U0SOUL") == frozenset()
    delivery = await stores.answer("hello")
    await stores.outbox.sent(delivery, "4.0")
    assert await log.known_posts(TEAM, "D1", "", ["4.0", "5.0"]) == {"4.0"}
    assert await log.known_posts(TEAM, "C1", "", ["4.0"]) == frozenset()
    here = thread("1.0")
    claim = await stores.claimed(new_message("1.0", conversation=here))
    await stores.conversations.begin_draft(claim, reply_to="1.0", recipient="U1", newer_than_ts="1.0")
    # else the messages of its thread that are read at that moment would count as answered, and be lost
    assert await log.known_posts(TEAM, here.channel, "1.0", ["0.9", "1.5"]) == {"1.5"}
    assert await log.known_posts(TEAM, here.channel, "1.2", ["1.5"]) == frozenset(), "in another thread"
    assert await log.known_posts(TEAM, "C9", "1.0", ["1.5"]) == frozenset(), "in another channel"
    await stores.conversations.draft_opened(claim, "1.5")
    assert await log.known_posts(TEAM, here.channel, "1.0", ["1.5", "1.6"]) == {"1.5"}
