"""Who waits for a reply that was emptied, because somebody in it is forgotten, is answered all the same, and once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.errors import DeliveryUncertain, NotDelivered
from daemon.core.perception import ConversationKey, Modality, Place
from daemon.core.ports.library import FoundPost
from daemon.memory.database import open_database
from daemon.memory.emptied_posts import Note
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.memory_acts import Asker, SaidInPrivate
from daemon.memory.records import Claim, Delivery, Speaks, Turn
from daemon.runtime.courier import Courier
from tests.fakes import Events, FakeChannel, FakeClock
from tests.given import HERE, LEASE, SOUL, TEAM, effect, new_message
from tests.store.forgotten import ADA, BEN, EVERYBODY, ROOM
from tests.store.parts import Stores, look

QUOTING = "Ada owns a quincunx"
PLAIN = "you weave"
ANEW = "I can't say"


class Waiting:
    """Ada said a word of her own in a room; posts there wait while Slack takes none."""

    def __init__(self, path: Path, stores: Stores, clock: FakeClock) -> None:
        self.path, self.stores, self.clock = path, stores, clock
        self.channel = FakeChannel()
        self._asked = 10
        self.courier = Courier(
            stores.outbox, Channels(self.channel, {}), clock, Events(), in_doubt=1.0, stale_after=3600.0, lease=LEASE
        )

    async def ask(self, author: str, text: str) -> None:
        self._asked += 1
        await self.stores.inbox.accept(
            new_message(f"{self._asked}.000001", text, author=author, conversation=ROOM, audience=EVERYBODY)
        )

    async def reply(self, claim: Claim, *parts: str, recipient: str = BEN) -> Delivery:
        delivery = await self.stores.commits.commit(replace(_made(claim, *parts), recipient=recipient))
        assert delivery is not None
        return delivery

    async def answer(self, author: str, text: str, *parts: str) -> Delivery:
        await self.ask(author, text)
        return await self.reply(await self.stores.claim(), *parts, recipient=author)

    async def put_off(self, delivery: Delivery) -> None:
        await self.stores.outbox.postpone(delivery, 60.0, doubtful=False, reason="ratelimited")

    async def forget(self) -> None:
        people = ForgettingPeople(
            self.stores.database, self.clock, Events(), self.path.parent, self.path.parent / "index"
        )
        await people.finish(await people.ask(TEAM, ADA))

    async def send_all(self) -> None:
        await self.clock.advance(120.0)
        while (delivery := await self.stores.outbox.claim_next()) is not None:
            await self.courier.deliver(delivery)
            await self.clock.advance(30.0)

    async def finish(self) -> list[str]:
        """Send what waits, answer what is asked anew, and send that; gives all that was posted."""
        await self.send_all()
        while (claim := await self.stores.conversations.claim_next()) is not None:
            assert {one.perception.author for one in claim.messages} == {BEN}
            await self.stores.commits.commit(replace(_made(claim, ANEW), recipient=BEN))
            await self.clock.advance(LEASE + 1)
            await self.send_all()
        return [post.body for post in self.channel.posted]

    def said(self) -> list[tuple[object, ...]]:
        return look(self.path, "SELECT author, body FROM turns ORDER BY seq")


def _made(claim: Claim, *parts: str) -> CycleEffect:
    said = [
        Turn(Speaks.PERSON, one.perception.author, "", one.perception.ts, one.perception.content)
        for one in claim.messages
        if one.perception.modality is Modality.WORDS
    ]
    newest = claim.messages[-1].perception.ts
    return replace(
        effect(claim, *parts),
        turns=(*said, Turn(Speaks.SOUL, SOUL, "Soul", newest, " ".join(parts))),
        trace_id=f"trace {newest} {claim.version}",
    )


@pytest.fixture
async def waiting(path: Path) -> AsyncIterator[Waiting]:
    clock = FakeClock(auto=True)
    async with open_database(path, clock) as database:
        at = Waiting(path, Stores.of(database, clock), clock)
        await at.courier.deliver(await at.answer(ADA, "I own a quincunx", "fine"))
        at.channel.posted.clear()
        yield at


@pytest.mark.parametrize(
    ("parts", "posted"),
    [((QUOTING,), ANEW), (("First,", QUOTING), ANEW), ((PLAIN,), PLAIN)],
    ids=["one", "two", "none"],
)
async def test_a_reply_that_quotes_them_is_made_anew(waiting: Waiting, parts: tuple[str, ...], posted: str) -> None:
    await waiting.put_off(await waiting.answer(BEN, "what does she own?", *parts))
    await waiting.forget()
    assert look(waiting.path, "SELECT body FROM outbox WHERE body LIKE '%quincunx%'") == []
    assert await waiting.finish() == [posted]
    assert waiting.said() == [(BEN, "what does she own?"), (SOUL, posted)]


async def test_a_waiting_reply_to_both_is_made_anew_for_the_other(waiting: Waiting) -> None:
    await waiting.ask(BEN, "what do we do?")
    await waiting.ask(ADA, "yes, what?")
    await waiting.put_off(await waiting.reply(await waiting.stores.claim(), PLAIN, recipient=ADA))
    await waiting.forget()
    assert await waiting.finish() == [ANEW]
    assert waiting.said() == [(BEN, "what do we do?"), (SOUL, ANEW)]


async def test_a_reply_to_both_under_way_ends_its_draft_with_the_answer_to_the_other(waiting: Waiting) -> None:
    await waiting.ask(BEN, "what do we do?")
    await waiting.ask(ADA, "yes, what?")
    claim = await waiting.stores.claim()
    await waiting.stores.conversations.begin_draft(claim, reply_to="", recipient=ADA, newer_than_ts="1")
    await waiting.stores.conversations.draft_opened(claim, "77.0")
    await waiting.forget()
    await waiting.stores.conversations.release(claim, text_changed=True)
    assert await waiting.finish() == [ANEW]
    assert [(post.draft, post.recipient) for post in waiting.channel.posted] == [("77.0", BEN)]


@pytest.mark.parametrize("found", [False, True])
async def test_a_reply_just_being_sent_or_in_doubt_and_found_is_not_made_anew(waiting: Waiting, *, found: bool) -> None:
    delivery = await waiting.answer(BEN, "what does she own?", QUOTING)
    await waiting.forget()
    if found:
        waiting.channel.history[delivery.post.key] = FoundPost("88.0", finished=True)
        await waiting.clock.advance(LEASE + 1)  # its daemon was killed
    else:
        await waiting.stores.outbox.sent(delivery, "88.0")
    assert await waiting.finish() == []
    assert look(waiting.path, "SELECT body, state FROM outbox ORDER BY seq DESC LIMIT 1") == [("", "sent")]


@pytest.mark.parametrize("error", [NotDelivered("no connection"), DeliveryUncertain("timeout")])
async def test_a_reply_whose_sending_fails_meanwhile_is_made_anew(waiting: Waiting, error: Exception) -> None:
    delivery = await waiting.answer(BEN, "what does she own?", QUOTING)
    await waiting.forget()
    waiting.channel.answers.append(error)
    await waiting.courier.deliver(delivery)
    assert await waiting.finish() == [ANEW]


async def test_a_draft_that_users_see_ends_with_a_line_before_the_new_answer(waiting: Waiting) -> None:
    await waiting.ask(BEN, "what does she own?")
    claim = await waiting.stores.claim()
    await waiting.stores.conversations.begin_draft(claim, reply_to="", recipient=BEN, newer_than_ts="1")
    await waiting.stores.conversations.draft_opened(claim, "77.0")
    await waiting.put_off(await waiting.reply(claim, QUOTING))
    await waiting.forget()
    assert await waiting.finish() == ["(The message I was answering is gone.)", ANEW]
    assert [post.draft for post in waiting.channel.posted] == ["77.0", None]


async def test_a_reminder_that_such_a_reply_confirmed_is_not_set_twice(waiting: Waiting) -> None:
    await waiting.ask(BEN, "remind me of it")
    claim = await waiting.stores.claim()
    due = NewIntention(
        slot="reminder-1", due_ms=waiting.clock.now_ms() + 60_000, process="engaged", content="it", behalf=BEN
    )
    delivery = await waiting.stores.commits.commit(
        replace(_made(claim, QUOTING), recipient=BEN, intentions=(due,), most_intentions=9)
    )
    assert delivery is not None
    await waiting.put_off(delivery)
    await waiting.forget()
    assert look(waiting.path, "SELECT slot FROM intentions WHERE state = 'waiting'") == []
    assert await waiting.finish() == [ANEW]


async def test_a_due_event_is_told_anew_without_the_persons_words(waiting: Waiting) -> None:
    await waiting.stores.database.write(
        lambda transaction: store_internal_event(
            transaction,
            name="i1",
            conversation=ROOM,
            modality=Modality.TIME,
            author=BEN,
            place=Place.PUBLIC_CHANNEL,
            audience=str(EVERYBODY),
            body="ask about the quincunx",
            params={},
            now=waiting.clock.now_ms(),
        )
    )
    await waiting.put_off(await waiting.reply(await waiting.stores.claim(), QUOTING))
    await waiting.forget()
    assert look(waiting.path, "SELECT body FROM inbox WHERE modality = 'time'") == [("ask about the …",)]
    assert await waiting.finish() == [ANEW]


async def test_what_can_not_be_done_twice_leaves_a_note_in_place_of_its_reply(waiting: Waiting) -> None:
    await waiting.put_off(await waiting.answer(BEN, "forget 3", f"Forgotten: {QUOTING}"))
    await waiting.forget()
    assert await waiting.finish() == [Note.DEAD]


async def test_an_answer_in_private_is_made_anew_under_its_key(waiting: Waiting) -> None:
    await waiting.ask(BEN, "why")
    claim = await waiting.stores.claim()
    ts = claim.messages[0].perception.ts
    own = SaidInPrivate("D1", HERE, (f"You read: {QUOTING}",))
    made = replace(_made(claim, "It is in our DM."), acts=(own,), asker=Asker(BEN, ROOM, EVERYBODY, ts), turns=())
    delivery = await waiting.stores.commits.commit(replace(made, recipient=BEN))
    assert delivery is not None
    await waiting.courier.deliver(delivery)
    await waiting.forget()
    claim = await waiting.stores.claim()
    assert [one.perception.content for one in claim.messages] == ["why"]
    again = replace(made, claim=claim, answered=claim.messages, acts=(SaidInPrivate("D1", HERE, (ANEW,)),))
    await waiting.stores.commits.commit(again)
    await waiting.clock.advance(LEASE + 1)
    await waiting.send_all()
    there = ConversationKey(SOUL, TEAM, "D1")
    assert [post.body for post in waiting.channel.posted if post.conversation == there] == [ANEW]
