"""The tests' fakes: two clocks, a recorder of events, an intake, a channel, a speech, drafts, endless work."""

import asyncio
import heapq
import time
from collections.abc import Callable, Collection
from itertools import count

from daemon.core.errors import LostLease, StoreBusy
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place, Readers
from daemon.core.ports import Intake, LeftMark, RoomListKey
from daemon.core.ports.arrivals import Acceptance, Arrival, Feedback, NewMessage
from daemon.core.ports.channel import Channel, Room
from daemon.core.ports.library import FoundPost, Post
from daemon.core.ports.services import DraftLog, GateDecision, Speech, Task
from daemon.core.room_ways import ChannelSettings
from daemon.core.text import Trusted
from tests.fake_catch_up import FakeCatchUpLog

TIMEOUT = 180.0  # seconds after which a wait has failed; only a test that fails waits so long
_LOCKED = 0.02  # seconds; a database that is locked waits at most so long before it tries again


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
        return self._start_ms + round(self._elapsed * 1000)

    def monotonic(self) -> float:
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


class StillClock(FakeClock):
    """A fake clock on which the database's short waits for a lock end at once."""

    async def sleep(self, seconds: float) -> None:
        await (asyncio.sleep(0) if seconds <= _LOCKED else super().sleep(seconds))


class TurnableClock:
    """The machine's time, which a test can move ahead or stop; `speed` makes its seconds pass faster, not its hours.

    The workspace and its daemons share one. Its time of day agrees with Slack's timestamps at any speed, unless the
    workspace shares it: the workspace counts by its seconds, so that one of another speed leaves the daemon behind.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._ahead = 0.0
        self._still: float | None = None
        self._turned = asyncio.Event()

    def now_ms(self) -> int:
        return int((time.time() - time.monotonic() + self._machine() + self._ahead) * 1000)

    def monotonic(self) -> float:
        return self._machine() * self._speed + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Wait until the seconds have passed or the clock was turned past them.

        While time stands still only a turn ends a wait, except the moments in which a database waits for a lock.
        """
        if seconds <= 0 or (self._still is not None and seconds <= _LOCKED):
            await asyncio.sleep(max(0.0, seconds))
            return
        until = self.monotonic() + seconds
        while (left := until - self.monotonic()) > 0:
            try:
                async with asyncio.timeout(left / self._speed if self._still is None else None):
                    await self._turned.wait()
            except TimeoutError:
                return

    def turn(self, seconds: float) -> None:
        """Move time ahead and wake all sleepers, which then look at the time."""
        self._ahead += seconds
        self._wake()

    def stand_still(self) -> None:
        """From now on time moves by `turn` alone, so that no test depends on the speed of the machine."""
        self._still = time.monotonic()
        self._wake()

    def _machine(self) -> float:
        return time.monotonic() if self._still is None else self._still

    def _wake(self) -> None:
        self._turned.set()
        self._turned = asyncio.Event()


class Events:
    """An `Emit` that records events, and lets a test wait for one."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, dict[str, object]]] = []
        self._changed = asyncio.Event()

    def __call__(self, event: str, /, **fields: object) -> None:
        self.emitted.append((event, fields))
        self._changed.set()

    @property
    def names(self) -> list[str]:
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


class FakeRoomNews:
    """A `RoomNews` in memory; the next `broken` calls of `tell` fail."""

    def __init__(self) -> None:
        self.news: list[tuple[str, str]] = []
        self.broken = 0

    async def tell(self, workspace: str, subjects: Collection[str]) -> None:
        if self.broken:
            self.broken -= 1
            raise StoreBusy("another program holds the database")
        self.news += [(workspace, subject) for subject in subjects]

    async def changed(self, workspace: str, after: int) -> tuple[frozenset[str], int]:
        """The news after the one numbered `after`, counted from 1."""
        found = {subject for team, subject in self.news[after:] if team == workspace}
        return frozenset(found), len(self.news)


class FakePersonRooms:
    """A `PersonRooms` in memory, which knows nothing of souls; the next `broken` calls of `outdate` fail."""

    def __init__(self) -> None:
        self.private: list[str] = []
        self.doubted: list[str] = []
        self.broken = 0
        self._lists: dict[RoomListKey, tuple[int, frozenset[str]]] = {}
        self._changes: dict[RoomListKey, int] = {}

    async def known(self, key: RoomListKey, soul: str, since_ms: int) -> frozenset[str] | None:  # see above
        at, rooms = self._lists.get(key, (-1, frozenset()))
        return rooms if at >= since_ms else None

    async def lists(self, key: RoomListKey, room: str, since_ms: int) -> bool:
        """Whether a list that was read since then holds a room."""
        at, rooms = self._lists.get(key, (-1, frozenset()))
        return at >= since_ms and room in rooms

    async def begin(self, key: RoomListKey) -> int:
        return self._changes.setdefault(key, 0)

    async def keep(self, key: RoomListKey, rooms: Collection[str], begun: int, asked_ms: int) -> bool:
        if self._changes[key] != begun:
            return False
        self._lists[key] = (asked_ms, frozenset(rooms))
        return True

    async def outdate(self, workspace: str, *, person: str = "", room: str = "") -> None:  # all its lists go
        if self.broken:
            self.broken -= 1
            raise StoreBusy("another program holds the database")
        for key in self._changes:
            if key.workspace == workspace and person in ("", key.person):
                self._changes[key] += 1
                self._lists.pop(key, None)

    async def open_rooms(self, workspace: str) -> frozenset[str]:  # there is one
        return frozenset()

    async def doubt(self, workspace: str, room: str = "") -> None:  # there is one
        self.doubted.append(room)

    async def moved(self, workspace: str, person: str, zone: str) -> bool:
        return False

    async def reminded(self, workspace: str, most: int) -> tuple[str, ...]:
        return ()

    async def make_private(self, workspace: str, room: str) -> None:  # there is one
        self.private.append(room)


class FakeRoomWays:
    """`ChannelSettingsStore` in memory: nothing is set, and channels that ended are noted."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def of(self, workspace: str, channel: str) -> ChannelSettings:
        return ChannelSettings()

    async def channels(self, workspace: str) -> tuple[tuple[str, bool], ...]:
        return ()

    async def end(self, workspace: str, channel: str) -> None:
        self.ended.append(channel)


