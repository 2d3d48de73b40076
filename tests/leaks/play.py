"""Plays random worlds and counts: what was shown to readers who may not know it, and what was shown to those who may.

Slack's part is played without HTTP; who reads, the lists of private rooms, the search and the check at the commit are
the daemon's own.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import cast

from msgspec.structs import replace

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.people import Directory
from daemon.channels.slack.readers import RoomReaders
from daemon.channels.slack.refusals import SlackIdentity
from daemon.channels.slack.rooms import KnownPlaces
from daemon.core.perception import ConversationKey, Perception, Place, Readers
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.knowledge.forgetting import times_narrowed
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.knowledge.user_models import record_encounter
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.person_rooms import PersonRoomsStore, RoomNewsStore, require_no_narrowing, require_rooms
from daemon.memory.records import Speaks, Turn, Worker
from tests import template
from tests.fakes import FakeClock
from tests.leaks.arms import SOUL, Arm, AskedThere, Home, SaidThere
from tests.leaks.every_arm import ARMS
from tests.leaks.ground import USUAL, Change, Ground, Kind, Probe, Remark, Turned
from tests.leaks.slack import SOUL_USER, TEAM, SlackOf, room_id, user_id

_PLACES = {
    Kind.PUBLIC: Place.PUBLIC_CHANNEL,
    Kind.PRIVATE: Place.PRIVATE_CHANNEL,
    Kind.GROUP_DM: Place.GROUP_DM,
    Kind.DM: Place.DM,
}
_SAID_FIRST = 40
_HOUR_MS = 3_600_000
_QUESTIONS = 100  # of one world

Corrupt = Callable[[Readers], Readers]
"""What a broken check would take the readers for."""


@dataclass
class Count:
    """What was counted of each arm: `leaks` hold what was shown to whom."""

    probes: int = 0
    begun_anew: int = 0
    useful: int = 0
    recalled: int = 0
    leaks: list[str] = field(default_factory=list)

    def judge(self, ground: Ground, question: Probe, shown: str, reached: str = "") -> None:
        """Count what a text shows; nothing that its way reaches besides may be a leak either."""
        if ground.useful(question):
            self.useful += 1
            self.recalled += question.saying.word in shown
        text = shown + reached
        for one in (*ground.sayings, *ground.reported):
            if one.word in text and not ground.known(one.word, question):
                self.leaks.append(f"{one} was shown to {question.person} in {question.room}")

    @property
    def recall(self) -> float:
        return self.recalled / self.useful if self.useful else 1.0

    @property
    def line(self) -> str:
        return (
            f"probes={self.probes} leaks={len(self.leaks)} useful_recall={self.recall:.3f} begun_anew={self.begun_anew}"
        )


async def play(
    probes: int,
    seed: int,
    arm: str,
    *,
    corrupt: Corrupt = lambda readers: readers,
    deaf: bool = False,
    changes: tuple[Change, ...] = USUAL,
    alive: Callable[[], None] = lambda: None,
) -> Count:
    """Ask so many questions in random worlds; `corrupt` and `deaf` (no event is heard) break the check on purpose.

    `alive` is called after each world.
    """
    count = Count()
    while count.probes < probes:
        with template.folder() as folder:
            async with AsyncExitStack() as stack:
                clock = FakeClock(auto=True)
                database = await stack.enter_async_context(open_database(Path(folder) / "memory.db", clock))
                ground = Ground(Random(f"{seed} {count.probes}"), changes)  # no secret
                world = _World(ground, database, clock)
                world.corrupt, world.deaf = corrupt, deaf
                home = Home(database, Path(folder), clock, Worker("w", SOUL, TEAM, 60_000), world.readers)
                world.arm = ARMS[arm](home)
                stack.push_async_callback(world.arm.aclose)
                await world.play(min(_QUESTIONS, probes - count.probes), count)
        alive()
    return count


class _World:
    def __init__(self, ground: Ground, database: Database, clock: FakeClock) -> None:
        self.corrupt: Corrupt = lambda readers: readers
        self.deaf = False
        self.arm: Arm
        self._ground, self._database, self._clock = ground, database, clock
        self._slack = SlackOf(ground, clock)
        client = cast("SlackClient", self._slack)
        self._reader = EventReader(SOUL, SlackIdentity(TEAM, SOUL_USER, "B0SOUL"), places=KnownPlaces(clock))
        self._rooms = PersonRoomsStore(database, clock)
        self._readers = RoomReaders(client, Directory(client, clock), lambda: self._reader)
        self._readers.share(RoomNewsStore(database, clock), self._rooms)
        self._number = 0

    async def readers(self, perception: Perception) -> Readers:
        return self.corrupt(await self._readers.readers(perception))

    async def play(self, questions: int, count: Count) -> None:
        """Say things, then ask for them while people come and go."""
        ground = self._ground
        for _ in range(_SAID_FIRST):
            await self._say(ground.saying())
        for _ in range(questions):
            await self._clock.advance(ground.chance.choice((0.5, 20.0, 200.0)))
            for _ in range(ground.chance.randrange(3)):
                await self._happen(ground.turn())
            if ground.chance.random() < 0.2:  # now and then
                await self._say(ground.saying())
            await self._ask(ground.question(), count)

    async def _happen(self, turned: Turned | None) -> None:
        if turned is None:
            return
        self._ground.apply(turned)
        if not self.deaf:
            await self._readers.take_note(Payload({"event": self._slack.event(turned)}))

    async def _say(self, saying: Remark) -> None:
        perception = self._perception(saying.person, saying.room, self.arm.says(saying))
        readers = await self._readers.readers(perception)
        where = perception.conversation

        async def unit(transaction: Transaction) -> int:
            await self._store_conversation(transaction, perception, readers)
            turn = Turn(Speaks.PERSON, perception.author, saying.person, perception.ts, perception.content)
            now = self._clock.now_ms()
            (seq,) = await store_turns(
                transaction, [turn], conversation=where, audience=readers.audience, trace_id="t", now=now
            )
            return seq

        seq = await self._database.write(unit)
        await self.arm.keep(SaidThere(saying, where, readers, seq, perception))

    async def _ask(self, question: Probe, count: Count) -> None:
        """Ask, and judge what the arm shows by what is true once the reply is committed."""
        count.probes += 1
        shown, reached, question = await self._reply(question, count)
        if self.arm.afterwards:
            await self._happen(self._ground.turn(question.room))
            asked = replace(self._asked, readers=Readers(self._asked.readers.audience, members_only=False))
            shown, reached = await self.arm.shown(asked), await self.arm.reached(asked)
        count.judge(self._ground, question, shown, reached)

    async def _reply(self, question: Probe, count: Count) -> tuple[str, str, Probe]:
        """What a reply shows that could be committed; one whose readers change meanwhile is begun anew."""
        text = self.arm.asks(question.saying)
        perception = self._perception(question.person, question.room, text)
        where, late = perception.conversation, self._ground.chance.random() < 0.1  # now and then
        while True:
            readers = await self.readers(perception)
            narrowed = await self._database.read(lambda transaction: times_narrowed(transaction, TEAM))
            self._asked = asked = AskedThere(text, where, readers, perception.author)
            shown, reached = await self.arm.shown(asked), await self.arm.reached(asked)
            turned, question = question.meanwhile, replace(question, meanwhile=None)
            await self._happen(turned)
            same = not (await self.readers(perception)).exclude_what(readers)
            if late and same:  # right before the commit
                await self._happen(self._ground.leaving(question))
            if same and await self._commits(perception, readers, narrowed):
                return shown, reached, question
            count.begun_anew, late = count.begun_anew + 1, False

    async def _commits(self, perception: Perception, readers: Readers, narrowed: int) -> bool:
        async def unit(transaction: Transaction) -> None:
            await require_no_narrowing(transaction, TEAM, narrowed)
            await require_rooms(transaction, TEAM, perception.author, readers.rooms)
            await self._store_conversation(transaction, perception, readers)

        try:
            await self._database.write(unit)
        except ReadersChanged:
            return False
        return True

    async def _store_conversation(self, transaction: Transaction, perception: Perception, readers: Readers) -> None:
        """As the inbox and the commit of a cycle do."""
        where, now = perception.conversation, self._clock.now_ms()
        await transaction.insert(
            "conversations",
            "ON CONFLICT DO UPDATE SET members_only = excluded.members_only, last_ms = excluded.last_ms",
            id=str(where),
            soul=where.soul,
            workspace=where.workspace,
            channel=where.channel,
            thread=where.thread,
            place=perception.place,
            audience=str(readers.audience),
            last_ms=now,
            members_only=readers.members_only,
        )
        await record_encounter(
            transaction,
            soul=where.soul,
            workspace=where.workspace,
            person=perception.author,
            name=perception.name,
            audience=readers.audience,
            now=now,
            visit_timeout_ms=_HOUR_MS,
        )

    def _perception(self, person: str, name: str, text: str) -> Perception:
        self._number += 1
        room, ts = self._ground.rooms[name], f"{self._number}.000000"
        place, channel = _PLACES[room.kind], room_id(name)
        self._reader.places[channel] = place
        return Perception.of_message(
            conversation=ConversationKey(SOUL, TEAM, channel, "" if place is Place.DM else ts),
            ts=ts,
            author=user_id(person),
            content=text,
            place=place,
            audience=self._reader.audience_in(place, channel),
            name=person,
        )
