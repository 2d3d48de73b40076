"""What thoughts mean to do later: what is refused, before whom it comes back, and when it goes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.timetable import FARTHEST_MS
from daemon.memory.admin.schedule_admin import Agenda
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.mind.allowing import MOST_WAITING, Intended, IntendedInThought, IntentionsCameBack, ToDo
from daemon.memory.mind.at_hand import Minds
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.people.known import KnownOfPerson
from daemon.memory.people.retention import prune
from daemon.memory.queues.intentions import Intentions
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.own_reminders import OwnThings, next_reminder_ms
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, deleted, edited, thread
from tests.store.parts import WORKER, Stores
from tests.store.thinking import Thinker, members, new_thought, outsiders

MINE, EVERYBODY = members("dm:D1"), members(f"workspace:{TEAM}")
OPEN, OPEN_TOO = thread("1.0"), thread("2.0", "C2")
HOUR, DAY = 3_600, 86_400  # seconds


@dataclass
class Meaning:
    """A soul whose thoughts mean to do something, on a clock that a test moves."""

    thinker: Thinker
    clock: FakeClock

    @property
    def intentions(self) -> Intentions:
        return Intentions(self.thinker.database, self.clock, WORKER)

    async def thinks(
        self,
        *words: str,
        where: ConversationKey = DM,
        readers: Readers = MINE,
        author: str = "U1",
        after: int = HOUR,
        saw: Sequence[str] = (),
        passing: bool = False,
    ) -> list[str]:
        due = self.clock.now_ms() + after * 1_000
        part = IntendedInThought(tuple(ToDo(one, due) for one in words))
        thoughts = [replace(new_thought("hm", saw=saw), parts=(part,))]
        await self.thinker.thinks("go on", where, readers, author=author, thoughts=thoughts, passing=passing)
        row = await self.thinker.database.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
        assert row is not None
        return [reason for _, reason in json.loads(row["refused"])]

    async def at_hand(self, where: ConversationKey = DM, readers: Readers = MINE) -> tuple[Intended, ...]:
        return (await Minds(self.thinker.database, self.clock).at_hand(where, readers)).intended

    async def answers(self, *shown: str) -> None:
        """A reply is committed whose prompt showed these."""
        act, asker = IntentionsCameBack(shown), Asker("U1", DM, MINE.audience, "1.0")
        await self.thinker.database.write(lambda transaction: act.perform(transaction, asker, 9))

    async def kept(self) -> list[str]:
        return [
            row["content"] for row in await self.thinker.database.rows("SELECT content FROM intentions ORDER BY id")
        ]

    async def fall_due(self) -> int:
        """What the scheduler does; gives how many messages then wait in the inbox."""
        await self.intentions.fall_due()
        row = await self.thinker.database.one("SELECT count(*) AS n FROM inbox WHERE modality <> 'words'")
        assert row is not None
        return int(row["n"])


@pytest.fixture
def soul(stores: Stores, clock: FakeClock) -> Meaning:
    return Meaning(Thinker(stores), clock)


async def test_it_is_told_once_when_it_is_due_whether_the_scheduler_looked_or_not(soul: Meaning) -> None:
    for looked in (False, True):
        assert await soul.thinks("call Ben") == []
        assert await soul.at_hand() == ()
        await soul.clock.sleep(HOUR)
        if looked:
            assert await soul.fall_due() == 0, "nothing is perceived, and nothing is posted"
        (one,) = await soul.at_hand()
        assert (one.words, one.id) == ("call Ben", f"{one.thought}-i1")
        await soul.answers(one.id)
        assert await soul.at_hand() == ()
        assert await soul.fall_due() == 0
        assert await soul.at_hand() == ()


async def test_what_repeats_is_too_much_too_far_or_not_to_be_remembered_is_refused(soul: Meaning) -> None:
    assert await soul.thinks("call Ben", "Call  Ben!") == ["duplicate"]
    assert await soul.thinks("call Ben") == ["duplicate"]
    assert await soul.thinks("far", after=FARTHEST_MS // 1_000 + 60) == ["too_far"]
    assert await soul.thinks(*(f"matter {number}" for number in range(MOST_WAITING))) == ["too_many"]
    assert await soul.thinks("elsewhere", where=OPEN, readers=EVERYBODY) == []
    assert await soul.thinks("paused", passing=True) == ["private"]


async def test_what_lost_its_words_takes_no_place(soul: Meaning) -> None:
    await soul.thinks(*(f"matter {number}" for number in range(MOST_WAITING)))
    await soul.thinker.stores.inbox.accept(deleted("1.000001"))
    assert await soul.kept() == []
    assert await soul.thinks(*(f"matter {number}" for number in range(MOST_WAITING))) == []
    await soul.thinker.database.run("UPDATE intentions SET content = ''")
    assert await soul.thinks("one more") == []
    await soul.clock.sleep(HOUR)
    await soul.fall_due()
    assert [one.words for one in await soul.at_hand()] == ["one more"]


async def test_it_takes_no_place_of_a_persons_reminders_and_is_none_of_them(soul: Meaning) -> None:
    database = soul.thinker.database
    await soul.thinks(*(f"matter {number}" for number in range(MOST_WAITING)))
    assert await soul.intentions.has_room(1, "U1")
    assert await soul.intentions.waiting(DM) == ()
    assert await OwnThings(database, soul.clock, WORKER).reminders("U1") == ()
    assert await next_reminder_ms(database, SOUL, TEAM, "U1") is None
    listed = await Agenda(database, soul.clock, "admin").intentions("waiting", 100)
    assert {one.content for one in listed} == {""}, "an admin sees that it waits, and reads it with its thought"


async def test_it_comes_back_before_nobody_else(soul: Meaning) -> None:
    await soul.thinks("call Ben", where=OPEN, readers=EVERYBODY)
    await soul.clock.sleep(HOUR)
    assert await soul.at_hand(OPEN_TOO, EVERYBODY) == ()
    assert await soul.at_hand(OPEN, outsiders(f"workspace:{TEAM}")) == ()
    assert len(await soul.at_hand(OPEN, EVERYBODY)) == 1
    private = Audience.parse("channel:C1")
    await soul.thinker.database.write(lambda transaction: make_private(transaction, TEAM, "C1", private, 5))
    assert await soul.at_hand(OPEN, EVERYBODY) == ()
    assert await soul.at_hand(OPEN, members("channel:C1")) == ()


async def test_it_goes_with_the_words_of_its_thought_along_the_lineage(soul: Meaning) -> None:
    await soul.thinks("of the first", where=OPEN, readers=EVERYBODY)
    row = await soul.thinker.database.one("SELECT id FROM thoughts")
    assert row is not None
    await soul.thinks("made of it", where=OPEN_TOO, readers=EVERYBODY, saw=[row["id"]])
    await soul.thinks("apart")
    await soul.thinker.stores.inbox.accept(edited("1.000001", "I meant something else", conversation=OPEN))
    assert await soul.kept() == ["apart"]


async def test_a_person_who_is_forgotten_takes_it_along_and_their_export_holds_what_may_be_shown(soul: Meaning) -> None:
    await soul.thinks("for me")
    await soul.thinks("for you", where=OPEN, readers=EVERYBODY, author="U2")
    await soul.thinks("zqsecret", where=thread("3.0"), readers=EVERYBODY)
    known = KnownOfPerson(soul.thinker.database, soul.clock, WORKER)

    async def exported(readers: Readers, where: ConversationKey) -> list[str]:
        found = json.loads(json.dumps((await known.export("U1", readers, where))["intentions"]))
        return [one["text"] for one in found]

    assert await exported(MINE, DM) == ["for me", "zqsecret"]
    assert await exported(EVERYBODY, OPEN_TOO) == ["zqsecret"]
    private = Audience.parse("channel:C1")
    await soul.thinker.database.write(lambda transaction: make_private(transaction, TEAM, "C1", private, 5))
    assert await exported(EVERYBODY, OPEN_TOO) == []
    await soul.thinker.database.write(lambda unit: erase(unit, TEAM, "U1", Spared("", ""), 5, 5))
    assert await soul.kept() == ["for you"]


async def test_it_is_kept_for_as_long_as_the_words_of_its_thought(soul: Meaning) -> None:
    await soul.thinks("later", after=30 * DAY)
    await soul.clock.sleep(7 * DAY)
    await prune(soul.thinker.database, soul.clock, {"fact_days": 6})
    assert await soul.kept() == ["later"]
    await prune(soul.thinker.database, soul.clock, {"turn_days": 6})
    assert await soul.kept() == []
