"""The tests' fakes: two clocks, a recorder of events, an intake, a channel, and two scripted models."""

import asyncio
import heapq
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from daemon.core.errors import StoreBusy
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports import (
    Acceptance,
    Arrival,
    Completion,
    DraftLog,
    FoundPost,
    GateDecision,
    Intake,
    ModelRole,
    NewMessage,
    Overheard,
    Post,
    Prompt,
    Room,
    Speech,
)
from daemon.llm.placeholder import heard_in
from daemon.llm.scripted import Piece, Reply, Script, ScriptedLLM
from tests.given import tagged

TIMEOUT = 20.0
"""Seconds after which a wait for an event fails."""


class FakeClock:
    """A clock that a test turns by hand, or that jumps ahead by itself on every sleep (`auto`)."""

    def __init__(self, *, auto: bool = False, start_ms: int = 1_750_000_000_000) -> None:
        self.auto = auto
        self.slept: list[float] = []
        self._start_ms = start_ms
        self._elapsed = 0.0
        self._alarms: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._changed = asyncio.Event()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return self._start_ms + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    def set_back(self, seconds: float) -> None:
        """Change the time of day alone, as an admin does; a negative number sets it ahead."""
        self._start_ms -= round(seconds * 1000)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was turned far enough; with `auto`, turn it and let other tasks run."""
        self.slept.append(seconds)
        if self.auto or seconds <= 0:
            self._elapsed += max(0.0, seconds)
            await asyncio.sleep(0)
            return
        alarm = asyncio.get_running_loop().create_future()
        heapq.heappush(self._alarms, (self._elapsed + seconds, next(self._order), alarm))
        self._changed.set()
        await alarm

    async def sleepers(self, number: int = 1) -> None:
        """Wait until at least so many tasks sleep on this clock."""
        while len(self._waiting()) < number:
            self._changed.clear()
            await self._changed.wait()

    async def advance(self, seconds: float) -> None:
        """Turn the clock, waking sleepers in the order of their alarms, and let each of them run."""
        target = self._elapsed + seconds
        while self._alarms and self._alarms[0][0] <= target:
            at, _, alarm = heapq.heappop(self._alarms)
            self._elapsed = max(self._elapsed, at)
            if not alarm.done():
                alarm.set_result(None)
                await asyncio.sleep(0)
        self._elapsed = target
        await asyncio.sleep(0)

    def _waiting(self) -> list[asyncio.Future[None]]:
        return [alarm for _, _, alarm in self._alarms if not alarm.done()]


class TurnableClock:
    """The machine's time, which a test can move ahead; its seconds pass `speed` times faster, its time of day does not.

    The workspace and its daemons share one: what is compared with Slack's timestamps must not run ahead of them.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._ahead = 0.0
        self._turned = asyncio.Event()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return int((time.time() + self._ahead) * 1000)

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        return time.monotonic() * self._speed + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Wait until the seconds have passed or the clock was turned past them."""
        until = self.monotonic() + seconds
        while (left := until - self.monotonic()) > 0:
            try:
                async with asyncio.timeout(left / self._speed):
                    await self._turned.wait()
            except TimeoutError:
                return
        if seconds <= 0:
            await asyncio.sleep(0)

    def turn(self, seconds: float) -> None:
        """Move time ahead and wake all sleepers, which then look at the time."""
        self._ahead += seconds
        self._turned.set()
        self._turned = asyncio.Event()


class Events:
    """An `Emit` that records events, and lets a test wait for one."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, dict[str, object]]] = []
        self._changed = asyncio.Event()

    def __call__(self, event: str, /, **fields: object) -> None:
        """Record one event."""
        self.emitted.append((event, fields))
        self._changed.set()

    @property
    def names(self) -> list[str]:
        """The events' names, oldest first."""
        return [name for name, _ in self.emitted]

    def named(self, event: str) -> list[dict[str, object]]:
        """The fields of every event of this name, oldest first."""
        return [fields for name, fields in self.emitted if name == event]

    async def until(self, event: str, times: int = 1, **having: object) -> dict[str, object]:
        """Wait for the `times`-th event with this name and these fields; gives the fields of the newest one."""

        def found() -> list[dict[str, object]]:
            return [fields for fields in self.named(event) if having.items() <= fields.items()]

        await self.when(lambda: len(found()) >= times)
        return found()[-1]

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds; it is checked after every event."""
        async with asyncio.timeout(TIMEOUT):
            while not holds():
                self._changed.clear()
                await self._changed.wait()


class FakeIntake:
    """An `Intake` in memory: accepts a message once per channel and ts; the next `broken` calls fail.

    The next `duplicates` arrivals are answered as if they were known already.
    """

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.offered: list[Arrival] = []
        self.broken = self.duplicates = 0
        self.mark: str | None = None
        self.threads: tuple[ConversationKey, ...] = ()
        self.known: tuple[str, ...] = ()
        self.changed = asyncio.Event()
        self._seen: set[tuple[str, ...]] = set()
        self._taken = 0

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Keep an arrival once."""
        self.offered.append(arrival)
        if self.broken:
            self.broken -= 1
            raise StoreBusy("another program holds the database")
        if self.duplicates:
            self.duplicates -= 1
            return Acceptance.DUPLICATE
        key = (
            (arrival.perception.conversation.channel, arrival.perception.ts)
            if isinstance(arrival, NewMessage)
            else (arrival.event_id,)
        )
        if key in self._seen:
            return Acceptance.DUPLICATE
        self._seen.add(key)
        self.arrivals.append(arrival)
        self.changed.set()
        return Acceptance.ACCEPTED

    async def heard_until(self, soul: str, workspace: str) -> str | None:
        """The mark."""
        return self.mark

    async def confirm_heard(self, soul: str, workspace: str, ts: str) -> None:
        """Move the mark."""
        self.mark = max(self.mark or "", ts)

    async def open_threads(self, soul: str, workspace: str, since_ms: int, limit: int) -> tuple[ConversationKey, ...]:
        """What the test put there."""
        return self.threads[:limit]

    async def known_channels(self, soul: str, workspace: str, limit: int) -> tuple[str, ...]:
        """What the test put there."""
        return self.known[:limit]

    def messages(self) -> list[NewMessage]:
        """The new messages among the arrivals."""
        return [arrival for arrival in self.arrivals if isinstance(arrival, NewMessage)]

    async def until(self, number: int) -> list[Arrival]:
        """Wait for so many arrivals."""
        async with asyncio.timeout(TIMEOUT):
            while len(self.arrivals) < number:
                self.changed.clear()
                await self.changed.wait()
        return self.arrivals

    @property
    def waiting(self) -> int:
        """How many arrivals `next` has not given yet."""
        return len(self.arrivals) - self._taken

    async def next(self) -> NewMessage:
        """Wait for the arrival after the one given last; it is a new message."""
        await self.until(self._taken + 1)
        arrival = self.arrivals[self._taken]
        self._taken += 1
        assert isinstance(arrival, NewMessage)
        return arrival


