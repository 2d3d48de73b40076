"""The channels and DMs: those where the soul may write first, their kinds, users' private channels, and room talk."""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader, place_of
from daemon.channels.slack.gate import SlackGate
from daemon.channels.slack.history import PRIVATE, as_seconds, read_messages, read_rooms
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.people import SlackRoom
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ChannelRefused, DeliveryUncertain, NotDelivered
from daemon.core.lru import Lru
from daemon.core.perception import Perception, Place
from daemon.core.ports import PersonRooms, RoomListKey
from daemon.core.ports.channel import Room, ThreadMessage
from daemon.core.ports.services import Clock, Emit
from daemon.core.room_ways import ChannelSettingsStore
from daemon.core.value import Value

_PERSON: Final = re.compile(r"[UW][A-Z0-9]{1,23}")
_CHANNEL: Final = re.compile(r"[CG][A-Z0-9]{1,23}")
_PAGES: Final = 5
_SHARED_HINT: Final = "it is shared with other organisations; SOUL_ALLOW_SHARED_CHANNELS decides about those"


class RoomFinder(Value):
    """The finder of channels and DMs by id. `reader` raises NotDelivered while our own ids are unknown."""

    client: SlackClient
    gate: SlackGate
    settings: Settings
    reader: Callable[[], EventReader]
    has_member: Callable[[str, str], Awaitable[bool]]

    async def find_room(self, contact: str) -> Room:
        """Return the room as `Channel.find_room` requires. The soul may not write to a user whom the gate refuses."""
        reader = self.reader()
        if _PERSON.fullmatch(contact):
            channel, place = await self._dm_with(contact), Place.DM
        elif _CHANNEL.fullmatch(contact):
            room = await self._check_channel(contact)
            channel, place = contact, place_of(room)
            if room.get("is_ext_shared"):
                reader.shared.add(contact)
        else:
            hint = "Slack shows the id at the end of a profile's menu or of a channel's details"
            raise ChannelRefused(f"{contact!r} is not the id of a user or a channel", code="invalid_id", hint=hint)
        reader.places[channel] = place
        return Room(channel, place, reader.audience_in(place, channel))

    async def shared_room(self, person: str, name: str) -> Room:
        """Return the room as `Channel.shared_room` requires. Slack's member list decides."""
        if (await self.gate.check_author(person, "", Place.DM)).outsider:
            raise ChannelRefused(f"{person} is no full member", code="guest")
        wanted = name.strip().removeprefix("#")
        channel = wanted if _CHANNEL.fullmatch(wanted) else await self._named(person, wanted)
        found = await self.find_room(channel)
        if not await self.has_member(channel, person):
            raise ChannelRefused(f"{person} is not in {channel}", code="not_there")
        return found

    async def _named(self, person: str, name: str) -> str:
        """Return the id of the channel of this name that a person is in, as far as Slack lists it to the app."""
        listed = await read_rooms(self.client, most=_PAGES, user=person)
        found = [one for one in listed if str(one.get("name", "")).casefold() == name.casefold()]
        if not name or not found:
            raise ChannelRefused(f"{person} is in no channel of that name", code="not_there")
        return str(found[0]["id"])

    async def _dm_with(self, user: str) -> str:
        decision = await self.gate.check_author(user, "", Place.DM)
        if not decision.admitted:
            raise ChannelRefused(f"the soul may not write to {user}: {decision.reason}", code=decision.reason)
        try:
            opened = (await self.client.call("conversations.open", users=user)).get("channel")
        except DeliveryUncertain as doubt:
            raise NotDelivered(doubt.message) from doubt  # opening a DM is idempotent
        channel = opened.get("id") if isinstance(opened, dict) else None
        if not isinstance(channel, str) or not channel:
            raise NotDelivered("Slack's answer to conversations.open names no conversation")
        return channel

    async def _check_channel(self, channel: str) -> Mapping[str, Any]:
        answer = (await self.client.call("conversations.info", channel=channel)).get("channel")
        room: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        if room.get("is_ext_shared") and not self.settings.allow_shared_channels:
            raise ChannelRefused(f"the soul may not write to {channel}", code="shared_channel", hint=_SHARED_HINT)
        if room.get("is_archived"):
            raise ChannelRefused(f"{channel} is archived", code="is_archived", hint="unarchive it")
        if not room.get("is_member") and not room.get("is_mpim"):
            raise ChannelRefused(f"the soul is not in {channel}", code="not_in_channel", hint="invite it there")
        return room


_GONE: Final = "channel_not_found"


