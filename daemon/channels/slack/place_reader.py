"""Reads one channel or thread of Slack's history after a gap, and passes on what may never have arrived (P5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import EventReader, channel_type
from daemon.channels.slack.history import as_seconds, as_ts, in_order, messages_of, read_page
from daemon.channels.slack.joins import joined
from daemon.core.perception import Place
from daemon.core.ports.arrivals import Acceptance, Source
from daemon.core.ports.catch_up import UnreadPlace
from daemon.core.ports.intake import Intake

THREADS_ALIVE: Final = 3 * 86_400.0  # seconds that a thread may have been quiet before the gap and is still expected
PAGES: Final = 5  # of one step; a longer place takes several


@dataclass(frozen=True, slots=True)
class ReadStep:
    """What one step of reading gave: new messages, threads to read too, and where the next step begins, if any.

    `latest` is the ts of the latest reply to each message that was seen, empty for none.
    """

    found: int
    threads: tuple[UnreadPlace, ...]
    latest: Mapping[str, str]
    resume: str


class PlaceReader:
    """Reads with one client for all souls of one workspace."""

    def __init__(self, client: SlackClient, reader: EventReader, intake: Intake) -> None:
        self._client = client
        self._reader = reader
        self._intake = intake

    async def read(self, place: UnreadPlace) -> ReadStep:
        """Read a place, or the next part of it. Raises NotDelivered, ChannelRefused or StoreError.

        A timeline is read beyond the gap, back to all messages whose threads users may still answer in: a message
        tells of its latest reply, but a reply stands in no timeline.
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
        """Messages of a timeline, oldest first, and the ts before which to go on; empty after the oldest wanted one."""
        span = {"oldest": as_ts(as_seconds(place.since) - THREADS_ALIVE), "latest": place.resume or None}
        messages, more = await self._pages(place, span, place.since)
        return messages, _onward(place, messages[:1]) if more else ""

    async def _thread(self, place: UnreadPlace) -> tuple[list[dict[str, Any]], str]:
        """Messages of a thread, oldest first, and the ts after which to go on; empty after the newest one."""
        messages, more = await self._pages(place, {"oldest": place.resume or place.since, "inclusive": True})
        return messages, _onward(place, messages[-1:]) if more else ""

    async def _pages(
        self, place: UnreadPlace, span: Mapping[str, object], until: str = ""
    ) -> tuple[list[dict[str, Any]], bool]:
        """The messages of some pages, and whether there are more; the last page goes past the ts `until`."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(PAGES):
            await self._client.wait_to_read()
            page = await read_page(
                self._client,
                messages_of(place.thread),
                "messages",
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
        """Whether a message was written or edited in the gap."""
        edited = message.get("edited")
        times = (message.get("ts"), edited.get("ts") if isinstance(edited, dict) else None)
        return max(map(as_seconds, times)) >= as_seconds(place.since)

    async def _known(self, channel: str, messages: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        identity, timestamps = self._reader.identity, [str(message.get("ts")) for message in messages]
        log = self._intake.catch_up_log
        return await log.known_messages(identity.team, channel, timestamps, identity.user)

    def _threads(
        self, place: UnreadPlace, messages: Sequence[Mapping[str, Any]], known: frozenset[str]
    ) -> list[UnreadPlace]:
        """Threads in which something was said during the gap."""
        found = []
        for message in messages:
            ts, latest = str(message.get("ts")), as_seconds(message.get("latest_reply"))
            begun = ts not in known and self._is_news(message, place) and self._may_be_answered(message)
            if begun or latest >= as_seconds(place.since):
                found.append(UnreadPlace(place.channel, ts, place.since, heard_ms=int(latest * 1000)))
        return found

    def _may_be_answered(self, message: Mapping[str, Any]) -> bool:
        """Whether we may have replied in a message's thread already; Slack names only some of those who replied."""
        repliers = message.get("reply_users")
        if not isinstance(repliers, list):
            return False
        ours = {self._reader.identity.user, self._reader.identity.bot}
        return bool(ours.intersection(repliers)) or int(message.get("reply_users_count") or 0) > len(repliers)

    async def _answered_to(self, place: UnreadPlace, messages: Sequence[Mapping[str, Any]]) -> float:
        """The time before which a thread is answered by posts that the store does not know: they are older than it."""
        if not place.thread:
            return 0.0
        team, log = self._reader.identity.team, self._intake.catch_up_log
        ours = {str(message.get("ts")) for message in messages if self._reader.is_own(message)}
        unknown = ours - await log.known_posts(team, place.channel, place.thread, ours) if ours else ours
        return max(map(as_seconds, unknown), default=0.0)

    async def _pass_on(self, channel: str, message: Mapping[str, Any]) -> int:
        """Pass a message to the intake; 1 if it was new, else 0."""
        payload = self._payload(channel, message)
        arrival = joined(self._reader, payload) or self._reader.event(payload, Source.BACKFILL)
        if arrival is None:
            return 0
        return int(await self._intake.accept(arrival) is Acceptance.ACCEPTED)

    async def _pass_on_edit(self, place: UnreadPlace, message: Mapping[str, Any]) -> None:
        """Pass on the new text of a message that the store has, or its deletion."""
        edited = message.get("edited")
        stamp = edited.get("ts") if isinstance(edited, dict) else message.get("subtype")
        if not stamp:
            return
        payload = self._payload(place.channel, message)
        change = {"type": "message", "subtype": "message_changed", "channel": place.channel, "message": message}
        arrival = self._reader.event({**payload, "event": change, "event_id": f"{payload['event_id']}-{stamp}"})
        if arrival is not None:
            await self._intake.accept(arrival)

    def _payload(self, channel: str, message: Mapping[str, Any]) -> dict[str, object]:
        place = self._reader.places.get(channel, Place.PRIVATE_CHANNEL)
        event = {**message, "type": "message", "channel": channel, "channel_type": channel_type(place)}
        return {"event": event, "event_id": f"backfill-{channel}-{message.get('ts')}"}


def _onward(place: UnreadPlace, last: Sequence[Mapping[str, Any]]) -> str:
    """Where to go on after the last message that was read; empty if that is where this step began."""
    ts = str(last[0].get("ts")) if last else ""
    return ts if ts != place.resume else ""