class FakeChannel:
    """A `Channel` that keeps posts in memory; `answers` are raised in turn, then every delivery succeeds."""

    name = "fake channel"

    def __init__(self) -> None:
        self.posted: list[Post] = []
        self.history: dict[str, FoundPost] = {}
        self.looked_up: list[Post] = []
        self.answers: list[Exception] = []
        self.lookups: list[Exception] = []
        self.hold: asyncio.Event | None = None
        self._grew = asyncio.Event()

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; waits while `hold` is not set."""
        if self.hold is not None:
            await self.hold.wait()
        if self.answers:
            raise self.answers.pop(0)
        self.posted.append(post)
        self._grew.set()
        ts = f"{len(self.posted)}.0"
        self.history[post.key] = FoundPost(ts, finished=True)
        return ts

    async def until_posted(self, number: int) -> list[Post]:
        """Wait for so many posts, and return all."""
        while len(self.posted) < number:
            self._grew.clear()
            await self._grew.wait()
        return self.posted

    async def room_of(self, contact: str) -> Room:
        """See `Channel.room_of`."""
        return Room(contact, Place.PRIVATE_CHANNEL, Audience(AudienceKind.CHANNEL, contact))

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`; `lookups` are raised in turn."""
        self.looked_up.append(post)
        if self.lookups:
            raise self.lookups.pop(0)
        return self.history.get(post.key)

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Connected at once; no message comes."""
        ready.set()

    def healthy(self) -> bool:
        """Always."""
        return True

    async def admit(self, perception: Perception) -> GateDecision:
        """Everybody may talk."""
        return GateDecision(admitted=True)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[None]:
        """No status is shown."""
        yield

    def speak(self, perception: Perception, drafts: DraftLog) -> Speech:
        """Not part of this fake."""
        raise NotImplementedError

    def split(self, reply: str) -> tuple[str, ...]:
        """One part."""
        return (reply,)

    def reply_to(self, perception: Perception) -> str:
        """No thread."""
        return ""

    async def overheard(self, perception: Perception, limit: int) -> tuple[Overheard, ...]:
        """No history."""
        return ()


class Flow:
    """An answer that a test lets out piece by piece; `asked` is set once the model was called, `read` at each piece."""

    def __init__(self) -> None:
        self.asked, self.read = asyncio.Event(), asyncio.Event()
        self.taken: list[str] = []
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue()

    def say(self, *pieces: Piece) -> None:
        """Let out more; an exception breaks the stream there."""
        for piece in pieces:
            self._pieces.put_nowait(piece)

    def end(self, *pieces: Piece) -> None:
        """Let out the rest."""
        self.say(*pieces)
        self._pieces.put_nowait(None)

    async def pieces(self) -> AsyncGenerator[str, None]:
        """What was let out so far, and then the rest as it comes."""
        self.asked.set()
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            assert isinstance(piece, str)
            self.taken.append(piece)
            self.read.set()
            yield piece


class FakeModel(ScriptedLLM):
    """A scripted model that echoes the newest message when the script is empty.

    `flows` are used first, by the steps that speak; `voices` answer by words of the prompt, in any order, and `steps`
    by the cognitive step that asks, each in its own order. `closed` counts the calls that ended.
    """

    def __init__(self, *, model: str = "scripted/test", usage: Completion | None = None) -> None:
        super().__init__(default=_echo, model=model, usage=usage)
        self.flows: list[Flow] = []
        self.voices: dict[str, Flow] = {}
        self.steps: defaultdict[str, deque[Script]] = defaultdict(deque)
        self.closed = 0

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`."""
        try:
            flow = self._flow(prompt)
            if flow is None:
                async for piece in super().stream(prompt):
                    yield piece
                return
            self.prompts.append(prompt)
            try:
                async for text in flow.pieces():
                    yield text
            except (GeneratorExit, asyncio.CancelledError):
                self.cut += 1
                raise
            yield Completion(self.model_for(ModelRole.PERSONA), 1, 0, 1)
        finally:
            self.closed += 1

    async def _next_reply(self, prompt: Prompt) -> Reply:
        own = self.steps[prompt.step]
        if not own:
            return await super()._next_reply(prompt)
        script = own.popleft()
        return await script(prompt) if callable(script) else script

    def _flow(self, prompt: Prompt) -> Flow | None:
        for words, flow in self.voices.items():
            if words in prompt.messages[-1].text:
                return flow
        return self.flows.pop(0) if self.flows and prompt.role is ModelRole.PERSONA else None


async def _echo(prompt: Prompt) -> Reply:
    if prompt.json_schema is not None:
        return '{"true": false}'
    words = " + ".join(heard_in(prompt))
    return tagged(f"Echo: {words}") if prompt.role is ModelRole.PERSONA else f"They said: {words}"


@dataclass
class PacedModel:
    """An `LLM` that plays one script per call: text, an event to wait for, an error, an end."""

    scripts: list[list[Piece | asyncio.Event]]
    clock: FakeClock
    prompts: list[Prompt] = field(default_factory=list)
    closed: int = 0

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Play the next script; a quarter of a second passes before each piece."""
        self.prompts.append(prompt)
        try:
            for piece in self.scripts.pop(0):
                await self.clock.sleep(0.25)
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, asyncio.Event):
                    await piece.wait()
                else:
                    yield piece
        finally:
            self.closed += 1

    def model_for(self, role: ModelRole) -> str:
        """One model for each role."""
        return f"fake/{role}"
