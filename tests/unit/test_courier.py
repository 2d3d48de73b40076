"""Each post is sent once, and none ends in silence: each refusal, fault, doubt and delay ends in something seen."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.errors import (
    AccessLost,
    ChannelError,
    ChannelRefused,
    DeliveryUncertain,
    HistoryClosed,
    NotDelivered,
    StoreError,
)
from daemon.core.ports.channel import Channel
from daemon.core.ports.library import FoundPost, Post
from daemon.memory.database import open_database
from daemon.memory.emptied_posts import Note
from daemon.memory.records import Delivery
from daemon.runtime.courier import Courier
from tests.fakes import Events, FakeChannel, FakeClock
from tests.given import LEASE, effect, new_message
from tests.store.parts import Stores, look, poke

IN_DOUBT, STALE = 10.0, 3600.0


class Office(FakeChannel):
    """A channel that answers each call for a body with the errors listed for it, and keeps every try."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: dict[str, list[Exception]] = {}
        self.tried: list[Post] = []

    async def deliver(self, post: Post) -> str:
        self.tried.append(post)
        if errors := self.errors.get(post.body):
            raise errors.pop(0)
        return await super().deliver(post)


class Round:
    """A courier that works off one conversation's posts, as the daemon's lane does, on a clock that jumps ahead."""

    def __init__(self, path: Path, stores: Stores, clock: FakeClock) -> None:
        self.path, self.stores, self.clock = path, stores, clock
        self.office, self.events = Office(), Events()
        self.courier = self.courier_to(self.office)
        self._asked = 100

    def courier_to(self, office: Channel, *, lease: float = LEASE) -> Courier:
        return Courier(
            self.stores.outbox,
            Channels(office, {}),
            self.clock,
            self.events,
            in_doubt=IN_DOUBT,
            stale_after=STALE,
            lease=lease,
        )

    async def reply(self, *parts: str, draft: str | None = None) -> Delivery | None:
        """Commit a reply; `draft`: `opened` or `lost`."""
        self._asked += 1
        await self.stores.inbox.accept(new_message(f"{self._asked}.000001"))
        claim = await self.stores.claim()
        if draft is not None:
            await self.stores.conversations.begin_draft(claim, reply_to="9.9", recipient="U1", newer_than_ts="1")
        if draft == "opened":
            await self.stores.conversations.draft_opened(claim, "7.0")
        return await self.stores.commits.commit(effect(claim, *parts))

    async def send(self, first: Delivery | None, seconds: float = 0.0) -> None:
        """Send what is due, again and again, for some seconds."""
        until, delivery = self.clock.now_ms() + seconds * 1000, first
        while True:
            if delivery is not None:
                await self.courier.deliver(delivery)
            due = await self.stores.outbox.next_due_ms()
            if self.clock.now_ms() > until or (due is None and not seconds):
                return
            if due is None or due > self.clock.now_ms():
                await self.clock.advance(max(1.0, seconds / 300))
            delivery = await self.stores.outbox.claim_next()

    @property
    def said(self) -> list[str]:
        return [post.body for post in self.office.posted]

    @property
    def states(self) -> list[object]:
        return [row[0] for row in look(self.path, "SELECT state FROM outbox ORDER BY seq")]

    async def claimed(self, *, draft: str | None = None) -> Delivery:
        """A committed reply, claimed."""
        delivery = await self.reply("hello", draft=draft)
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
        """The newest post that is no note."""
        return look(self.path, "SELECT state, platform_ts, reason FROM outbox WHERE note = 0 ORDER BY seq DESC")[0]

    def waits(self) -> float:
        """Seconds until that post is due again."""
        (due,) = look(self.path, "SELECT not_before FROM outbox WHERE note = 0 ORDER BY seq DESC")[0]
        assert isinstance(due, int)
        return (due - self.clock.now_ms()) / 1000


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Round]:
    clock, path = FakeClock(auto=True), tmp_path / "memory.db"
    async with open_database(path, clock) as database:
        yield Round(path, Stores.of(database, clock), clock)


