"""Reads the messages that arrived during a gap from Slack's history and passes them to the intake (P5)."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, Final

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.history import as_seconds, as_ts, read_messages, read_rooms
from daemon.channels.slack.api.pacing import Window
from daemon.channels.slack.incoming.event_reader import EventReader, channel_type, place_of
from daemon.core.config import Settings
from daemon.core.errors import ChannelRefused, NotDelivered, StoreError
from daemon.core.perception import Place
from daemon.core.ports import Acceptance, Clock, Emit, Intake, Source

_CALLS_A_MINUTE: Final = 40
_PAGES: Final = 5
_TRIES: Final = 3
_PAUSE: Final = 5.0
_STORE_PAUSE: Final = 30.0
_OVERLAP: Final = 60.0  # seconds read twice, since clocks differ a little; the intake drops duplicates
_THREADS_ALIVE: Final = 3 * 86_400.0  # seconds that a thread may have been quiet before the gap and still be read
_THREADS_KNOWN: Final = 10_000  # enough to list all threads of a store whose first catch-up never completed
_RETRIES_SPENT: Final = 600.0  # seconds after which Slack delivers no event again, so that older messages arrived
_CONFIRM_EVERY: Final = 60.0


class CatchUp:
    """Reads every channel and open thread from the watermark on, within limits for hours, conversations and calls."""

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self, client: SlackClient, reader: EventReader, intake: Intake, settings: Settings, clock: Clock, emit: Emit
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
        """Read all messages since the watermark; retries while the store or Slack fails."""
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
        """Move the watermark, at most once a minute, to a time before which every message has arrived."""
        now = self._clock.monotonic()
        if now - self._confirmed_at < _CONFIRM_EVERY:
            return
        self._confirmed_at = now
        try:
            await self._advance(self._clock.now_ms() / 1000 - _RETRIES_SPENT)
        except StoreError as error:
            self._emit("slack.confirm_failed", reason=error.message)

    @property
    def _own_ids(self) -> frozenset[str]:
        """Our ids: Slack may list a post under another soul's name as the bot's instead of the user's."""
        return frozenset((self._reader.identity.user, self._reader.identity.bot))

    async def _advance(self, seconds: float) -> None:
        await self._intake.advance_watermark(self._reader.soul, self._reader.identity.team, as_ts(seconds))

    async def _read_all(self) -> bool:
        """Read everything once; False if Slack could not be read completely."""
        began = self._clock.now_ms() / 1000
        watermark = await self._intake.watermark(self._reader.soul, self._reader.identity.team)
        earliest = began - self._settings.backfill_hours * 3600
        since = max(as_seconds(watermark) - _OVERLAP, earliest) if watermark else earliest
        most, self._new, self._complete = self._settings.backfill_conversations, 0, True
        new_threads: dict[tuple[str, str], float] = {}
        roots: set[tuple[str, str]] = set()
        for channel, _ in self._bounded([(channel, "") for channel in await self._channels()], most):
            for message in await self._read(channel, "", since, fresh=watermark is None):
                roots.add((channel, str(message["ts"])))
                if self._others_replied(message, since):
                    new_threads[channel, str(message["ts"])] = as_seconds(message.get("latest_reply"))
        older = [thread for thread in await self._open_threads(since, most) if thread not in roots]
        newest_first = sorted(new_threads, key=new_threads.__getitem__, reverse=True)  # the limit drops the quietest
        for channel, thread in self._bounded([*newest_first, *older], most):
            await self._read(channel, thread, since, fresh=watermark is None)
        if self._complete:
            await self._advance(began - _OVERLAP)
        self._emit("slack.caught_up", found=self._new, complete=self._complete, since=as_ts(since))
        return self._complete

    def _bounded(self, threads: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
        """The first `most` pairs of channel and thread; the others are logged."""
        for channel, thread in threads[most:]:
            self._emit("slack.beyond_reach", where=channel, thread=thread, reason="too many conversations")
        return threads[:most]

    async def _open_threads(self, since: float, most: int) -> list[tuple[str, str]]:
        """Threads that any of the souls takes part in, in channels that we are in, each soul's newest first."""
        reader = self._reader
        team, since_ms = reader.identity.team, int(since * 1000)
        found = [await self._intake.open_threads(soul, team, since_ms, most) for soul in reader.souls]
        threads = (one for row in zip_longest(*found) for one in row if one is not None)
        ours = (one for one in threads if one.thread and one.channel in reader.places)
        return list(dict.fromkeys((one.channel, one.thread) for one in ours))

    async def _known_channels(self, most: int) -> list[str]:
        """Channels in which any of the souls was addressed, each soul's latest first."""
        team = self._reader.identity.team
        found = [await self._intake.known_channels(soul, team, most) for soul in self._reader.souls]
        return [channel for row in zip_longest(*found) for channel in row if channel is not None]

    async def _channels(self) -> list[str]:
        """Channels that the soul is in: DMs first, where every message is for it, then those where it was addressed."""
        reader, known = self._reader, await self._known_channels(self._settings.backfill_conversations)
        rooms = await self._rooms()
        listed = {str(room.get("id")): place_of(room) for room in rooms}
        reader.places.update(listed)
        reader.shared.update(str(room.get("id")) for room in rooms if room.get("is_ext_shared"))
        direct = [channel for channel, place in listed.items() if place is Place.DM]
        return list(dict.fromkeys((*direct, *(channel for channel in known if channel in listed), *listed)))

    def _others_replied(self, root: Mapping[str, Any], since: float) -> bool:
        """Whether other users replied in a root's thread since a time; a channel's history holds no replies."""
        if as_seconds(root.get("latest_reply")) < since or not since:
            return False
        repliers = root.get("reply_users")
        return not isinstance(repliers, list) or not {*repliers} <= self._own_ids

    async def _rooms(self) -> list[dict[str, Any]]:
        while True:
            try:
                return await read_rooms(self._client, most=_PAGES, window=self._window)
            except NotDelivered as error:
                await self._clock.sleep(max(error.retry_after, _PAUSE))

    async def _read(self, channel: str, thread: str, since: float, *, fresh: bool) -> list[dict[str, Any]]:
        """Read one timeline or thread and pass its messages on, oldest first; returns them.

        With a `fresh` store, messages that we answered before the store existed are left out.
        """
        messages = await self._messages(channel, thread, since)
        self._complete = self._complete and messages is not None
        for message in messages or ():
            if not (fresh and self._answered(message) and await self._forgotten(channel, message)):
                self._new += await self._pass_on(channel, message, since)
        return messages or []

    async def _messages(self, channel: str, thread: str, since: float) -> list[dict[str, Any]] | None:
        """The messages of a channel or thread, oldest first; [] if Slack refuses, None if it can't be read now."""
        for _ in range(_TRIES):
            try:
                messages, whole = await read_messages(
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
            return messages
        return None

    def _answered(self, message: Mapping[str, Any]) -> bool:
        """Whether we already replied in a message's thread."""
        repliers = message.get("reply_users")
        return isinstance(repliers, list) and bool(self._own_ids.intersection(repliers))

    async def _forgotten(self, channel: str, root: Mapping[str, Any]) -> bool:
        """Whether the store doesn't know a thread in which we replied: the replies are older than the store.

        If it does know the thread, our reply may have answered a later message, and the root may not have arrived.
        """
        return (channel, str(root.get("ts"))) not in await self._open_threads(0.0, _THREADS_KNOWN)

    async def _pass_on(self, channel: str, message: Mapping[str, Any], since: float) -> int:
        """Pass a message to the intake, and its edit if it has one; 1 if it was new, else 0."""
        if as_seconds(message.get("ts")) < since:
            return 0  # a thread's root comes with every page of its replies
        place = self._reader.places.get(channel, Place.PRIVATE_CHANNEL)
        event = {**message, "type": "message", "channel": channel, "channel_type": channel_type(place)}
        event_id = f"backfill-{channel}-{message.get('ts')}"
        arrival = self._reader.event({"event": event, "event_id": event_id}, Source.BACKFILL)
        if arrival is None:
            return 0
        acceptance = await self._intake.accept(arrival)
        edited = message.get("edited")
        if acceptance is Acceptance.DUPLICATE and isinstance(edited, dict):
            await self._pass_on_edit(event, f"{event_id}-{edited.get('ts')}")
        return int(acceptance is Acceptance.ACCEPTED)

    async def _pass_on_edit(self, event: Mapping[str, Any], event_id: str) -> None:
        change = {"type": "message", "subtype": "message_changed", "channel": event["channel"], "message": event}
        edit = self._reader.event({"event": change, "event_id": event_id}, Source.BACKFILL)
        if edit is not None:
            await self._intake.accept(edit)
