"""The catch-up: messages that arrived during a gap are read from Slack's history and passed to the intake (P5)."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from msgspec.structs import replace

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.arrivals import message as message_in
from daemon.channels.slack.event_reader import EventReader, channel_type, place_of
from daemon.channels.slack.history import as_seconds, as_ts, in_order, messages_of, read_page
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.refusals import DEAD_TOKEN
from daemon.channels.slack.rooms import end_gone_rooms
from daemon.core.concurrency import set_within
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ChannelRefused, NotDelivered, StoreError
from daemon.core.perception import Place
from daemon.core.ports import Intake, UnreadPlace
from daemon.core.ports.arrivals import Acceptance, Source
from daemon.core.timetable import CLOCKS_DIFFER_S
from daemon.core.value import Value

_PAUSE: Final = 5.0
_TRIES: Final = 10  # failures of one place in a row; then it waits for the next catch-up, and all others are read
_STORE_PAUSE: Final = 30.0
_PATIENCE: Final = 60.0  # seconds of failure after which another daemon may read what was missed
_REFUSED_PAUSE: Final = 300.0  # an admin may have added the scope or a new token in that time
_TURN_OF_THE_LONGEST: Final = 4  # every fourth time the place that waited longest is read, to avoid starvation
_ROOMS: Final = {"types": "im,mpim,private_channel,public_channel", "exclude_archived": True}
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
        gap: asyncio.Event,
        on_gap: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._reader = reader
        self._log = intake.catch_up_log
        self._person_rooms = intake.person_rooms
        self._room_ways = intake.room_ways
        self._settings = settings
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
                await self._log.advance(*self._scope, as_ts(self._first(self._client.clock.now_ms() / 1000)))
        except StoreError as error:
            self._client.emit("slack.catch_up_failed", reason=error.message, hint=error.hint)

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
                await self._client.clock.sleep(hindered.pause)
            except StoreError as error:
                self._client.emit("slack.catch_up_failed", reason=error.message, hint=error.hint)
                await self._client.clock.sleep(_STORE_PAUSE)
            else:
                await set_within(self._gap, self._client.clock, pause)

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
                    now = self._client.clock.now_ms() / 1000
                    await self._begin(now)
                    began = now
                failing = None
                if await self._read_all():
                    await self._log.advance(*self._scope, as_ts(began - CLOCKS_DIFFER_S))
                    self._client.emit("slack.caught_up", found=self._found, up_to=as_ts(began - CLOCKS_DIFFER_S))
                    return
            except StoreError as error:
                self._client.emit("slack.catch_up_failed", reason=error.message, hint=error.hint)
                await self._client.clock.sleep(_STORE_PAUSE)
            except ChannelError as error:
                pause, now = self._pause_after(error), self._client.clock.monotonic()
                failing = now if failing is None else failing
                if now + pause - failing > patience:
                    raise _Hindered(pause) from error
                await self._client.clock.sleep(pause)

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
        await end_gone_rooms(self._client, self._room_ways, self._scope[1], rooms, self._client.emit)
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
        self._client.emit(
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
            page = await read_page(self._client, "users.conversations", "channels", dict, cursor, **_ROOMS)
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
        began = self._client.clock.now_ms() / 1000
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
            self._client.emit("slack.beyond_reach", where="everything", reason=error.code, hint=error.hint or _NO_HINT)
            return _REFUSED_PAUSE
        return max(error.retry_after, _PAUSE) if isinstance(error, NotDelivered) else _PAUSE

    def _tell_beyond_reach(self, place: UnreadPlace, reason: str, hint: str) -> None:
        named: Mapping[str, Any] = {"name": name} if (name := self._names.get(place.channel)) else {}
        self._client.emit(
            "slack.beyond_reach", where=place.channel, thread=place.thread, reason=reason, hint=hint, **named
        )


class _Hindered(Exception):
    """The error that Slack answers nothing now; the catch-up tries again after `pause` seconds."""

    def __init__(self, pause: float) -> None:
        super().__init__(f"Slack gives nothing for {pause:.0f} seconds")
        self.pause = pause


THREADS_ALIVE: Final = 3 * 86_400.0  # seconds that a thread may have been quiet before the gap and is still expected
PAGES: Final = 5  # pages of one step; a longer place takes several


class ReadStep(Value):
    """The result of one step: new messages, threads to read too, and the start of the next step, if any.

    `latest` holds the ts of the latest reply to each message that was seen, or an empty string.
    """

    found: int
    threads: tuple[UnreadPlace, ...]
    latest: Mapping[str, str]
    resume: str


class PlaceReader(Value):
    """The reader of one channel or thread, with one client for all souls of one workspace."""

    client: SlackClient
    reader: EventReader
    intake: Intake

    async def read(self, place: UnreadPlace) -> ReadStep:
        """Read a place, or the next part of it. Raises NotDelivered, ChannelRefused or StoreError.

        A timeline is read beyond the gap, back to all messages whose threads users may still answer in: a message names
        its latest reply, but the timeline does not contain replies.
        """
        messages, resume = await (self._thread(place) if place.thread else self._timeline(place))
        news = [message for message in messages if self._is_news(message, place)]
        known = await self._known(place.channel, news)
        threads = () if place.thread else tuple(self._threads(place, messages, known))
        later = {thread.thread for thread in threads}
        answered = await self._answered_to(place, messages)
        found = 0
        for message in news:
            ts = str(message.get("ts"))
            if ts in known:
                await self._pass_on_edit(place, message)
            elif not (ts in later and self._may_be_answered(message)) and as_seconds(ts) >= answered:
                found += await self._pass_on(place.channel, message)
        latest = {str(one.get("ts")): str(one.get("latest_reply") or "") for one in messages}
        return ReadStep(found, threads, latest, resume)

    async def _timeline(self, place: UnreadPlace) -> tuple[list[dict[str, Any]], str]:
        """Return messages of a timeline, oldest first, and the ts before which to go on, or "" at the end."""
        span = {"oldest": as_ts(as_seconds(place.since) - THREADS_ALIVE), "latest": place.resume or None}
        messages, more = await self._pages(place, span, place.since)
        return messages, _onward(place, messages[:1]) if more else ""

    async def _thread(self, place: UnreadPlace) -> tuple[list[dict[str, Any]], str]:
        """Return messages of a thread, oldest first, and the ts after which to go on, or "" at the end."""
        messages, more = await self._pages(place, {"oldest": place.resume or place.since, "inclusive": True})
        return messages, _onward(place, messages[-1:]) if more else ""

    async def _pages(
        self, place: UnreadPlace, span: Mapping[str, object], until: str = ""
    ) -> tuple[list[dict[str, Any]], bool]:
        """Return the messages of some pages, and True if there are more. The last page reaches past the ts `until`."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(PAGES):
            await self.client.wait_to_read()
            page = await read_page(
                self.client,
                messages_of(place.thread),
                "messages",
                dict,
                cursor,
                channel=place.channel,
                ts=place.thread or None,
                **span,
            )
            found += [message for message in page.items if as_seconds(message.get("ts"))]
            cursor = page.cursor
            if cursor is None or (until and found and as_seconds(found[-1].get("ts")) < as_seconds(until)):
                break
        return in_order(found), cursor is not None

    def _is_news(self, message: Mapping[str, Any], place: UnreadPlace) -> bool:
        times = (message.get("ts"), Payload.of(message.get("edited")).text("ts"))
        return max(map(as_seconds, times)) >= as_seconds(place.since)

    async def _known(self, channel: str, messages: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        identity, timestamps = self.reader.identity, [str(message.get("ts")) for message in messages]
        log = self.intake.catch_up_log
        return await log.known_messages(identity.team, channel, timestamps, identity.user)

    def _threads(
        self, place: UnreadPlace, messages: Sequence[Mapping[str, Any]], known: frozenset[str]
    ) -> list[UnreadPlace]:
        found = []
        for message in messages:
            ts, latest = str(message.get("ts")), as_seconds(message.get("latest_reply"))
            begun = ts not in known and self._is_news(message, place) and self._may_be_answered(message)
            if begun or latest >= as_seconds(place.since):
                found.append(UnreadPlace(place.channel, ts, place.since, heard_ms=int(latest * 1000)))
        return found

    def _may_be_answered(self, message: Mapping[str, Any]) -> bool:
        """Return True if we may have replied in a message's thread. Slack lists only some of the repliers."""
        repliers = message.get("reply_users")
        if not isinstance(repliers, list):
            return False
        ours = {self.reader.identity.user, self.reader.identity.bot}
        return bool(ours.intersection(repliers)) or int(message.get("reply_users_count") or 0) > len(repliers)

    async def _answered_to(self, place: UnreadPlace, messages: Sequence[Mapping[str, Any]]) -> float:
        """Return the time before which the thread is answered by posts that are older than the store."""
        if not place.thread:
            return 0.0
        team, log = self.reader.identity.team, self.intake.catch_up_log
        ours = {str(message.get("ts")) for message in messages if self.reader.is_own(message)}
        unknown = ours - await log.known_posts(team, place.channel, place.thread, ours) if ours else ours
        return max(map(as_seconds, unknown), default=0.0)

    async def _pass_on(self, channel: str, message: Mapping[str, Any]) -> int:
        payload = self._payload(channel, message)
        arrival = message_in(self.reader, Payload(payload), Source.BACKFILL)
        if arrival is None:
            return 0
        return int(await self.intake.accept(arrival) is Acceptance.ACCEPTED)

    async def _pass_on_edit(self, place: UnreadPlace, message: Mapping[str, Any]) -> None:
        edited = message.get("edited")
        stamp = Payload(edited).text("ts") if isinstance(edited, dict) else message.get("subtype")
        if not stamp:
            return
        payload = self._payload(place.channel, message)
        change = {"type": "message", "subtype": "message_changed", "channel": place.channel, "message": message}
        arrival = self.reader.event({**payload, "event": change, "event_id": f"{payload['event_id']}-{stamp}"})
        if arrival is not None:
            await self.intake.accept(arrival)

    def _payload(self, channel: str, message: Mapping[str, Any]) -> dict[str, object]:
        place = self.reader.places.get(channel, Place.PRIVATE_CHANNEL)
        event = {**message, "type": "message", "channel": channel, "channel_type": channel_type(place)}
        return {"event": event, "event_id": f"backfill-{channel}-{message.get('ts')}"}


def _onward(place: UnreadPlace, last: Sequence[Mapping[str, Any]]) -> str:
    """Return the position after the last message that was read, or an empty string if the step made no progress."""
    ts = str(last[0].get("ts")) if last else ""
    return ts if ts != place.resume else ""