async def test_a_post_or_a_known_draft_is_sent_without_a_look_up(bench: Round) -> None:
    for number, draft in enumerate((None, "opened"), 1):
        assert await bench.courier.deliver(await bench.claimed(draft=draft))
        assert bench.row == ("sent", f"{number}.0", "")
    assert [post.draft for post in bench.office.posted] == [None, "7.0"]
    assert bench.office.looked_up == []
    assert bench.events.names == ["outbox.sent"] * 2


async def test_a_doubtful_post_that_is_found_is_not_sent_again_and_a_draft_of_it_finished(bench: Round) -> None:
    draft, whole = FoundPost("3.0", finished=False), FoundPost("3.0", finished=True)
    for found, sent in ((whole, []), (draft, ["3.0"]), (None, [None])):
        await bench.claimed()
        again = await bench.next(LEASE + 1)
        bench.office.history = {again.post.key: found} if found else {}
        bench.office.posted.clear()
        assert await bench.courier.deliver(again)
        assert [post.draft for post in bench.office.posted] == sent, found
        assert bench.row == ("sent", "1.0" if sent else "3.0", ""), found
    assert len(bench.office.looked_up) == 3
    assert bench.events.names == ["outbox.found", "outbox.sent", "outbox.sent"]


async def test_a_lost_draft_is_looked_up_before_anything_is_posted(bench: Round) -> None:
    for found in (FoundPost("8.0", finished=False), None):
        delivery = await bench.claimed(draft="lost")
        bench.office.history = {delivery.post.key: found} if found else {}
        assert await bench.courier.deliver(delivery)
        assert bench.office.looked_up.pop().draft_lost
        sent = bench.office.posted[-1]
        assert (sent.draft, sent.draft_lost) == (found.ts if found else None, False)


async def test_a_lost_response_leaves_the_post_in_doubt_and_the_platforms_own_pause_is_kept(bench: Round) -> None:
    bench.office.answers = [DeliveryUncertain("connection reset")]
    assert not await bench.courier.deliver(await bench.claimed())
    assert bench.row == ("sending", None, "connection reset")
    assert bench.waits() == pytest.approx(IN_DOUBT, abs=0.1)
    again = await bench.next(IN_DOUBT + 1)
    assert again.doubtful
    assert await bench.courier.deliver(again)
    assert bench.events.names == ["outbox.in_doubt", "outbox.sent"]
    bench.office.answers = [NotDelivered("ratelimited", retry_after=17.0)]
    assert not await bench.courier.deliver(await bench.claimed())
    assert bench.row == ("pending", None, "ratelimited")
    assert bench.waits() == pytest.approx(17, abs=0.1)
    again = await bench.next(18)
    assert not again.doubtful
    assert await bench.courier.deliver(again)


async def test_a_post_too_old_to_be_sent_expires_unless_its_draft_can_be_seen(bench: Round) -> None:
    for draft, row in (("opened", ("sent", "1.0", "")), (None, ("expired", None, "too old to be sent"))):
        bench.office.answers = [NotDelivered("down", retry_after=STALE)]
        await bench.courier.deliver(await bench.claimed(draft=draft))
        assert await bench.courier.deliver(await bench.next(STALE + 1))
        assert bench.row == row
    assert len(bench.office.posted) == 1


async def test_pauses_grow_up_to_a_minute_however_often_it_fails(bench: Round) -> None:
    delivery = await bench.claimed(draft="opened")
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


async def test_a_post_that_can_not_be_looked_up_is_retried_and_settled_as_unknown_at_last(bench: Round) -> None:
    bench.office.answers = [DeliveryUncertain("reset")]
    await bench.courier.deliver(await bench.claimed())
    bench.office.lookups = [DeliveryUncertain("history unreadable")] * 2
    assert not await bench.courier.deliver(await bench.next(IN_DOUBT + 1))
    assert bench.row == ("sending", None, "history unreadable")
    again = await bench.next(STALE + 1)
    assert again.doubtful
    assert await bench.courier.deliver(again)
    assert bench.row == ("unknown", None, "may or may not have been sent: history unreadable")
    assert bench.office.posted == []
    assert bench.events.names[-1] == "outbox.unknown"


