"""No post ends in silence: each refusal, fault, doubt and delay ends in something that the reader sees."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.core.errors import AccessLost, ChannelError, ChannelRefused, DeliveryUncertain, HistoryClosed, NotDelivered
from daemon.core.ports.posts import FoundPost, Post
from daemon.memory.database import open_database
from daemon.memory.notes import Note
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

    def courier_to(self, office: Office) -> Courier:
        return Courier(
            self.stores.outbox, office, self.clock, self.events, in_doubt=IN_DOUBT, stale_after=STALE, lease=LEASE
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


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Round]:
    clock, path = FakeClock(auto=True), tmp_path / "memory.db"
    async with open_database(path, clock) as database:
        yield Round(path, Stores.of(database, clock), clock)


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("sending", RecursionError("too deep")),
        ("sending", AttributeError("a bug")),
        ("looking up", KeyError("ts")),
        ("looking up", PermissionError(13, "Permission denied")),
    ],
)
async def test_a_post_that_fails_three_times_is_parked_and_a_note_is_said(
    bench: Round, where: str, error: Exception
) -> None:
    bench.office.errors["poison"] = [error] * 9 if where == "sending" else [DeliveryUncertain("reset")]
    bench.office.lookups = [] if where == "sending" else [error] * 9
    await bench.send(await bench.reply("poison", "second part"), 200)
    assert bench.said == ["second part", Note.DEAD]
    assert bench.states == ["dead", "sent", "sent"]
    assert look(bench.path, "SELECT faults, reason FROM outbox WHERE seq = 1") == [(3, type(error).__name__)]
    assert bench.events.names.count("outbox.failed") == 2
    assert bench.events.names.count("outbox.dead") == 1


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
        bench.office.errors["hello"] = [ChannelRefused(f"refused: {code}", code=code)]
        await bench.send(await bench.reply("hello"))
        assert bench.said == [Note.DEAD] * number, code
        assert bench.states == ["dead", "sent"] * number
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
