"""Slack's history: its pages, and the reading of a channel or thread after a gap in the events (P5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from daemon.channels.slack.api import SlackClient, Window
from daemon.channels.slack.arrivals import message as message_in
from daemon.channels.slack.event_reader import EventReader, channel_type
from daemon.channels.slack.payload import Payload
from daemon.core.perception import Place
from daemon.core.ports import Intake, UnreadPlace
from daemon.core.ports.arrivals import Acceptance, Source

T = TypeVar("T")

_PAGE: Final = 200
_ROOMS: Final = "im,mpim,private_channel,public_channel"


async def read_pages(
    client: SlackClient, method: str, items: str, *, most: int, window: Window | None = None, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    return await read_items(client, method, items, dict, most=most, window=window, **arguments)


async def read_items(
    client: SlackClient,
    method: str,
    items: str,
    kind: type[T],
    *,
    most: int,
    window: Window | None = None,
    **arguments: object,
) -> tuple[list[T], bool]:
    """Return the items of at most `most` pages that are of one type, and True if no page is left.

    Each page waits for `window`, if one is given. Raises what `SlackClient.call` raises for a read.
    """
    found: list[T] = []
    cursor: str | None = None
    for _ in range(most):
        if window is not None:
            await window.wait_for_slot()
        answer = await client.call(method, limit=_PAGE, cursor=cursor, **arguments)
        listed = answer.get(items)
        found += [item for item in listed if isinstance(item, kind)] if isinstance(listed, list) else []
        cursor = _next_cursor(answer)
        if cursor is None:
            break
    return found, cursor is None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list of Slack's, and the cursor of the next page, which is None after the last."""

    items: list[dict[str, Any]]
    cursor: str | None


async def read_page(
    client: SlackClient, method: str, items: str, cursor: str | None = None, **arguments: object
) -> Page:
    """Return one page of the list named `items`. Raises what `SlackClient.call` raises for a read."""
    answer = await client.call(method, limit=_PAGE, cursor=cursor, **arguments)
    listed = answer.get(items)
    found = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return Page(found, _next_cursor(answer))


def _next_cursor(answer: Mapping[str, Any]) -> str | None:
    metadata = answer.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, dict) else None
    return cursor if isinstance(cursor, str) and cursor else None


def messages_of(thread: str) -> str:
    return "conversations.replies" if thread else "conversations.history"


async def read_messages(
    client: SlackClient, channel: str, thread: str, *, most: int, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    """Return messages of a thread, or of the timeline if `thread` is empty, oldest first, and True if no page is left.

    At most `most` pages are read. `arguments` are Slack's (oldest, latest, include_all_metadata). A thread's messages
    include its root. Raises what `SlackClient.call` raises for a read.
    """
    where: dict[str, object] = {"channel": channel, "ts": thread or None, **arguments}
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(most):
        page = await read_page(client, messages_of(thread), "messages", cursor, **where)
        found, cursor = found + page.items, page.cursor
        if cursor is None:
            break
    return in_order(found), cursor is None


async def read_rooms_page(client: SlackClient, cursor: str | None) -> Page:
    """Return a page of the channels and DMs that the soul is in (Slack: users.conversations)."""
    return await read_page(client, "users.conversations", "channels", cursor, types=_ROOMS, exclude_archived=True)


def in_order(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(messages, key=lambda message: as_seconds(message.get("ts")))


def as_seconds(ts: object) -> float:
    """Return a Slack ts in seconds, or 0.0 for an invalid one. Precise enough for comparing only."""
    try:
        return float(ts) if isinstance(ts, str) else 0.0
    except ValueError:
        return 0.0


def as_ts(seconds: float) -> str:
    return f"{max(seconds, 0.0):.6f}"


THREADS_ALIVE: Final = 3 * 86_400.0  # seconds that a thread may have been quiet before the gap and is still expected
PAGES: Final = 5  # pages of one step; a longer place takes several


@dataclass(frozen=True, slots=True)
class ReadStep:
    """The result of one step: new messages, threads to read too, and the start of the next step, if any.

    `latest` holds the ts of the latest reply to each message that was seen, or an empty string.
    """

    found: int
    threads: tuple[UnreadPlace, ...]
    latest: Mapping[str, str]
    resume: str


class PlaceReader:
    """The reader of one channel or thread, with one client for all souls of one workspace."""

    def __init__(self, client: SlackClient, reader: EventReader, intake: Intake) -> None:
        self._client = client
        self._reader = reader
        self._intake = intake

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
        ours = {self._reader.identity.user, self._reader.identity.bot}
        return bool(ours.intersection(repliers)) or int(message.get("reply_users_count") or 0) > len(repliers)

    async def _answered_to(self, place: UnreadPlace, messages: Sequence[Mapping[str, Any]]) -> float:
        """Return the time before which the thread is answered by posts that are older than the store."""
        if not place.thread:
            return 0.0
        team, log = self._reader.identity.team, self._intake.catch_up_log
        ours = {str(message.get("ts")) for message in messages if self._reader.is_own(message)}
        unknown = ours - await log.known_posts(team, place.channel, place.thread, ours) if ours else ours
        return max(map(as_seconds, unknown), default=0.0)

    async def _pass_on(self, channel: str, message: Mapping[str, Any]) -> int:
        payload = self._payload(channel, message)
        arrival = message_in(self._reader, Payload(payload), Source.BACKFILL)
        if arrival is None:
            return 0
        return int(await self._intake.accept(arrival) is Acceptance.ACCEPTED)

    async def _pass_on_edit(self, place: UnreadPlace, message: Mapping[str, Any]) -> None:
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
    """Return the position after the last message that was read, or an empty string if the step made no progress."""
    ts = str(last[0].get("ts")) if last else ""
    return ts if ts != place.resume else ""