async def test_after_a_slow_look_up_or_a_long_pause_nothing_is_sent(bench: Round) -> None:
    class Slow(FakeChannel):
        async def find(self, post: Post) -> FoundPost | None:
            await bench.clock.sleep(LEASE / 2 + 1)
            return None

    await bench.claimed()
    slow = Slow()
    assert not await bench.courier_to(slow).deliver(await bench.next(LEASE + 1))
    assert slow.posted == []
    assert bench.row[0] == "pending"
    delivery = await bench.next(LEASE + 1)
    await bench.clock.sleep(LEASE / 2)
    assert not await bench.courier.deliver(delivery)
    assert bench.office.posted == []
    assert bench.row[0] == "pending"


async def test_a_hanging_request_is_in_doubt_before_the_claim_ends(bench: Round) -> None:
    class Hanging(FakeChannel):
        async def deliver(self, post: Post) -> str:
            await asyncio.Event().wait()
            return "never"

    delivery = await bench.claimed()
    brief = 0.02
    async with asyncio.timeout(1_000 * brief):  # far longer than it may take, for a machine with much else to do
        assert not await bench.courier_to(Hanging(), lease=brief).deliver(delivery)
    assert bench.row[0] == "sending"
    assert bench.events.names[-1] == "outbox.in_doubt"


async def test_a_post_claimed_by_another_daemon_is_left_alone(bench: Round) -> None:
    await bench.claimed()
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


async def test_an_error_of_the_store_is_raised(bench: Round) -> None:
    delivery = await bench.claimed()
    await bench.stores.database.write(lambda transaction: transaction.run("ALTER TABLE outbox RENAME TO elsewhere"))
    with pytest.raises(StoreError):
        await bench.courier.deliver(delivery)


async def test_a_post_that_fails_three_times_is_parked_and_a_note_is_said(bench: Round) -> None:
    in_sending, in_looking_up = (
        (RecursionError("too deep"), AttributeError("a bug")),
        (KeyError("ts"), OSError(13, "no")),
    )
    for number, error in enumerate((*in_sending, *in_looking_up), 1):
        bench.office.errors["poison"] = [error] * 9 if error in in_sending else [DeliveryUncertain("reset")]
        bench.office.lookups = [] if error in in_sending else [error] * 9
        await bench.send(await bench.reply("poison", "second part"), 200)
        assert bench.said == ["second part", Note.DEAD] * number, error
        assert bench.states == ["dead", "sent", "sent"] * number, error
        faults = look(bench.path, "SELECT faults, reason FROM outbox WHERE state = 'dead' ORDER BY seq DESC")
        assert faults[0] == (3, type(error).__name__)
        assert bench.events.names.count("outbox.failed") == 2 * number, error
        assert bench.events.names.count("outbox.dead") == number, error


async def test_a_post_that_fails_once_is_looked_up_and_sent_once(bench: Round) -> None:
    bench.office.errors["hello"] = [KeyError("ts")]
    await bench.send(await bench.reply("hello"), 60)
    assert bench.said == ["hello"]
    assert len(bench.office.looked_up) == 1  # it may have been sent before the failure


async def test_a_row_that_can_not_be_read_holds_up_no_other(bench: Round) -> None:
    first = await bench.reply("unreadable")
    assert first is not None
    await bench.stores.outbox.postpone(first, 0, doubtful=False, reason="")
    poke(bench.path, "UPDATE conversations SET id = 'odd'")
    poke(bench.path, "UPDATE outbox SET conversation = 'odd', id = 'odd@1#0'")
    poke(bench.path, "UPDATE inbox SET conversation = 'odd'")
    with pytest.raises(ValueError, match="unpack"):
        await bench.stores.outbox.claim_next()
    assert bench.states[0] == "dead"
    with pytest.raises(ValueError, match="unpack"):
        await bench.stores.outbox.claim_next()  # its note, which has the same conversation
    await bench.send(await bench.reply("readable"))
    assert bench.said == ["readable"]


