"""What is said is reported only where all who read may hear it, by what is stored and by what the platform says now."""

import pytest

from daemon.core.channels import Channels
from daemon.core.errors import NotDelivered
from daemon.core.perception import Audience, AudienceKind, Perception, Place, Readers
from daemon.core.ports.gate import GateDecision
from daemon.memory.database import Database
from daemon.memory.knowledge.meaning import Meaning
from daemon.memory.people.standing import Remembering
from daemon.memory.queues.cue_matching import CueMatching, HeardMessage
from daemon.memory.queues.cues import LASTS_MS, Cue
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.records import Worker
from daemon.runtime.cue_watch import CueWatch, is_heard
from tests.fakes import Events, FakeChannel, FakeClock
from tests.given import DM, HERE, LEASE, SOUL, TEAM, new_message, thread
from tests.store.parts import Stores, intend, look

WORKER = Worker("worker-1", SOUL, TEAM, int(LEASE * 1000))
PUBLIC, PRIVATE = Audience(AudienceKind.WORKSPACE, TEAM), Audience(AudienceKind.CHANNEL, "C1")
ROOM = thread("1.000000")


class Platform(FakeChannel):
    """Says who reads; `audience` is what it says of C1, `broken` is raised instead of an answer of the gate."""

    def __init__(self, audience: Audience = PUBLIC) -> None:
        super().__init__()
        self.audience, self.members_only = audience, True
        self.broken: Exception | None = None
        self.admits = True

    async def readers(self, perception: Perception) -> Readers:
        if perception.conversation.channel == "C1":
            return Readers(self.audience, members_only=True)
        return Readers(HERE, self.members_only)

    async def admit(self, perception: Perception) -> GateDecision:
        if self.broken is not None:
            raise self.broken
        return GateDecision(admitted=self.admits, name="Ben")


def said(audience: Audience, room: Audience) -> HeardMessage:
    words = Perception.of_message(
        conversation=ROOM, ts="5.0", author="U2", content="x", place=Place.PUBLIC_CHANNEL, audience=audience
    )
    return HeardMessage(1, words, 0, room)


async def test_the_narrowest_of_all_that_is_known_of_a_room_decides() -> None:
    for stored, room, now, heard in (
        (PUBLIC, PUBLIC, PUBLIC, True),
        (PRIVATE, PUBLIC, PUBLIC, False),
        (PUBLIC, PRIVATE, PUBLIC, False),
        (PUBLIC, PUBLIC, PRIVATE, False),
        (PRIVATE, PRIVATE, PRIVATE, False),
    ):
        readers = Readers(HERE, members_only=True)
        assert await is_heard(Platform(now), readers, DM, said(stored, room)) is heard, (stored, room, now)
        guests = Readers(HERE, members_only=False)
        assert not await is_heard(Platform(now), guests, DM, said(stored, room)), (stored, room, now)
        member = Readers(HERE, members_only=True, rooms=frozenset({"C1"}))
        assert await is_heard(Platform(now), member, DM, said(stored, room)), "a member of the room hears each of them"


@pytest.fixture
async def platform(database: Database, clock: FakeClock, stores: Stores) -> Platform:
    cue = Cue(clock.now_ms() + LASTS_MS, topic="the release")
    await intend(database, clock, NewIntention(slot="reminder-x", content="it", behalf="U1", cue=cue))
    ts = f"{clock.now_ms() / 1000 + 1:.6f}"
    await stores.inbox.accept(new_message(ts, "the release is out", conversation=ROOM, author="U2", audience=PUBLIC))
    return Platform()


async def looked_at(database: Database, clock: FakeClock, platform: Platform) -> tuple[int, Events]:
    """How many reports a look at the queued message makes, and what was logged."""
    events, cues = Events(), CueMatching(database, clock, WORKER)
    standing = Remembering(database, clock, WORKER)
    watch = CueWatch(cues, standing, Meaning(None, None), Channels(platform, {}), clock=clock, emit=events)
    heard = await cues.next_heard()
    assert heard is not None
    return await watch.look_at(heard), events


async def test_what_may_be_heard_is_reported_once_and_later_where_undecided(stores: Stores, platform: Platform) -> None:
    for tries, error in enumerate((NotDelivered("Slack is away"), RuntimeError("the release, quoted")), 1):
        platform.broken = error
        reports, events = await looked_at(stores.database, stores.clock, platform)
        assert reports == 0, error
        [logged] = events.named("cues.put_off")
        assert "release" not in str(logged), "no word of a user"
        assert look(stores.path, "SELECT tries FROM heard_words") == [(tries,)], error
        await stores.clock.advance(60)
    platform.broken = None
    assert (await looked_at(stores.database, stores.clock, platform))[0] == 1
    assert look(stores.path, "SELECT count(*) FROM heard_words") == [(0,)]
    assert look(stores.path, "SELECT author FROM inbox WHERE modality = 'time'") == [("U1",)]


@pytest.mark.parametrize("spoilt", ["admits", "members_only", "audience"])
async def test_what_may_not_is_dropped_and_leaves_no_trace(stores: Stores, platform: Platform, spoilt: str) -> None:
    setattr(platform, spoilt, PRIVATE if spoilt == "audience" else False)
    reports, _ = await looked_at(stores.database, stores.clock, platform)
    assert reports == 0
    assert look(stores.path, "SELECT count(*) FROM heard_words") == [(0,)]
    assert look(stores.path, "SELECT hits, pending FROM cues") == [(0, "")]