async def end_gone_rooms(
    client: SlackClient, ways: ChannelSettingsStore, workspace: str, there: Collection[str], emit: Emit
) -> None:
    """End the settings of channels that were archived or deleted; those in `there` are not checked. Raises StoreError.

    A private channel that the soul was removed from looks like a deleted one: its settings stay, and count again once
    the soul is back. A channel that Slack can't describe now is checked by the next catch-up.
    """
    for channel, private in await ways.channels(workspace):
        if channel in there:
            continue
        try:
            await client.wait_to_read()
            room = (await client.call("conversations.info", channel=channel)).get("channel")
            ended = isinstance(room, dict) and bool(room.get("is_archived"))
        except ChannelRefused as error:
            ended = error.code == _GONE and not private
        except (NotDelivered, DeliveryUncertain) as error:
            emit("slack.way_unknown", channel=channel, reason=error.message)
            continue
        if ended:
            await ways.end(workspace, channel)
            emit("slack.way_ended", channel=channel)


TRUSTED: Final = 600.0
"""Seconds for which a public channel counts as public without a new lookup."""

_MOST: Final = 5_000  # channels; an unknown channel counts as private


class KnownPlaces(Lru[str, Place]):
    """The cached kind of each channel. An `app_mention` names none, and the channel may have become private since."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(_MOST, now=clock.monotonic)

    def __getitem__(self, channel: str) -> Place:
        """Return the kind of a channel, the narrower one if the entry is old. Raises KeyError."""
        at, place = self._kept[channel]
        old = self._now() - at >= TRUSTED
        return Place.PRIVATE_CHANNEL if place is Place.PUBLIC_CHANNEL and old else place


KEPT_MS: Final = 300_000
"""Milliseconds for which a list of private channels is valid."""

_REST: Final = 30.0  # seconds without a call after Slack gave no list
_TRIES: Final = 2  # reads of a list that events outdate during the read
_ENDING_EVENTS: Final = (
    "channel_left",
    "group_left",
    "group_archive",
    "group_deleted",
    "channel_shared",
    "channel_unshared",
)
_MADE_PRIVATE: Final = "channel_convert_to_private"  # subtypes of messages
_MADE_PUBLIC: Final = "channel_convert_to_public"


class PrivateRooms:
    """The private channels of users. `reader` raises NotDelivered while our own ids are unknown. No `store`: none."""

    def __init__(self, client: SlackClient, reader: Callable[[], EventReader]) -> None:
        self._client = client
        self._reader = reader
        self._rests_until = 0.0
        self._refused = False  # the last list was refused; the next one will most likely be refused too
        self._private = set[str]()  # channels whose words are surely kept for their members alone
        self._heard_all_since = client.clock.now_ms()
        self.store: PersonRooms | None = None

    async def of(self, person: str, soul: str) -> frozenset[str] | None:
        """Return the ids of the private channels that a full member is in and the soul spoke in. Raises StoreError.

        None if Slack can't be reached now.
        """
        reader, store = self._reader(), self.store
        if store is None:
            return frozenset()
        key = RoomListKey(reader.identity.team, person, reader.identity.user)
        for _ in range(_TRIES):
            since = max(self._client.clock.now_ms() - KEPT_MS, self._heard_all_since)
            if (known := await store.known(key, soul, since)) is not None:
                return known
            try:
                await self._read(store, key)
            except ChannelError as error:
                if not isinstance(error, _Resting):
                    self._rests_until = self._client.clock.monotonic() + (getattr(error, "retry_after", 0.0) or _REST)
                    self._refused = isinstance(error, ChannelRefused)
                    self._client.emit("slack.rooms_unknown", person=person, reason=error.message, hint=error.hint)
                return frozenset() if self._refused else None
            self._refused = False
        known = await store.known(key, soul, max(self._client.clock.now_ms() - KEPT_MS, self._heard_all_since))
        return known or frozenset()

    async def holds(self, person: str, soul: str, room: str) -> bool:
        """Return True if a full member is surely in a private channel (by id) now. Raises StoreError."""
        await self.of(person, soul)  # refreshes an old list
        reader, store = self._reader(), self.store
        if store is None:
            return False
        key = RoomListKey(reader.identity.team, person, reader.identity.user)
        return await store.lists(key, room, max(self._client.clock.now_ms() - KEPT_MS, self._heard_all_since))

    async def take_note(self, team: str, event: Payload, *, knows_member: bool) -> None:
        """Correct the lists by an event about a channel. `knows_member`: its user is known as a full member.

        Raises StoreError.
        """
        reader, store = self._reader(), self.store
        if store is None:
            return
        kind, subtype, room, user = map(event.text, ("type", "subtype", "channel", "user"))
        ours = user == reader.identity.user
        if kind == "channel_shared" or (kind == "member_joined_channel" and not (ours or knows_member)):
            await store.doubt(team, room)
        if kind == "member_left_channel":
            await store.outdate(team, person="" if ours else user, room=room)
        elif kind == "member_joined_channel":
            await store.outdate(team, person="" if ours else user)
        elif kind in _ENDING_EVENTS or subtype == _MADE_PUBLIC:
            self._private.discard(room)
            await store.outdate(team, room=room)
        elif kind == "group_unarchive":
            await store.outdate(team)
        elif subtype == _MADE_PRIVATE:
            await store.make_private(team, room)
            await store.outdate(team)

    async def compare(self, team: str, room: SlackRoom) -> None:
        """Keep a private channel's words for its members, even if no event reported the change. Raises StoreError."""
        if room.place is not Place.PRIVATE_CHANNEL:
            self._private.discard(room.id)
        elif self.store is not None and room.id not in self._private:
            await self.store.make_private(team, room.id)
            self._private.add(room.id)

    async def user_changed(self, team: str, person: str) -> None:
        """Drop the lists of a user whose membership has changed, and doubt all channels' readers. Raises StoreError."""
        if self.store is not None:
            await self.store.outdate(team, person=person)
            await self.store.doubt(team)

    def forget_all(self) -> None:
        """Invalidate all lists: events may have been missed."""
        self._private.clear()
        self._heard_all_since = self._client.clock.now_ms()

    async def _read(self, store: PersonRooms, key: RoomListKey) -> None:
        """Fetch a list and store it, unless events outdated it. Raises ChannelError, StoreError."""
        if (wait := self._rests_until - self._client.clock.monotonic()) > 0:
            raise _Resting("Slack gave no list of a user's channels just now", retry_after=wait)
        begun, asked_ms = await store.begin(key), self._client.clock.now_ms()
        listed = await read_rooms(self._client, most=_PAGES, user=key.person, types=PRIVATE)
        rooms = [str(one["id"]) for one in listed if _is_private(one)]
        await store.keep(key, rooms, begun, asked_ms)


