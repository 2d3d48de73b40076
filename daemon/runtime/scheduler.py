"""Scheduled work: moves due rows into the inbox, watches alarms, and awakens the soul."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from daemon.core.errors import ChannelError, ChannelRefused, StoreError
from daemon.core.last_line import in_short
from daemon.core.ports import DutyTurn
from daemon.core.ports.channel import Room
from daemon.core.ports.services import Clock, Emit
from daemon.core.tempo import OPS, QUIET_MS, alarm_post, sentence_of
from daemon.core.value import Value
from daemon.memory.queues.alarms import Addressee, Alarm, Alarms
from daemon.runtime.cycle_services import CycleServices

POLL = 2.0
"""Seconds between two looks for work that another process scheduled."""

_SHORTEST_WAIT = 0.05


class DueRows(Value):
    """Rows of one kind that fall due: when the next one does (ms), and the move of all that did.

    `event` is logged with the number of moved rows. `is_work`: they are work for a lane.
    """

    event: str
    next_ms: Callable[[], Awaitable[int | None]]
    move: Callable[[], Awaitable[int]]
    is_work: bool = True


class Scheduler(Value):
    """The mover of rows that fall due. `on_due` is called when there is work.

    Several schedulers may share one memory.db: each row is moved once.
    """

    kinds: Sequence[DueRows]
    clock: Clock
    emit: Emit
    on_due: Callable[[], None]

    async def look(self) -> float:
        """Move due rows, and return the seconds until the next one falls due, at most POLL. Raises StoreError."""
        return min([await self._move(kind) for kind in self.kinds])

    async def _move(self, kind: DueRows) -> float:
        due = await kind.next_ms()  # cheap; moving takes the write lock even when nothing is due
        moved = await kind.move() if self._is_due(due) else 0
        if moved:
            self.emit(kind.event, count=moved)
            if kind.is_work:
                self.on_due()
            due = await kind.next_ms()
        if due is None or (self._is_due(due) and not moved):  # what can't be moved yet is no hurry
            return POLL
        return min(POLL, max(_SHORTEST_WAIT, (due - self.clock.now_ms()) / 1000))

    def _is_due(self, due: int | None) -> bool:
        return due is not None and due <= self.clock.now_ms()


EVERY_S: Final = 60.0
_REFUSED_MS: Final = 86_400_000  # the ops channel counts as closed for this long after a refusal
_FAR_AHEAD_MS: Final = 86_400_000
_MOST_ADMINS: Final = 5

AlarmSource = Callable[[], Awaitable[Sequence[str]]]
"""A function that returns the names of its current alarms. It may raise StoreError."""


class Addressees(Value):
    """The addressees of alarms: the ops channel's id, empty for none, and the admins. `find_room` asks Slack."""

    channel: str
    admins: Sequence[str]
    find_room: Callable[[str], Awaitable[Room]]

    def __bool__(self) -> bool:
        return bool(self.channel or self.admins)


@dataclass(eq=False)
class AlarmWatch:
    """The watch that asks each of `sources` once a minute. `on_due` is called when a post waits."""

    alarms: Alarms
    sources: Sequence[AlarmSource]
    to: Addressees
    turn: DutyTurn
    clock: Clock
    emit: Emit
    on_due: Callable[[], None]
    _watching_since: float = field(init=False)

    def __post_init__(self) -> None:
        self._watching_since = self.clock.monotonic()

    async def look(self) -> float:
        """Look once, and return the seconds until the next look. Raises StoreError."""
        began_ms, watched_s = self.clock.now_ms(), self.clock.monotonic() - self._watching_since
        await self._see([name for source in self.sources for name in await self._seen_by(source)])
        async with self.turn() as wait:
            if not wait:
                await self._tell()
                if watched_s * 1000 >= QUIET_MS:
                    await self._heal(began_ms)
        return min(EVERY_S, wait or EVERY_S)

    async def _seen_by(self, source: AlarmSource) -> Sequence[str]:
        """Return the alarms of one source. A source that fails does not hide the others."""
        try:
            return await source()
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - as said
            self.emit("alarm.source_failed", reason=in_short(error))
            return ()

    async def _see(self, names: Sequence[str]) -> None:
        for name in await self.alarms.see(tuple(dict.fromkeys(names))):
            self.emit("alarm.raised", name=name, says=sentence_of(name))

    async def _tell(self) -> None:
        """Post unannounced alarms. The alarm about the ops channel goes to the admins alone."""
        known = await self.alarms.open()
        unsaid = await self.alarms.unsaid(known)
        if not self.to or not (unsaid or any(one.name == OPS for one in known)):
            return
        to = await self._addressees()
        unsaid = await self.alarms.unsaid(await self.alarms.open())  # the alarm about the ops channel may be new
        if to and unsaid and await self.alarms.tell(unsaid, to, alarm_post([one.name for one in unsaid])):
            self.emit("alarm.announced", names=[one.name for one in unsaid], rooms=len(to))
            self.on_due()

    async def _heal(self, now: int) -> None:
        """Heal alarms that were not seen for a while before this look began, with a line where they were posted."""
        quiet = [one for one in await self.alarms.open() if _is_quiet(one, now)]
        healed = await self.alarms.heal(quiet) if quiet else ()
        for one in healed:
            self.emit("alarm.healed", name=one.name, after_s=round((now - one.since_ms) / 1000))
        if any(one.posts for one in healed):
            self.on_due()

    async def _addressees(self) -> list[Addressee]:
        """Return the addressees now: the ops channel if it takes posts, else each admin whom the soul can write to."""
        if self.to.channel:
            room, code = await self._room(self.to.channel)
            closed_since = self.clock.now_ms() - _REFUSED_MS
            if room is not None and not await self.alarms.is_refused(room.channel, closed_since):
                return [Addressee(room)]
            if room is None and not code:
                return []  # Slack can't say now
            await self._see([OPS])
        found = [(admin, (await self._room(admin))[0]) for admin in self.to.admins[:_MOST_ADMINS]]
        return [Addressee(room, admin) for admin, room in found if room is not None]

    async def _room(self, contact: str) -> tuple[Room | None, str]:
        """Return the room of a channel or a person, None where it is unknown now, or refused with a code."""
        try:
            return await self.to.find_room(contact), ""
        except ChannelError as error:
            self.emit("alarm.not_posted", to=contact, reason=in_short(error))
            return None, error.code if isinstance(error, ChannelRefused) else ""


def _is_quiet(alarm: Alarm, now: int) -> bool:
    """Return whether an alarm was not seen for a while, or was seen by a clock that was far ahead."""
    return now - alarm.seen_ms >= QUIET_MS or alarm.seen_ms - now >= _FAR_AHEAD_MS


AWAKENING_EVERY_S: Final = 30.0


@dataclass(eq=False)
class Awakener:
    """The awakener of one soul. `on_due` is called when it should awaken."""

    services: CycleServices
    on_due: Callable[[], None]
    _started: bool = False

    async def look(self) -> None:
        """Begin the awakening, or note that the soul is awake. Raises StoreError."""
        services, awakenings = self.services, self.services.store.awakenings
        thinks, begun = services.thinks_by_itself, await awakenings.is_begun()
        first, self._started = not self._started, True
        if begun:
            await (awakenings.resume() if first and thinks else awakenings.note(thinks=thinks))
        elif thinks and services.soul().awakening and await awakenings.begin():
            self.on_due()
