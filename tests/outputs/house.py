"""A whole soul around a scripted model and a channel that records; it answers one message at a time."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

from daemon.app.assembly import assemble, souls_of
from daemon.app.lifecycle import Daemon
from daemon.core.config import Settings
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place, Readers
from daemon.core.ports.arrivals import NewMessage
from daemon.core.ports.channel import Offers
from daemon.core.ports.services import Completion, DraftLog, GateDecision, Prompt, Speech
from daemon.core.text import Trusted
from daemon.core.value import Value
from daemon.memory.database.sqlite import sqlite3
from daemon.runtime.dispatcher import AnyLane
from tests.fakes import Events, FakeChannel, FakeSpeech, StillClock
from tests.given import tagged
from tests.journeys.souls import write_soul
from tests.models import ScriptedLLM

SOUL: Final = "tess"
TEAM: Final = "T1"
IN_WORDS: Final = "I say it in words."
"""The answer of the model where it isn't asked for a whole thought."""

_MANIFEST: Final = """\
mind = "cycle"
subprocesses = []
emotional_states = ["neutral", "happy"]

[presence]
nod = "thumbsup"

[cycle]
enabled = true
"""


class TalkRoom(Value):
    """Where people write: a direct message, or a thread of a channel. `members`: no outsider reads there."""

    channel: str
    place: Place
    person: str
    name: str
    members: bool = True

    @property
    def conversation(self) -> ConversationKey:
        return ConversationKey(SOUL, TEAM, self.channel, "" if self.place is Place.DM else "1.000000")

    @property
    def audience(self) -> Audience:
        if self.place is Place.PUBLIC_CHANNEL:
            return Audience(AudienceKind.WORKSPACE, TEAM)
        return Audience(AudienceKind.DM if self.place is Place.DM else AudienceKind.CHANNEL, self.channel)


ROOMS: Final = (
    TalkRoom("DADA", Place.DM, "U0ADA", "Ada"),
    TalkRoom("DBEN", Place.DM, "U0BEN", "Ben"),
    TalkRoom("C0ALL", Place.PUBLIC_CHANNEL, "U0ADA", "Ada"),
    TalkRoom("C0OUT", Place.PUBLIC_CHANNEL, "U0BEN", "Ben", members=False),
    TalkRoom("G0OPS", Place.PRIVATE_CHANNEL, "U0CLEO", "Cleo"),
)


class RecordingChannel(FakeChannel):
    """Keeps all that people would see: what streams, what is posted."""

    def __init__(self) -> None:
        super().__init__()
        self.speeches: list[FakeSpeech] = []

    async def admit(self, perception: Perception) -> GateDecision:
        return GateDecision(admitted=True, name=next(one.name for one in ROOMS if one.person == perception.author))

    async def readers(self, perception: Perception) -> Readers:
        room = next(one for one in ROOMS if one.channel == perception.conversation.channel)
        return Readers(perception.audience, members_only=room.members)

    def offers(self, conversation: ConversationKey) -> Offers:
        return Offers(nods=True, unasked=True)

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        self.speeches.append(FakeSpeech())
        return self.speeches[-1]

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        return (reply,) if reply else ()


class ThinkingModel(ScriptedLLM):
    """Asks for the next output whenever a whole thought is wanted."""

    def __init__(self, think: Callable[[], tuple[list[str], str]]) -> None:
        super().__init__(default=tagged(IN_WORDS))
        self._think = think

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        if prompt.step != "think":
            async for piece in super().stream(prompt):
                yield piece
            return
        pieces, stop = self._think()
        for one in pieces:
            yield one
        yield Completion("scripted/test", 1, 0, 1, stop=stop)


class ThinkingHouse:
    """One soul; `perceive` and `tick` let it think once, from the claim to the post."""

    def __init__(self, built: Daemon, channel: RecordingChannel, clock: StillClock, events: Events) -> None:
        self.channel, self.clock, self.events = channel, clock, events
        self._built, self._said = built, 1
        self._file = sqlite3.connect(built.settings.database_path, isolation_level=None)
        self._file.row_factory = sqlite3.Row
        self._lanes: dict[str, AnyLane] = {one.name: one for one in built.dispatcher._lanes}

    async def perceive(self, room: TalkRoom, words: str) -> None:
        self._said += 1
        message = Perception.of_message(
            conversation=room.conversation,
            ts=f"{self.clock.now_ms() // 1000}.{self._said:06d}",
            author=room.person,
            content=words,
            place=room.place,
            audience=room.audience,
            name=room.name,
        )
        await self._built.store.inbox.accept(NewMessage(f"E{self._said}", message, addressed=True))
        assert await self._work("conversations")
        await self._post()

    async def tick(self) -> bool:
        """Think by itself, if anything is due; gives whether something was."""
        worked = await self._work("ticks")
        await self._post()
        return worked

    async def _work(self, name: str) -> bool:
        lane = self._lanes[name]
        claim = await lane.claim()
        if claim is None:
            return False
        delivery = await lane.work(claim)
        while delivery is not None and await self._lanes["posts"].work(delivery) and not delivery.post.last:
            delivery = await self._built.store.outbox.claim_next(str(delivery.post.conversation))
        return True

    async def _post(self) -> None:
        while await self._work("posts"):
            pass

    async def score(self) -> None:
        """Score the expectations whose time is over, as the scheduler does."""
        if (due := await self._built.store.due_predictions.next_due_ms()) is not None and due <= self.clock.now_ms():
            await self._built.store.due_predictions.fall_due()

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        return [dict(row) for row in self._file.execute(sql, values)]

    def change(self, sql: str, *values: object) -> None:
        self._file.execute(sql, values)

    def close(self) -> None:
        self._file.close()


@asynccontextmanager
async def house(home: Path, think: Callable[[], tuple[list[str], str]]) -> AsyncIterator[ThinkingHouse]:
    clock, channel, events = StillClock(), RecordingChannel(), Events()
    write_soul(home, SOUL, _MANIFEST)
    settings = Settings(
        _env_file=None,
        home=home,
        name=SOUL,
        embedder="none",
        consolidate="off",
        tell_of_memory=False,
        quiet_hours="",
        cycle_tokens_hour=10**9,
        cycle_tokens_day=10**9,
    )
    souls = souls_of(settings, events)
    model = ThinkingModel(think)
    async with assemble(settings, channel, clock, events, workspace=TEAM, souls=souls, llm_of=lambda _: model) as built:
        with closing(ThinkingHouse(built, channel, clock, events)) as made:
            yield made
