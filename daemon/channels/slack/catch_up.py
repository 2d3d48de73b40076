"""The catch-up: messages that arrived during a gap are read from Slack's history and passed to the intake (P5)."""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader, place_of
from daemon.channels.slack.history import THREADS_ALIVE, PlaceReader, as_seconds, as_ts, read_rooms_page
from daemon.channels.slack.refusals import DEAD_TOKEN
from daemon.channels.slack.rooms import end_gone_rooms
from daemon.core.concurrency import set_within
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ChannelRefused, NotDelivered, StoreError
from daemon.core.perception import Place
from daemon.core.ports import Intake, UnreadPlace
from daemon.core.ports.services import Clock, Emit
from daemon.core.timetable import CLOCKS_DIFFER_S

_PAUSE: Final = 5.0
_TRIES: Final = 10  # failures of one place in a row; then it waits for the next catch-up, and all others are read
_STORE_PAUSE: Final = 30.0
_PATIENCE: Final = 60.0  # seconds of failure after which another daemon may read what was missed
_REFUSED_PAUSE: Final = 300.0  # an admin may have added the scope or a new token in that time
_TURN_OF_THE_LONGEST: Final = 4  # every fourth time the place that waited longest is read, to avoid starvation
_NO_HINT: Final = "`soul doctor` checks the tokens, the scopes and the app's settings"