class _Resting(NotDelivered):
    """The pause in which Slack isn't asked for lists."""


def _is_private(room: Mapping[str, Any]) -> bool:
    return isinstance(room.get("id"), str) and place_of(room) is Place.PRIVATE_CHANNEL and not room.get("is_archived")


_TALK_PAGES: Final = 3
_THREADS: Final = 5  # threads of the period with the most replies
_LONGEST: Final = 600  # characters of one message
_MOST_TALK: Final = 120  # messages, the newest
_SAID: Final = frozenset({"", "thread_broadcast", "me_message", "bot_message", "file_share"})


class RoomTalk(Value):
    """The talk in channels that the soul is in, without messages of refused authors and the soul's own."""

    client: SlackClient
    gate: SlackGate

    async def since(self, perception: Perception, ts: str, reader: EventReader) -> tuple[ThreadMessage, ...]:
        """Return the newest messages in a channel after a ts, oldest first. Raises ChannelError."""
        channel, place = perception.conversation.channel, perception.place
        listed, _ = await read_messages(self.client, channel, "", most=_TALK_PAGES, oldest=ts)
        threads = sorted((one for one in listed if one.get("reply_count")), key=_replies, reverse=True)[:_THREADS]
        for root in threads:
            replies, _ = await read_messages(self.client, channel, str(root["ts"]), most=1, oldest=ts)
            listed += [one for one in replies if one.get("ts") != root.get("ts")]
        found = {str(one["ts"]): one for one in listed if as_seconds(one.get("ts")) > as_seconds(ts)}
        newest = sorted(found.values(), key=lambda one: as_seconds(one["ts"]))[-_MOST_TALK:]
        said = [await self._admitted(one, channel, place, reader) for one in newest]
        return tuple(one for one in said if one is not None)

    async def _admitted(
        self, message: Mapping[str, Any], channel: str, place: Place, reader: EventReader
    ) -> ThreadMessage | None:
        author = str(message.get("user") or message.get("bot_id") or "")
        text = reader.text_of(message)[:_LONGEST]
        if not author or not text or reader.is_own(message) or str(message.get("subtype") or "") not in _SAID:
            return None
        decision = await self.gate.check_author(author, channel, place)
        return ThreadMessage(str(message["ts"]), author, decision.name or author, text) if decision.admitted else None


def _replies(message: Mapping[str, Any]) -> int:
    count = message.get("reply_count")
    return count if isinstance(count, int) else 0
