"""The payloads of Slack's events: form and receiver, invitations, thumbs, stops, and history read after a gap (P5)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader, channel_type, place_in
from daemon.channels.slack.history import as_seconds, as_ts, in_order, messages_of, read_page
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.perception import Place
from daemon.core.phrases import means_stop
from daemon.core.ports import Intake, UnreadPlace
from daemon.core.ports.arrivals import Acceptance, Arrival, Feedback, Joined, NewMessage, Source, Stop, Withdrawal

_OBJECTS: Final = (
    *("event", "view", "message", "previous_message", "item", "container", "state"),
    *("assistant_thread", "function_data"),
)
_LISTS: Final = ("authorizations", "actions", "response_urls")
_WORDS: Final = ("type", "subtype", "channel_type")
_NAMED: Final = ("enterprise", "team", "user", "channel")
"""Fields that are an id in some payloads and an object in others."""


def is_well_formed(body: object) -> bool:
    """Return True if the fields that Bolt and the readers use have the documented types. Bolt fails at other types."""
    if not isinstance(body, dict):
        return False
    lists = [body[name] for name in _LISTS if body.get(name) is not None]
    if not all(isinstance(one, list) and all(map(is_well_formed, one)) for one in lists):
        return False
    if not all(isinstance(body[name], str) for name in _WORDS if body.get(name) is not None):
        return False
    if not all(isinstance(body[name], dict | str) for name in _NAMED if body.get(name) is not None):
        return False
    return all(is_well_formed(body[name]) for name in _OBJECTS if body.get(name, {}) != {})


def meant_for(identity: SlackIdentity, body: Mapping[str, object]) -> bool:
    """Return True if a payload's app, if any, is ours and our workspace is among its receivers, if any.

    Source: Slack, authorizations.
    """
    app, receivers = body.get("api_app_id"), body.get("authorizations")
    if identity.app and app and app != identity.app:
        return False
    if not isinstance(receivers, list) or not receivers:
        return True
    return any(_is_ours(identity, one) for one in receivers if isinstance(one, dict))


def _is_ours(identity: SlackIdentity, receiver: Mapping[str, object]) -> bool:
    organisation = bool(identity.enterprise) and receiver.get("enterprise_id") == identity.enterprise
    return receiver.get("team_id") == identity.team or (organisation and not receiver.get("team_id"))


_LINES: Final = ("channel_join", "group_join")
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_PUBLIC: Final = "C"  # the event's name of a public channel


def joined(reader: EventReader, payload: Mapping[str, object]) -> Joined | None:
    """Return the invitation of the soul to a channel, or None for any other payload.

    An event without an inviter, as in an import of channels, is no invitation.
    """
    event = payload.get("event")
    if not isinstance(event, dict):
        return None
    kind, channel, inviter = _text(event, "type"), _text(event, "channel"), _text(event, "inviter")
    ts = _text(event, "event_ts" if kind == "member_joined_channel" else "ts")
    ours = kind == "member_joined_channel" or (kind == "message" and _text(event, "subtype") in _LINES)
    if not (ours and _text(event, "user") == reader.identity.user):
        return None
    if not (_ID.fullmatch(channel) and _ID.fullmatch(inviter) and _TS.fullmatch(ts)):
        return None
    unsaid = Place.PUBLIC_CHANNEL if event.get("channel_type") == _PUBLIC else Place.PRIVATE_CHANNEL
    place = reader.places.get(channel) or place_in(event) or unsaid
    if inviter == reader.identity.user or place in (Place.DM, Place.GROUP_DM):
        return None
    event_id = _text(payload, "event_id")
    return Joined(
        event_id if _ID.fullmatch(event_id) else f"joined:{channel}:{ts}",
        reader.soul_in(channel),
        reader.identity.team,
        channel,
        place,
        reader.audience_in(place, channel),
        inviter,
        int(float(ts) * 1000),
    )


def _text(mapping: Mapping[str, object], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""


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
        arrival = joined(self._reader, payload) or self._reader.event(payload, Source.BACKFILL)
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


_VALUES: Final[Mapping[str, str]] = MappingProxyType(
    {"+1": "good", "thumbsup": "good", "-1": "bad", "thumbsdown": "bad"}
)
_Where = tuple[str, str, str, str, str, str]
_CROSS: Final = "x"
_EVENTS: Final = ("reaction_added", "reaction_removed")


def thumb_given(reader: EventReader, payload: Mapping[str, object]) -> Feedback | None:
    """Return a thumb that a user of our workspace gave or took back at a post of ours, or None for any other event."""
    event = _mapping(payload.get("event"))
    kind = _text(event, "type")
    value = _VALUES.get(_text(event, "reaction").partition("::")[0])  # a skin tone may follow
    if kind not in _EVENTS or value is None:
        return None
    where = _where(reader, payload, value)
    return Feedback(*where, value, how="reaction", taken_back=kind == _EVENTS[1]) if where else None


def _where(reader: EventReader, payload: Mapping[str, object], value: str) -> _Where | None:
    """Return the common fields of a reaction to a post of ours, or None if the user's presses don't count."""
    event = _mapping(payload.get("event"))
    if _text(event, "item_user") != reader.identity.user:
        return None
    item, kind = _mapping(event.get("item")), _text(event, "type")
    team = _text(event, "user_team") or _text(event, "team") or _text(payload, "team_id")
    author = reader.user_of({"user": {"id": event.get("user")}, "team": {"id": team}})
    channel, ts = _text(item, "channel"), _text(item, "ts")
    if not (author and author != reader.identity.user and _ID.fullmatch(channel) and _TS.fullmatch(ts)):
        return None
    given = _text(payload, "event_id")
    event_id = given if _ID.fullmatch(given) else f"{kind}:{channel}:{ts}:{author}:{value}"
    return event_id, reader.soul_in(channel), reader.identity.team, channel, ts, author


def taken_back(reader: EventReader, payload: Mapping[str, object]) -> Withdrawal | None:
    """Return a cross that a user of our workspace set at a post of ours, or None for any other event."""
    event = _mapping(payload.get("event"))
    if _text(event, "type") != _EVENTS[0] or _text(event, "reaction") != _CROSS:
        return None
    where = _where(reader, payload, _CROSS)
    return Withdrawal(*where, by_approver=where[-1] in reader.approvers) if where else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


_EVENT: Final = "agent_session_stopped"


def session_stopped(reader: EventReader, payload: Mapping[str, object]) -> Stop | None:
    """Read an agent_session_stopped event, by a user of our workspace whose presses count. None for any other event."""
    event = payload.get("event")
    if not isinstance(event, dict) or event.get("type") != _EVENT:
        return None
    team = event.get("user_team") or event.get("team") or payload.get("team_id")
    author = reader.user_of({"user": {"id": event.get("user")}, "team": {"id": team}})
    channel, thread, event_id = event.get("channel"), event.get("thread_ts"), payload.get("event_id")
    if not (author and isinstance(channel, str) and _ID.fullmatch(channel)):
        return None
    if not (isinstance(thread, str) and _TS.fullmatch(thread)):
        return None
    known = isinstance(event_id, str) and _ID.fullmatch(event_id)
    given = str(event_id) if known else f"{_EVENT}:{channel}:{thread}:{author}"
    return Stop(given, reader.soul_in(channel), reader.identity.team, channel, thread, author)


def says_stop(arrival: Arrival) -> bool:
    """Return True if a live message asks to stop."""
    if not isinstance(arrival, NewMessage) or arrival.source is not Source.LIVE:
        return False
    return means_stop(arrival.perception.content)
