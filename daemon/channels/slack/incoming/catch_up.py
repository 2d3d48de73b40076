"""What was said while nobody listened, read from history and handed to the same intake as live events (P5)."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, Final

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.history import as_ts, messages, moment, rooms
from daemon.channels.slack.api.pacing import Window
from daemon.channels.slack.incoming.event_reader import Reader, channel_type, place_of
from daemon.core.config import Settings
from daemon.core.errors import ChannelRefused, NotDelivered, StoreError
from daemon.core.perception import Place
from daemon.core.ports import Acceptance, Clock, Emit, Intake, Source

_CALLS_A_MINUTE: Final = 40
_PAGES: Final = 5
_TRIES: Final = 3
_PAUSE: Final = 5.0
_STORE_PAUSE: Final = 30.0
_OVERLAP: Final = 60.0  # seconds read twice, for clocks that disagree a little; the intake drops what it has
_THREADS_ALIVE: Final = 3 * 86_400.0  # seconds a thread may have rested before the gap and still be read
_THREADS_KNOWN: Final = 10_000  # of a store whose first pass never came to its end
_RETRIES_SPENT: Final = 600.0  # after this long Slack delivers nothing again, so what is older was heard
_CONFIRM_EVERY: Final = 60.0


class CatchUp:
    """Reads every room and open thread from the mark of what was surely heard, bounded in hours, rooms and calls."""

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self, client: SlackClient, reader: Reader, intake: Intake, settings: Settings, clock: Clock, emit: Emit
    ) -> None:
        self._client = client
        self._reader = reader
        self._intake = intake
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._window = Window(clock, _CALLS_A_MINUTE)
        self._confirmed_at = -_CONFIRM_EVERY
        self._new = 0
        self._complete = True

    async def run(self) -> None:
        """Read what was missed until now; tries again while the store or Slack fails."""
        while True:
            try:
                if await self._read_all():
                    return
            except StoreError as error:
                self._emit("slack.catch_up_failed", reason=error.message)
            except ChannelRefused as error:
                self._emit("slack.beyond_reach", where="everything", reason=error.code)
                return
            await self._clock.sleep(_STORE_PAUSE)

    async def confirm(self) -> None:
        """Move the mark, at most once a minute, to a time from which nothing can still be on its way."""
        now = self._clock.monotonic()
        if now - self._confirmed_at < _CONFIRM_EVERY:
            return
        self._confirmed_at = now
        try:
            await self._mark(self._clock.now_ms() / 1000 - _RETRIES_SPENT)
        except StoreError as error:
            self._emit("slack.confirm_failed", reason=error.message)

    @property
    def _us(self) -> frozenset[str]:
        """Our ids: what is posted under another soul's face may be counted as the bot's instead of the user's."""
        return frozenset((self._reader.identity.user, self._reader.identity.bot))

    async def _mark(self, seconds: float) -> None:
        await self._intake.advance_watermark(self._reader.soul, self._reader.identity.team, as_ts(seconds))

    async def _read_all(self) -> bool:
        """One whole pass; False when Slack could not be read just now."""
        began = self._clock.now_ms() / 1000
        mark = await self._intake.watermark(self._reader.soul, self._reader.identity.team)
        furthest = began - self._settings.backfill_hours * 3600
        since = max(moment(mark) - _OVERLAP, furthest) if mark else furthest
        most, self._new, self._complete = self._settings.backfill_conversations, 0, True
        begun: dict[tuple[str, str], float] = {}
        seen: set[tuple[str, str]] = set()
        for channel in self._bounded([(channel, "") for channel in await self._timelines()], most):
            for message in await self._read(*channel, since, fresh=mark is None):
                seen.add((channel[0], str(message["ts"])))
                if self._others_replied(message, since):
                    begun[channel[0], str(message["ts"])] = moment(message.get("latest_reply"))
        older = [place for place in await self._open_threads(since, most) if place not in seen]
        newest_first = sorted(begun, key=begun.__getitem__, reverse=True)  # what is cut off is what rested longest
        for place in self._bounded([*newest_first, *older], most):
            await self._read(*place, since, fresh=mark is None)
        if self._complete:
            await self._mark(began - _OVERLAP)
        self._emit("slack.caught_up", found=self._new, complete=self._complete, since=as_ts(since))
        return self._complete

    def _bounded(self, places: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
        """The first places, as many as configured; what is cut off is told."""
        for channel, thread in places[most:]:
            self._emit("slack.beyond_reach", where=channel, thread=thread, reason="too many conversations")
        return places[:most]

    async def _open_threads(self, since: float, most: int) -> list[tuple[str, str]]:
        """Threads that any of the souls takes part in, in rooms that we are in, each soul's newest first."""
        reader = self._reader
        team, since_ms = reader.identity.team, int(since * 1000)
        found = [await self._intake.open_threads(soul, team, since_ms, most) for soul in reader.souls]
        threads = (one for row in zip_longest(*found) for one in row if one is not None)
        ours = (one for one in threads if one.thread and one.channel in reader.rooms)
        return list(dict.fromkeys((one.channel, one.thread) for one in ours))

    async def _known(self, most: int) -> list[str]:
        """Rooms in which any of the souls was spoken to, each soul's latest first."""
        team = self._reader.identity.team
        found = [await self._intake.known_channels(soul, team, most) for soul in self._reader.souls]
        return [channel for row in zip_longest(*found) for channel in row if channel is not None]

    async def _timelines(self) -> list[str]:
        """Rooms that the soul is in: DMs first, since everything there is meant for it, then where it was spoken to."""
        reader, known = self._reader, await self._known(self._settings.backfill_conversations)
        rooms = await self._rooms()
        listed = {str(room.get("id")): place_of(room) for room in rooms}
        reader.rooms.update(listed)
        reader.shared.update(str(room.get("id")) for room in rooms if room.get("is_ext_shared"))
        direct = [channel for channel, place in listed.items() if place is Place.DM]
        return list(dict.fromkeys((*direct, *(channel for channel in known if channel in listed), *listed)))

    def _others_replied(self, root: Mapping[str, Any], since: float) -> bool:
        """Whether people wrote under a root since a time; history shows no replies, and our own need no reading."""
        if moment(root.get("latest_reply")) < since or not since:
            return False
        repliers = root.get("reply_users")
        return not isinstance(repliers, list) or not {*repliers} <= self._us

    async def _rooms(self) -> list[dict[str, Any]]:
        while True:
            try:
                return await rooms(self._client, most=_PAGES, window=self._window)
            except NotDelivered as error:
                await self._clock.sleep(max(error.retry_after, _PAUSE))

    async def _read(self, channel: str, thread: str, since: float, *, fresh: bool) -> list[dict[str, Any]]:
        """Read one timeline or thread and hand over what was said there, oldest first; returns that.

        With a `fresh` store, what we answered in an earlier life is left alone.
        """
        said = await self._messages(channel, thread, since)
        self._complete = self._complete and said is not None
        for message in said or ():
            if not (fresh and self._answered(message) and await self._forgotten(channel, message)):
                self._new += await self._hand_over(channel, message, since)
        return said or []

    async def _messages(self, channel: str, thread: str, since: float) -> list[dict[str, Any]] | None:
        """One room's messages, oldest first; none where Slack refuses, None when it can't be read just now."""
        for _ in range(_TRIES):
            try:
                said, whole = await messages(
                    self._client, channel, thread, most=_PAGES, window=self._window, oldest=as_ts(since)
                )
            except NotDelivered as error:
                await self._clock.sleep(max(error.retry_after, _PAUSE))
                continue
            except ChannelRefused as error:
                self._emit("slack.beyond_reach", where=channel, thread=thread, reason=error.code)
                return []
            if not whole:
                self._emit("slack.beyond_reach", where=channel, thread=thread, reason="too many messages")
            return said
        return None

    def _answered(self, message: Mapping[str, Any]) -> bool:
        """Whether we already replied under a message."""
        repliers = message.get("reply_users")
        return isinstance(repliers, list) and bool(self._us.intersection(repliers))

    async def _forgotten(self, channel: str, root: Mapping[str, Any]) -> bool:
        """Whether the store knows nothing of a thread: then it was another life in which we wrote there.

        Where it does know, our reply may have been to somebody else, and the root itself may never have been heard.
        """
        return (channel, str(root.get("ts"))) not in await self._open_threads(0.0, _THREADS_KNOWN)

    async def _hand_over(self, channel: str, message: Mapping[str, Any], since: float) -> int:
        """Offer one message, and its edit if it had one; 1 when it was new."""
        if moment(message.get("ts")) < since:
            return 0  # a thread's root comes with every page of its replies
        place = self._reader.rooms.get(channel, Place.PRIVATE_CHANNEL)
        event = {**message, "type": "message", "channel": channel, "channel_type": channel_type(place)}
        event_id = f"backfill-{channel}-{message.get('ts')}"
        arrival = self._reader.event({"event": event, "event_id": event_id}, Source.BACKFILL)
        if arrival is None:
            return 0
        acceptance = await self._intake.accept(arrival)
        edited = message.get("edited")
        if acceptance is Acceptance.DUPLICATE and isinstance(edited, dict):
            await self._hand_over_edit(event, f"{event_id}-{edited.get('ts')}")
        return int(acceptance is Acceptance.ACCEPTED)

    async def _hand_over_edit(self, event: Mapping[str, Any], event_id: str) -> None:
        change = {"type": "message", "subtype": "message_changed", "channel": event["channel"], "message": event}
        revision = self._reader.event({"event": change, "event_id": event_id}, Source.BACKFILL)
        if revision is not None:
            await self._intake.accept(revision)