async def test_a_refused_post_leaves_a_note_in_its_place(bench: Round) -> None:
    for number, code in enumerate(("msg_too_long", "restricted_action", "is_archived", "cannot_reply_to_message"), 1):
        bench.office.errors["hello"] = [ChannelRefused(f"refused: {code}", code=code, hint="unarchive it")]
        await bench.send(await bench.reply("hello"))
        assert bench.said == [Note.DEAD] * number, code
        assert bench.states == ["dead", "sent"] * number
        assert bench.row == ("dead", None, f"refused: {code}")
        assert bench.events.named("outbox.dead")[-1]["hint"] == "unarchive it"
        refused, note = bench.office.tried[-2:]
        assert replace(note, body=refused.body, key=refused.key, note=False) == refused, "it takes the post's place"
        assert note.key != refused.key


async def test_a_refused_reply_of_many_parts_leaves_one_note(bench: Round) -> None:
    for part in "abc":
        bench.office.errors[part] = [ChannelRefused("no", code="no")]
    await bench.send(await bench.reply("a", "b", "c"))
    assert bench.said == [Note.DEAD]
    for body in ("d", Note.DEAD):
        bench.office.errors[body] = [ChannelRefused("archived", code="is_archived")]
    await bench.send(await bench.reply("d"))
    assert bench.states[-2:] == ["dead", "dead"], "a refused note gets no note"


async def test_a_refused_draft_is_posted_anew_under_the_same_key(bench: Round) -> None:
    bench.office.errors["hello"] = [ChannelRefused("no", code="is_inactive")]
    delivery = await bench.reply("hello", draft="opened")
    assert delivery is not None
    await bench.send(delivery)
    assert [(post.draft, post.key) for post in bench.office.tried] == [
        ("7.0", delivery.post.key),
        (None, delivery.post.key),
    ]
    assert bench.states == ["sent"]


async def test_while_the_token_is_dead_a_post_waits_and_the_admin_is_told_once(bench: Round) -> None:
    bench.office.errors["hello"] = [AccessLost("token_revoked", hint="soul doctor", retry_after=60.0)] * 20
    await bench.send(await bench.reply("hello"), 1300)
    assert bench.said == ["hello"]
    assert len(bench.events.named("outbox.access_lost")) == 1
    bench.office.errors["again"] = [AccessLost("token_revoked", retry_after=60.0)]
    await bench.send(await bench.reply("again"), 100)
    assert len(bench.events.named("outbox.access_lost")) == 2


async def test_what_grew_too_old_is_told_in_one_line_at_the_first_chance(bench: Round) -> None:
    away = 3 * STALE
    for body in ("one", "two", "three", Note.EXPIRED):
        bench.office.errors[body] = [NotDelivered("away", retry_after=away)]
    for body in ("one", "two", "three"):
        await bench.send(await bench.reply(body))
    await bench.send(None, 3 * away)
    assert bench.said == [Note.EXPIRED]
    assert bench.states == ["expired"] * 3 + ["sent"]


async def test_a_note_waits_for_a_week_and_then_goes_too(bench: Round) -> None:
    bench.office.errors = {body: [NotDelivered("away", retry_after=8 * 86_400.0)] for body in ("one", Note.EXPIRED)}
    await bench.send(await bench.reply("one"))
    await bench.send(None, 30 * 86_400.0)
    assert bench.said == []
    assert bench.states == ["expired", "expired"]


@pytest.mark.parametrize("error", [DeliveryUncertain("internal_error"), NotDelivered("ratelimited", retry_after=30.0)])
@pytest.mark.parametrize("kind", ["draft", "revision"])
async def test_what_can_not_be_finished_is_posted_anew_and_silences_nothing(
    bench: Round, kind: str, error: ChannelError
) -> None:
    class Stuck(Office):
        async def deliver(self, post: Post) -> str:
            self.tried.append(post)
            if post.draft is not None or post.revises is not None:
                raise error
            return await FakeChannel.deliver(self, post)

        async def find(self, post: Post) -> FoundPost | None:
            return FoundPost(post.draft, finished=False) if post.draft else None

    bench.office = stuck = Stuck()
    bench.courier = bench.courier_to(stuck)
    delivery = await bench.reply("hello", draft="opened" if kind == "draft" else None)
    assert delivery is not None
    if kind == "revision":
        await bench.stores.outbox.postpone(delivery, 0, doubtful=False, reason="")
        poke(bench.path, "UPDATE outbox SET revises = '5.0'")
        delivery = None
    began = bench.clock.now_ms()
    await bench.send(delivery)
    await bench.send(await bench.reply("next"), 700)
    said = [body for body in bench.said if body != Note.IN_DOUBT]
    assert sorted(said) == ["hello", "next"]
    assert len(stuck.tried) <= 14
    assert bench.clock.now_ms() - began <= 800_000
    assert {post.key for post in stuck.tried if post.body == "hello"} == {stuck.tried[0].key}