class CatchUp:
    """The reader of every channel and open thread from the watermark on. Setting `gap` requests a catch-up.

    The place that was heard last is read first, within Slack's rate limits. The places still to read are stored, and a
    restart goes on with them. Ten minutes are read twice, since our clock may be ahead of Slack's; the intake drops
    duplicates. `on_gap` is called first, since edits and deletions may have been missed too. For a channel that was
    made private during the gap, the audience of its messages becomes its members. The settings of archived or deleted
    channels end.
    """

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self,
        client: SlackClient,
        reader: EventReader,
        intake: Intake,
        settings: Settings,
        clock: Clock,
        emit: Emit,
        gap: asyncio.Event,
        on_gap: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._reader = reader
        self._log = intake.catch_up_log
        self._person_rooms = intake.person_rooms
        self._room_ways = intake.room_ways
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._gap = gap
        self._on_gap = on_gap
        self._places = PlaceReader(client, reader, intake)
        self._names: dict[str, str] = {}
        self._found = 0
        self._turns = count(1)

    async def set_out(self) -> None:
        """Store the watermark of a new soul at its start: it may be stopped before it has read anything."""
        try:
            if await self._log.watermark(*self._scope) is None:
                await self._log.advance(*self._scope, as_ts(self._first(self._clock.now_ms() / 1000)))
        except StoreError as error:
            self._emit("slack.catch_up_failed", reason=error.message, hint=error.hint)

    async def run(self) -> None:
        """Fill one gap after the other until cancelled.

        One of several daemons does this; another replaces a dead one.
        """
        while True:
            try:
                await self._ask()
                async with self._log.turn(*self._scope) as pause:
                    if not pause:
                        await self.fill(_PATIENCE)
            except _Hindered as hindered:  # another daemon may succeed
                await self._clock.sleep(hindered.pause)
            except StoreError as error:
                self._emit("slack.catch_up_failed", reason=error.message, hint=error.hint)
                await self._clock.sleep(_STORE_PAUSE)
            else:
                await set_within(self._gap, self._clock, pause)

    async def _ask(self) -> None:
        """Store the request for a catch-up if there was a gap. Raises StoreError, and then the request stays open."""
        if not self._gap.is_set():
            return
        self._gap.clear()
        self._on_gap()
        try:
            await self._log.ask(*self._scope)
        except StoreError:
            self._gap.set()
            raise

    async def fill(self, patience: float = math.inf) -> None:
        """Read all messages since the watermark, with retries while the store or Slack fails.

        Raises _Hindered if Slack would have failed for more than `patience` seconds in a row.
        """
        began, self._found = None, 0
        failing: float | None = None
        while True:
            try:
                if began is None or self._gap.is_set():
                    self._gap.clear()
                    began = None
                    self._on_gap()
                    now = self._clock.now_ms() / 1000
                    await self._begin(now)
                    began = now
                failing = None
                if await self._read_all():
                    await self._log.advance(*self._scope, as_ts(began - CLOCKS_DIFFER_S))
                    self._emit("slack.caught_up", found=self._found, up_to=as_ts(began - CLOCKS_DIFFER_S))
                    return
            except StoreError as error:
                self._emit("slack.catch_up_failed", reason=error.message, hint=error.hint)
                await self._clock.sleep(_STORE_PAUSE)
            except ChannelError as error:
                pause, now = self._pause_after(error), self._clock.monotonic()
                failing = now if failing is None else failing
                if now + pause - failing > patience:
                    raise _Hindered(pause) from error
                await self._clock.sleep(pause)

    @property
    def _scope(self) -> tuple[str, str]:
        return self._reader.soul, self._reader.identity.team

    async def _begin(self, now: float) -> None:
        """Store all places as due. Raises StoreError, or ChannelError if Slack doesn't list the channels."""
        mark = await self._log.watermark(*self._scope)
        since = max(as_seconds(mark), now - self._settings.backfill_hours * 3600)
        if mark is None:
            since = self._first(now)
        rooms = await self._rooms()
        for room in sorted(await self._person_rooms.open_rooms(self._scope[1])):
            if rooms.get(room) is Place.PRIVATE_CHANNEL:  # changed during the gap, without an event
                await self._person_rooms.make_private(self._scope[1], room)
        await end_gone_rooms(self._client, self._room_ways, self._scope[1], rooms, self._emit)
        heard, left_out = await self._log.heard_places(
            self._scope[1], int((since - THREADS_ALIVE) * 1000), self._settings.backfill_threads
        )
        places = [UnreadPlace(id_, "", as_ts(since), heard_ms=int(place is Place.DM)) for id_, place in rooms.items()]
        last: dict[str, int] = {}
        for one in heard:
            last[one.channel] = max(one.last_ms, last.get(one.channel, 0))
            if one.thread and one.channel in rooms:
                places.append(UnreadPlace(one.channel, one.thread, as_ts(since), heard_ms=one.last_ms))
        known = [one if one.thread else replace(one, heard_ms=last.get(one.channel, one.heard_ms)) for one in places]
        await self._log.add_unread(*self._scope, list({(one.channel, one.thread): one for one in known}.values()))
        self._emit(
            "slack.catching_up",
            since=as_ts(since),
            rooms=len(rooms),
            threads=len(places) - len(rooms),
            threads_left_out=left_out,
        )

    def _first(self, now: float) -> float:
        return now - min(self._settings.stale_after, self._settings.backfill_hours * 3600)

    async def _rooms(self) -> dict[str, Place]:
        """Return every channel and DM that the soul is in. Raises NotDelivered or ChannelRefused."""
        reader, rooms = self._reader, dict[str, Place]()
        cursor: str | None = None
        while True:
            await self._client.wait_to_read()
            page = await read_rooms_page(self._client, cursor)
            for room in page.items:
                rooms[str(room.get("id"))] = place_of(room)
                self._names[str(room.get("id"))] = str(room.get("name") or "")
            reader.shared.update(str(room.get("id")) for room in page.items if room.get("is_ext_shared"))
            if page.cursor is None or page.cursor == cursor:
                break
            cursor = page.cursor
        reader.places.update(rooms)
        return rooms

    async def _read_all(self) -> bool:
        while not self._gap.is_set():
            longest = next(self._turns) % _TURN_OF_THE_LONGEST == 0
            place = await self._log.next_unread(*self._scope, most_failures=_TRIES, waited_longest=longest)
            if place is None:
                return True
            await self._read(place)
        return False

    async def _read(self, place: UnreadPlace) -> None:
        """Read one place, or a part of it. Raises StoreError, or ChannelError if Slack takes no call of ours now."""
        began = self._clock.now_ms() / 1000
        try:
            step = await self._places.read(place)
        except NotDelivered as error:
            if place.failures + 1 == _TRIES:
                self._tell_beyond_reach(place, error.message, "nothing to do: the next catch-up tries again")
            await self._log.put_off(*self._scope, replace(place, failures=place.failures + 1))
            raise
        except ChannelRefused as error:
            if error.code in DEAD_TOKEN:
                raise
            self._tell_beyond_reach(place, error.code, error.hint or _NO_HINT)
            if error.code == "missing_scope":
                await self._log.put_off(*self._scope, replace(place, failures=_TRIES))
            else:
                await self._log.mark_read(*self._scope, place, place.since)
            return
        self._found += step.found
        await self._log.add_unread(*self._scope, step.threads)
        if not place.thread:
            await self._log.mark_quiet(*self._scope, place.channel, step.latest)
        if step.resume:
            await self._log.put_off(*self._scope, replace(place, resume=step.resume, failures=0))
        else:
            await self._log.mark_read(*self._scope, place, as_ts(began - CLOCKS_DIFFER_S))

    def _pause_after(self, error: ChannelError) -> float:
        """Return the seconds to wait after a failed call. A refusal, which needs an admin, is logged."""
        if isinstance(error, ChannelRefused):
            self._emit("slack.beyond_reach", where="everything", reason=error.code, hint=error.hint or _NO_HINT)
            return _REFUSED_PAUSE
        return max(error.retry_after, _PAUSE) if isinstance(error, NotDelivered) else _PAUSE

    def _tell_beyond_reach(self, place: UnreadPlace, reason: str, hint: str) -> None:
        named: Mapping[str, Any] = {"name": name} if (name := self._names.get(place.channel)) else {}
        self._emit("slack.beyond_reach", where=place.channel, thread=place.thread, reason=reason, hint=hint, **named)


class _Hindered(Exception):
    """The error that Slack answers nothing now; the catch-up tries again after `pause` seconds."""

    def __init__(self, pause: float) -> None:
        super().__init__(f"Slack gives nothing for {pause:.0f} seconds")
        self.pause = pause
