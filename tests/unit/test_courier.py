"""Each post is sent once: looked up when in doubt, postponed on a passing failure, settled as unknown at last."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.core.errors import ChannelRefused, DeliveryUncertain, NotDelivered, StoreError
from daemon.core.ports.channel import Channel
from daemon.core.ports.posts import FoundPost, Post
from daemon.memory.database import open_database
from daemon.memory.records import Delivery
from daemon.runtime.courier import Courier
from tests.fakes import Events, FakeChannel, FakeClock
from tests.given import LEASE, effect, new_message
from tests.store.parts import Stores, look

IN_DOUBT, STALE = 5.0, 3600.0


class CourierBench:
    def __init__(self, path: Path, stores: Stores, clock: FakeClock) -> None:
        self.path, self.stores, self.clock = path, stores, clock
        self.office, self.events = FakeChannel(), Events()
        self.courier = self.courier_to(self.office)

    def courier_to(self, channel: Channel, *, lease: float = LEASE) -> Courier:
        return Courier(
            self.stores.outbox, channel, self.clock, self.events, in_doubt=IN_DOUBT, stale_after=STALE, lease=lease
        )

    async def reply(self, *, draft: str | None = None) -> Delivery:
        """A committed reply, claimed; `draft`: `opened` or `lost`."""
        await self.stores.inbox.accept(new_message())
        claim = await self.stores.claim()
        if draft is not None:
            await self.stores.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
        if draft == "opened":
            await self.stores.conversations.draft_opened(claim, "7.0")
        delivery = await self.stores.commits.commit(effect(claim, "hello"))
        assert delivery is not None
        return delivery

    async def next(self, seconds: float) -> Delivery:
        """The post, claimed again after a while."""
        await self.clock.advance(seconds)
        delivery = await self.stores.outbox.claim_next()
        assert delivery is not None
        return delivery

    @property
    def row(self) -> tuple[object, ...]:
        return look(self.path, "SELECT state, platform_ts, reason FROM outbox")[0]

    def waits(self) -> float:
        """Seconds until the post is due again."""
        (due,) = look(self.path, "SELECT not_before FROM outbox")[0]
        assert isinstance(due, int)
        return (due - self.clock.now_ms()) / 1000


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[CourierBench]:
    clock, path = FakeClock(auto=True), tmp_path / "memory.db"
    async with open_database(path, clock) as database:
        yield CourierBench(path, Stores.of(database, clock), clock)


async def test_a_post_is_sent_without_a_look_up(bench: CourierBench) -> None:
    assert await bench.courier.deliver(await bench.reply())
    assert bench.row == ("sent", "1.0", "")
    assert bench.office.looked_up == []
    assert bench.events.names == ["outbox.sent"]


async def test_a_doubtful_post_that_is_found_is_not_sent_again(bench: CourierBench) -> None:
    await bench.reply()
    again = await bench.next(LEASE + 1)
    bench.office.history[again.post.key] = FoundPost("3.0", finished=True)
    assert await bench.courier.deliver(again)
    assert bench.row == ("sent", "3.0", "")
    assert bench.office.posted == []
    assert bench.events.names == ["outbox.found"]


@pytest.mark.parametrize("found", [FoundPost("3.0", finished=False), None])
async def test_of_a_doubtful_post_a_draft_is_finished_and_an_absent_one_sent(
    bench: CourierBench, found: FoundPost | None
) -> None:
    await bench.reply()
    again = await bench.next(LEASE + 1)
    if found is not None:
        bench.office.history[again.post.key] = found
    assert await bench.courier.deliver(again)
    assert [post.draft for post in bench.office.posted] == [found.ts if found else None]
    assert len(bench.office.looked_up) == 1


async def test_a_known_draft_is_finished_without_a_look_up(bench: CourierBench) -> None:
    assert await bench.courier.deliver(await bench.reply(draft="opened"))
    assert [post.draft for post in bench.office.posted] == ["7.0"]
    assert bench.office.looked_up == []


@pytest.mark.parametrize("found", [FoundPost("8.0", finished=False), None])
async def test_a_lost_draft_is_looked_up_before_anything_is_posted(
    bench: CourierBench, found: FoundPost | None
) -> None:
    delivery = await bench.reply(draft="lost")
    if found is not None:
        bench.office.history[delivery.post.key] = found
    assert await bench.courier.deliver(delivery)
    assert [post.draft_lost for post in bench.office.looked_up] == [True]
    sent = bench.office.posted[0]
    assert (sent.draft, sent.draft_lost) == (found.ts if found else None, False)


async def test_a_lost_response_leaves_the_post_in_doubt(bench: CourierBench) -> None:
    bench.office.answers = [DeliveryUncertain("connection reset")]
    assert not await bench.courier.deliver(await bench.reply())
    assert bench.row == ("sending", None, "connection reset")
    assert bench.waits() == pytest.approx(IN_DOUBT, abs=0.1)
    again = await bench.next(IN_DOUBT + 1)
    assert again.doubtful
    assert await bench.courier.deliver(again)
    assert bench.events.names == ["outbox.in_doubt", "outbox.sent"]


async def test_the_platforms_own_pause_is_kept(bench: CourierBench) -> None:
    bench.office.answers = [NotDelivered("ratelimited", retry_after=17.0)]
    assert not await bench.courier.deliver(await bench.reply())
    assert bench.row == ("pending", None, "ratelimited")
    assert bench.waits() == pytest.approx(17, abs=0.1)
    again = await bench.next(18)
    assert not again.doubtful
    assert await bench.courier.deliver(again)


async def test_pauses_grow_up_to_a_minute_however_often_it_fails(bench: CourierBench) -> None:
    delivery = await bench.reply(draft="opened")
    pauses = []
    for _ in range(9):
        bench.office.answers = [NotDelivered("no route")]
        assert not await bench.courier.deliver(delivery)
        pauses.append(round(bench.waits()))
        delivery = await bench.next(pauses[-1] + 1)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    for doubtful in (True, False):
        bench.office.answers, bench.office.lookups = [NotDelivered("no")], [DeliveryUncertain("no")]
        assert not await bench.courier.deliver(replace(delivery, doubtful=doubtful, attempts=10_000))
        assert bench.waits() == pytest.approx(60, abs=0.1)
        delivery = await bench.next(61)


async def test_a_refused_post_is_dead_with_its_reason(bench: CourierBench) -> None:
    bench.office.answers = [ChannelRefused("the channel is archived", code="is_archived", hint="unarchive it")]
    assert await bench.courier.deliver(await bench.reply())
    assert bench.row == ("dead", None, "the channel is archived")
    assert bench.events.emitted[-1][1]["hint"] == "unarchive it"


@pytest.mark.parametrize(
    ("draft", "row"), [(None, ("expired", None, "too old to be sent")), ("opened", ("sent", "1.0", ""))]
)
async def test_a_post_too_old_to_be_sent_expires_unless_its_draft_can_be_seen(
    bench: CourierBench, draft: str | None, row: tuple[object, ...]
) -> None:
    bench.office.answers = [NotDelivered("down", retry_after=STALE)]
    await bench.courier.deliver(await bench.reply(draft=draft))
    assert await bench.courier.deliver(await bench.next(STALE + 1))
    assert bench.row == row
    assert len(bench.office.posted) == (draft is not None)


async def test_a_post_that_can_not_be_looked_up_is_retried_and_settled_as_unknown_at_last(bench: CourierBench) -> None:
    bench.office.answers = [DeliveryUncertain("reset")]
    await bench.courier.deliver(await bench.reply())
    bench.office.lookups = [DeliveryUncertain("history unreadable")] * 2
    assert not await bench.courier.deliver(await bench.next(IN_DOUBT + 1))
    assert bench.row == ("sending", None, "history unreadable")
    again = await bench.next(STALE + 1)
    assert again.doubtful
    assert await bench.courier.deliver(again)
    assert bench.row == ("unknown", None, "may or may not have been sent: history unreadable")
    assert bench.office.posted == []
    assert bench.events.names[-1] == "outbox.unknown"


async def test_after_a_slow_look_up_or_a_long_pause_nothing_is_sent(bench: CourierBench) -> None:
    class Slow(FakeChannel):
        async def find(self, post: Post) -> FoundPost | None:
            await bench.clock.sleep(LEASE / 2 + 1)
            return None

    await bench.reply()
    slow = Slow()
    assert not await bench.courier_to(slow).deliver(await bench.next(LEASE + 1))
    assert slow.posted == []
    assert bench.row[0] == "pending"
    delivery = await bench.next(LEASE + 1)
    await bench.clock.sleep(LEASE / 2)
    assert not await bench.courier.deliver(delivery)
    assert bench.office.posted == []
    assert bench.row[0] == "pending"


async def test_a_hanging_request_is_in_doubt_before_the_claim_ends(bench: CourierBench) -> None:
    class Hanging(FakeChannel):
        async def deliver(self, post: Post) -> str:
            await asyncio.Event().wait()
            return "never"

    delivery = await bench.reply()
    brief = 0.02
    async with asyncio.timeout(1_000 * brief):  # far longer than it may take, for a machine with much else to do
        assert not await bench.courier_to(Hanging(), lease=brief).deliver(delivery)
    assert bench.row[0] == "sending"
    assert bench.events.names[-1] == "outbox.in_doubt"


async def test_a_post_claimed_by_another_daemon_is_left_alone(bench: CourierBench) -> None:
    await bench.reply()
    lost = await bench.next(LEASE + 1)
    await bench.next(LEASE + 1)
    before = look(bench.path, "SELECT * FROM outbox")
    for trouble in (None, DeliveryUncertain("reset"), ChannelRefused("no", code="no")):
        bench.office.answers = [trouble] if trouble else []
        assert not await bench.courier.deliver(lost), trouble
    bench.office.lookups = [DeliveryUncertain("no")]
    assert not await bench.courier.deliver(lost)
    assert look(bench.path, "SELECT * FROM outbox") == before
    assert bench.events.names == ["outbox.lost"] * 4


async def test_an_error_of_the_store_is_raised(bench: CourierBench) -> None:
    delivery = await bench.reply()
    await bench.stores.database.write(lambda transaction: transaction.run("ALTER TABLE outbox RENAME TO elsewhere"))
    with pytest.raises(StoreError):
        await bench.courier.deliver(delivery)
