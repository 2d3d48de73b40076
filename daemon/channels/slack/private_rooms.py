"""Which private channels the user of a DM is in now, so that the soul may recall there what was said in them.

Slack is asked (`users.conversations`) when the list in memory.db is older than five minutes, or from before events may
have been missed. Events correct the lists at once, for all daemons on the file. Where Slack says nothing, there is
none: archived channels, group messages, and channels that the soul isn't in any more are never listed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import EventReader, place_of
from daemon.channels.slack.history import read_pages
from daemon.channels.slack.people import SlackRoom
from daemon.core.errors import ChannelError, ChannelRefused, NotDelivered
from daemon.core.perception import Place
from daemon.core.ports.clock import Clock
from daemon.core.ports.intake import PersonRooms, RoomListKey
from daemon.core.ports.telemetry import Emit

KEPT_MS: Final = 300_000
"""Milliseconds for which a list counts as true."""

_PAGES: Final = 5  # of 200 channels; of a longer list the rest counts as unknown
_REST: Final = 30.0  # seconds for which Slack isn't asked again after it gave no list
_TRIES: Final = 2  # reads of a list that news outdates while it is read
_GONE: Final = ("channel_left", "group_left", "group_archive", "group_deleted", "channel_shared", "channel_unshared")
_MADE_PRIVATE: Final = "channel_convert_to_private"  # subtypes of messages
_MADE_PUBLIC: Final = "channel_convert_to_public"


class PrivateRooms:
    """Keeps the lists; `reader` gives None while our own ids are unknown. Without a `store` there are no rooms."""

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit, reader: Callable[[], EventReader | None]) -> None:
        self._client = client
        self._clock = clock
        self._emit = emit
        self._reader = reader
        self._rests_until = 0.0
        self._refused = False  # the last list that was asked for; the next one will hardly be given
        self._private = set[str]()  # channels whose words are surely kept for their members alone
        self._heard_all_since = clock.now_ms()
        self.store: PersonRooms | None = None

    async def of(self, person: str, soul: str) -> frozenset[str] | None:
        """The ids of the private channels that a full member is in and the soul spoke in. Raises StoreError.

        None where Slack can't be asked just now, and may be soon.
        """
        reader, store = self._reader(), self.store
        if store is None or reader is None:
            return frozenset()
        key = RoomListKey(reader.identity.team, person, reader.identity.user)
        for _ in range(_TRIES):
            since = max(self._clock.now_ms() - KEPT_MS, self._heard_all_since)
            if (known := await store.known(key, soul, since)) is not None:
                return known
            try:
                await self._read(store, key)
            except ChannelError as error:
                if not isinstance(error, _Resting):
                    self._rests_until = self._clock.monotonic() + (getattr(error, "retry_after", 0.0) or _REST)
                    self._refused = isinstance(error, ChannelRefused)
                    self._emit("slack.rooms_unknown", person=person, reason=error.message, hint=error.hint)
                return frozenset() if self._refused else None
            self._refused = False
        known = await store.known(key, soul, max(self._clock.now_ms() - KEPT_MS, self._heard_all_since))
        return known or frozenset()

    async def holds(self, person: str, soul: str, room: str) -> bool:
        """Whether a full member is surely in a private channel (id) now, wherever the soul spoke. Raises StoreError."""
        await self.of(person, soul)  # reads the list where it is old
        reader, store = self._reader(), self.store
        if store is None or reader is None:
            return False
        key = RoomListKey(reader.identity.team, person, reader.identity.user)
        return await store.lists(key, room, max(self._clock.now_ms() - KEPT_MS, self._heard_all_since))

    async def take_note(self, team: str, event: Mapping[str, Any], *, knows_member: bool) -> None:
        """Correct the lists by an event of Slack's about a channel (id); its user may be known to be a full member.

        Raises StoreError.
        """
        reader, store = self._reader(), self.store
        if store is None or reader is None:
            return
        kind, subtype, room, user = (str(event.get(name) or "") for name in ("type", "subtype", "channel", "user"))
        ours = user == reader.identity.user
        if kind == "channel_shared" or (kind == "member_joined_channel" and not (ours or knows_member)):
            await store.doubt(team, room)
        if kind == "member_left_channel":
            await store.outdate(team, person="" if ours else user, room=room)
        elif kind == "member_joined_channel":
            await store.outdate(team, person="" if ours else user)
        elif kind in _GONE or subtype == _MADE_PUBLIC:
            self._private.discard(room)
            await store.outdate(team, room=room)
        elif kind == "group_unarchive":
            await store.outdate(team)
        elif subtype == _MADE_PRIVATE:
            await store.make_private(team, room)
            await store.outdate(team)

    async def compare(self, team: str, room: SlackRoom) -> None:
        """Keep what was said in a private channel for its members, also if no event said that it was made private.

        Raises StoreError.
        """
        if room.place is not Place.PRIVATE_CHANNEL:
            self._private.discard(room.id)
        elif self.store is not None and room.id not in self._private:
            await self.store.make_private(team, room.id)
            self._private.add(room.id)

    async def user_changed(self, team: str, person: str) -> None:
        """Ask Slack again about a user whose standing has changed, and who may read anywhere. Raises StoreError."""
        if self.store is not None:
            await self.store.outdate(team, person=person)
            await self.store.doubt(team)

    def forget_all(self) -> None:
        """Use no list that was read until now: events may have been missed."""
        self._private.clear()
        self._heard_all_since = self._clock.now_ms()

    async def _read(self, store: PersonRooms, key: RoomListKey) -> None:
        """Ask Slack for a list and keep it, unless news outdated it meanwhile. Raises ChannelError, StoreError."""
        if (wait := self._rests_until - self._clock.monotonic()) > 0:
            raise _Resting("Slack gave no list of a user's channels just now", retry_after=wait)
        begun, asked_ms = await store.begin(key), self._clock.now_ms()
        listed, _ = await read_pages(
            self._client,
            "users.conversations",
            "channels",
            most=_PAGES,
            user=key.person,
            types="private_channel",
            exclude_archived=True,
        )
        rooms = [str(one["id"]) for one in listed if _is_private(one)]
        await store.keep(key, rooms, begun, asked_ms)


class _Resting(NotDelivered):
    """Slack isn't asked now."""


def _is_private(room: Mapping[str, Any]) -> bool:
    """Whether it is a private channel in use; what Slack may list besides is none."""
    return isinstance(room.get("id"), str) and place_of(room) is Place.PRIVATE_CHANNEL and not room.get("is_archived")
