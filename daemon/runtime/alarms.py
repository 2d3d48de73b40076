"""Tells the admin what is wrong, once until it heals: in the ops channel, else in direct messages to the admins.

Every daemon notes what it sees; one of them tells it for all. Where neither a channel nor admins are set, or Slack is
down, the log, `soul status` and `soul doctor` show it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.alarms import OPS, QUIET_MS, alarm_post, sentence_of
from daemon.core.errors import ChannelError, ChannelRefused, StoreError
from daemon.core.last_line import in_short
from daemon.core.ports.catch_up import DutyTurn
from daemon.core.ports.channel import Room
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.memory.queues.alarms import Addressee, Alarm, Alarms

EVERY_S: Final = 60.0
_REFUSED_MS: Final = 86_400_000  # for which the ops channel counts as closed after it refused a post
_FAR_AHEAD_MS: Final = 86_400_000
_MOST_ADMINS: Final = 5

AlarmSource = Callable[[], Awaitable[Sequence[str]]]
"""Gives the names of the alarms that it sees now. May raise StoreError; any other error is its own alone."""


@dataclass(frozen=True, slots=True)
class Addressees:
    """Where alarms go: the id of the ops channel, empty for none, and those of the admins; `find_room` asks Slack."""

    channel: str
    admins: Sequence[str]
    find_room: Callable[[str], Awaitable[Room]]

    def __bool__(self) -> bool:
        return bool(self.channel or self.admins)


class AlarmWatch:
    """Looks at each of `sources` once a minute; `on_due` is called when a post waits. `turn` is whose duty it is."""

    def __init__(  # noqa: PLR0917 - one of each
        self,
        alarms: Alarms,
        sources: Sequence[AlarmSource],
        to: Addressees,
        turn: DutyTurn,
        clock: Clock,
        emit: Emit,
        on_due: Callable[[], None],
    ) -> None:
        self._alarms = alarms
        self._sources = sources
        self._to = to
        self._turn = turn
        self._clock = clock
        self._emit = emit
        self._on_due = on_due
        self._watching_since = clock.monotonic()

    async def run(self) -> None:
        """Look until cancelled. Raises StoreError."""
        while True:
            began_ms, watched_s = self._clock.now_ms(), self._clock.monotonic() - self._watching_since
            await self._see([name for source in self._sources for name in await self._seen_by(source)])
            async with self._turn() as wait:
                if not wait:
                    await self._tell()
                    if watched_s * 1000 >= QUIET_MS:
                        await self._heal(began_ms)
            await self._clock.sleep(min(EVERY_S, wait or EVERY_S))

    async def _seen_by(self, source: AlarmSource) -> Sequence[str]:
        """One source that fails hides no other."""
        try:
            return await source()
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - as said
            self._emit("alarm.source_failed", reason=in_short(error))
            return ()

    async def _see(self, names: Sequence[str]) -> None:
        for name in await self._alarms.see(tuple(dict.fromkeys(names))):
            self._emit("alarm.raised", name=name, says=sentence_of(name))

    async def _tell(self) -> None:
        """Post what no post says yet; the alarm about the ops channel goes to the admins alone."""
        known = await self._alarms.open()
        unsaid = await self._alarms.unsaid(known)
        if not self._to or not (unsaid or any(one.name == OPS for one in known)):
            return
        to = await self._addressees()
        unsaid = await self._alarms.unsaid(await self._alarms.open())  # the ops channel may be one of them by now
        if to and unsaid and await self._alarms.tell(unsaid, to, alarm_post([one.name for one in unsaid])):
            self._emit("alarm.announced", names=[one.name for one in unsaid], rooms=len(to))
            self._on_due()

    async def _heal(self, now: int) -> None:
        """Forget what was not seen for a while before this look began; a line says so where it was posted."""
        quiet = [one for one in await self._alarms.open() if _is_quiet(one, now)]
        healed = await self._alarms.heal(quiet) if quiet else ()
        for one in healed:
            self._emit("alarm.healed", name=one.name, after_s=round((now - one.since_ms) / 1000))
        if any(one.posts for one in healed):
            self._on_due()

    async def _addressees(self) -> list[Addressee]:
        """Who hears of alarms now: the ops channel if it takes posts, else each admin who can be written to."""
        if self._to.channel:
            room, code = await self._room(self._to.channel)
            closed_since = self._clock.now_ms() - _REFUSED_MS
            if room is not None and not await self._alarms.is_refused(room.channel, closed_since):
                return [Addressee(room)]
            if room is None and not code:
                return []  # Slack can't say now
            await self._see([OPS])
        found = [(admin, (await self._room(admin))[0]) for admin in self._to.admins[:_MOST_ADMINS]]
        return [Addressee(room, admin) for admin, room in found if room is not None]

    async def _room(self, contact: str) -> tuple[Room | None, str]:
        """Where to post for a channel or a person; None where that is not known now, or refused with a code."""
        try:
            return await self._to.find_room(contact), ""
        except ChannelError as error:
            self._emit("alarm.not_posted", to=contact, reason=in_short(error))
            return None, error.code if isinstance(error, ChannelRefused) else ""


def _is_quiet(alarm: Alarm, now: int) -> bool:
    """Whether it was not seen for a while, or was seen by a clock that was far ahead."""
    return now - alarm.seen_ms >= QUIET_MS or alarm.seen_ms - now >= _FAR_AHEAD_MS