async def test_an_outage_gives_up_no_draft(bench: Round) -> None:
    bench.office.errors["hello"] = [NotDelivered("no route")] * 30
    await bench.send(await bench.reply("hello", draft="opened"), 1700)
    assert [post.draft for post in bench.office.posted] == ["7.0"]


async def test_a_post_in_doubt_holds_back_the_next_ones_for_a_minute_and_is_told(bench: Round) -> None:
    bench.office.errors["hello"] = [DeliveryUncertain("reset")]
    bench.office.lookups = [DeliveryUncertain("history unreadable")] * 1000
    await bench.send(await bench.reply("hello"))
    assert await bench.reply("next") is None  # it has to wait
    await bench.send(None, 50)
    assert bench.said == []
    await bench.send(None, 40)
    assert bench.said == ["next", Note.IN_DOUBT]
    third = await bench.reply("third")
    assert third is not None
    await bench.send(third)
    tries = len(bench.office.looked_up)
    await bench.send(None, STALE + 100)
    assert len(bench.office.looked_up) > tries  # the look-up goes on, for the record
    assert bench.states[0] == "unknown"
    assert bench.said.count(Note.IN_DOUBT) == 1
    assert Note.UNKNOWN not in bench.said


async def test_a_post_in_doubt_that_arrived_after_all_needs_no_note(bench: Round) -> None:
    bench.office.errors["hello"] = [DeliveryUncertain("reset")]
    delivery = await bench.reply("hello")
    assert delivery is not None
    bench.office.lookups = [DeliveryUncertain("history unreadable")] * 5
    bench.office.history[delivery.post.key] = FoundPost("3.0", finished=True)
    bench.office.errors[Note.IN_DOUBT] = [NotDelivered("not now", retry_after=120.0)]
    await bench.send(delivery, 300)
    assert bench.said == []
    assert bench.states == ["sent", "dropped"]


async def test_a_note_that_is_in_doubt_itself_is_not_said_once_its_post_has_arrived(bench: Round) -> None:
    bench.office.errors = {body: [DeliveryUncertain("reset")] for body in ("hello", Note.IN_DOUBT)}
    delivery = await bench.reply("hello")
    assert delivery is not None
    bench.office.lookups = [DeliveryUncertain("history unreadable")] * 1000
    await bench.send(delivery, 100)
    assert bench.states == ["sending", "sending"]
    bench.office.lookups, bench.office.history[delivery.post.key] = [], FoundPost("3.0", finished=True)
    poke(bench.path, "UPDATE outbox SET not_before = 0 WHERE note = 0")  # the post is looked up first
    await bench.send(None)
    assert bench.said == []
    assert bench.states == ["sent", "dropped"]


async def test_a_look_up_that_is_refused_for_good_settles_the_post_at_once(bench: Round) -> None:
    bench.office.errors["hello"] = [DeliveryUncertain("reset")]
    bench.office.lookups = [HistoryClosed("missing_scope")]
    await bench.send(await bench.reply("hello"), 12)
    assert bench.states == ["unknown", "sent"]
    assert bench.said == [Note.UNKNOWN]
    bench.office.lookups = [HistoryClosed("missing_scope")]
    await bench.send(await bench.reply("again", draft="lost"), 12)
    last = bench.office.posted[-1]
    assert (last.body, last.draft, bench.states[-1]) == ("again", None, "sent"), "it is posted without its lost draft"