class FakeMarks:
    """Which messages are marked, in memory; none is left."""

    def __init__(self) -> None:
        self.kept: set[str] = set()

    async def begin(self, message: str) -> None:
        self.kept.add(message)

    async def end(self, message: str) -> None:
        self.kept.discard(message)

    async def left(self, workspace: str, account: str) -> tuple[LeftMark, ...]:
        return ()


class FakeIntake:
    """An `Intake` in memory: accepts a message once per channel and ts; the next `broken` calls fail.

    The next `duplicates` arrivals are answered as if they were known already.
    """

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.offered: list[Arrival] = []
        self.broken = self.duplicates = 0
        self.catch_up_log = FakeCatchUpLog()
        self.room_news = FakeRoomNews()
        self.person_rooms = FakePersonRooms()
        self.room_ways = FakeRoomWays()
        self.marks = FakeMarks()
        self.changed = asyncio.Event()
        self._seen: set[tuple[str, ...]] = set()
        self._taken = 0

    async def accept(self, arrival: Arrival) -> Acceptance:
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
        if isinstance(arrival, NewMessage):
            self.catch_up_log.messages.add((arrival.perception.conversation.channel, arrival.perception.ts))
        self.arrivals.append(arrival)
        self.changed.set()
        return Acceptance.ACCEPTED

    async def next_reminder_ms(self, soul: str, workspace: str, person: str) -> int | None:
        return None

    async def may_ask_why(self, feedback: Feedback) -> bool:
        judged = ("why", feedback.channel, feedback.ts, feedback.author)
        known = judged in self._seen
        self._seen.add(judged)
        return not known

    def messages(self) -> list[NewMessage]:
        return [arrival for arrival in self.arrivals if isinstance(arrival, NewMessage)]

    async def until(self, number: int) -> list[Arrival]:
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


class FakeChannel(Channel):
    """A channel that keeps posts in memory; `answers` are raised in turn, then every delivery succeeds."""

    name = "fake channel"

    def __init__(self) -> None:
        self.posted: list[Post] = []
        self.history: dict[str, FoundPost] = {}
        self.looked_up: list[Post] = []
        self.languages: dict[str, str] = {}
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
        while len(self.posted) < number:
            self._grew.clear()
            await self._grew.wait()
        return self.posted

    async def find_room(self, contact: str) -> Room:
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

    async def admit(self, perception: Perception) -> GateDecision:
        return GateDecision(admitted=True, language=self.languages.get(perception.author, ""))

    async def readers(self, perception: Perception) -> Readers:
        return Readers(perception.audience, members_only=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        return (reply,)

    async def shared_room(self, person: str, name: str) -> Room:
        return Room(name, Place.PUBLIC_CHANNEL, Audience(AudienceKind.WORKSPACE, "T1"))

    async def show_in_channel(self, post: Post) -> None:
        """It is shown in the thread alone."""

    async def language_of(self, person: str) -> str:
        return self.languages.get(person, "")


class FakeSpeech(Speech):
    """A `Speech` that keeps what it was given: the pieces of text, and the tasks."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tasks: list[Task] = []

    @property
    def shown(self) -> str:
        return "".join(self.texts)

    async def say(self, text: str) -> None:
        self.texts.append(text)

    async def show(self, task: Task) -> None:
        self.tasks.append(task)

    async def settle(self) -> None:
        """Nothing is under way."""


class FakeDrafts:
    """Records the calls of a `DraftLog` in `steps`; with `lost`, the lease is gone before the draft opens."""

    def __init__(self, *, lost: bool = False) -> None:
        self.steps: list[str] = []
        self.settled = asyncio.Event()
        self.log = DraftLog(self._opening, self._opened, self._refused)
        self._lost = lost

    async def _opening(self) -> None:
        if self._lost:
            raise LostLease("another worker has it")
        self.steps.append("opening")

    async def _opened(self, ts: str) -> None:
        self.steps.append(ts)
        self.settled.set()

    async def _refused(self) -> None:
        self.steps.append("refused")


class EndlessWork:
    """Work that ends only by cancellation or by an error."""

    def __init__(self) -> None:
        self.started, self.ended = asyncio.Event(), asyncio.Event()
        self.cancelled = False

    async def forever(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.ended.set()

    async def fail(self, error: BaseException) -> None:
        self.started.set()
        raise error

    async def fail_when_cancelled(self, error: Exception) -> None:
        try:
            await self.forever()
        finally:
            raise error
