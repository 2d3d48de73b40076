"""The readers of a reply in Slack: the members of its channel, as far as Slack proves that all are full members."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader, place_in
from daemon.channels.slack.history import read_items
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.people import Directory, SlackRoom, TimezoneSync
from daemon.channels.slack.refusals import TimedCache
from daemon.channels.slack.rooms import PrivateRooms
from daemon.core.errors import ChannelRefused, NotDelivered
from daemon.core.lru import Lru
from daemon.core.perception import Audience, AudienceKind, Origin, Perception, Place, Readers, may_quote
from daemon.core.ports import PersonRooms, RoomNews
from daemon.core.timetable import zone_of

MOST_MEMBERS: Final = 1_000
"""The most members that are checked. A larger channel counts as one with outsiders."""

_PAGE: Final = 200
_ROOMS: Final = 2_000
_THREADS: Final = 5_000
_PAIR: Final = 2  # the soul and one user
_PEOPLE_CHANGED: Final = ("member_joined_channel", "member_left_channel")
_ROOM_CHANGED: Final = ("channel_shared", "channel_unshared")
_CONVERTED: Final = ("channel_convert_to_private", "channel_convert_to_public")  # subtypes of messages


class RoomReaders:
    """The readers of Slack's channels, for `Channel.readers`. `reader` raises NotDelivered while our ids are unknown.

    In a DM the private channels of its user are included (`PrivateRooms`). Channels and members are cached for ten
    minutes. Events correct the cache at once (`take_note`), and events of other daemons on the same memory.db
    (`RoomNews`) before the next reply. No channel is looked up before a message in it, and a cached one costs no call.
    """

    def __init__(
        self,
        client: SlackClient,
        directory: Directory,
        reader: Callable[[], EventReader],
    ) -> None:
        self._client = client
        self._directory = directory
        self._reader = reader
        self._members = TimedCache(self._fetch_members, client.clock, size=_ROOMS)
        self._spoken = Lru[tuple[str, str], None](_THREADS)
        self._heard = 0
        self._private = PrivateRooms(client, reader)
        self._news: RoomNews | None = None
        self._movers = TimezoneSync(directory, client.clock, client.emit, self._team, self._tell)

    def share(self, news: RoomNews, person_rooms: PersonRooms) -> None:
        self._news, self._private.store = news, person_rooms

    async def readers(self, perception: Perception) -> Readers:
        """Return the readers as `Channel.readers` requires. In a DM only its user reads."""
        where = perception.conversation
        try:
            reader = self._reader()
        except NotDelivered:
            return Readers(Audience(AudienceKind.CHANNEL, where.channel), members_only=False, unproven=True)
        await self._hear(reader.identity.team)
        try:
            room = await self._room(reader, perception)
        except NotDelivered:
            place = reader.places.get(where.channel, Place.PRIVATE_CHANNEL)
            return Readers(reader.audience_in(place, where.channel), members_only=False, unproven=True)
        if room is None:
            return Readers(Audience(AudienceKind.CHANNEL, where.channel), members_only=False)
        audience, rooms = reader.audience_in(room.place, where.channel), frozenset[str]()
        only = (where.channel, where.thread) not in self._spoken
        try:
            only = only and await self._are_members(reader, room, perception)
        except NotDelivered as error:
            self._client.emit("slack.readers_unknown", channel=room.id, reason=error.message)
            return Readers(audience, members_only=False, unproven=True)
        if only and room.place is Place.DM and perception.author not in {reader.identity.user, reader.identity.bot}:
            known = await self._private.of(perception.author, where.soul)
            if known is None:
                return Readers(audience, members_only=True, rooms_unproven=True)
            rooms = known
        return Readers(audience, members_only=only, rooms=rooms)

    async def may_quote(self, room: SlackRoom, perception: Perception, readers: Readers) -> bool:
        """Return True if a channel's words may be quoted in the answer to a perception. Raises StoreError."""
        reader, where = self._reader(), perception.conversation
        members_alone = room.open_to_others and room.place is not Place.DM
        audience = Audience(AudienceKind.CHANNEL, room.id) if members_alone else reader.audience_in(room.place, room.id)
        asks_alone = readers.audience.kind is AudienceKind.DM and room.place is Place.PRIVATE_CHANNEL
        is_in = (
            asks_alone and not room.open_to_others and await self._private.holds(perception.author, where.soul, room.id)
        )
        return may_quote(Origin(audience, room.id), where, readers, asker_is_in=is_in)

    async def has_member(self, channel: str, user: str) -> bool:
        """Return True if a user is in a channel, or if Slack doesn't list its members. Raises NotDelivered."""
        members = await self._members.get(channel)
        return members is None or user in members

    def outsider_spoke(self, channel: str, thread: str) -> None:
        """Mark a thread as read by an outsider who wrote in it. The mark stays even if the user leaves."""
        self._spoken[channel, thread] = None

    async def take_note(self, payload: Payload) -> None:
        """Drop cached facts that an event disproves, for every payload, before it is read.

        Changes of readers are passed to the other daemons. Raises StoreError if that fails.
        """
        event = payload.event
        kind, channel = event.text("type"), event.text("channel")
        if kind == "user_change" and event.part("user").text("id"):
            await self._learn(event.part("user").data)
        if kind == "user_change" or not channel:
            return
        if kind in _PEOPLE_CHANGED:
            self._forget_members(channel)
        elif kind in _ROOM_CHANGED or event.text("subtype") in _CONVERTED:
            self._forget(channel, kind)
        else:
            self._compare(channel, place_in(event), shared=payload.data.get("is_ext_shared_channel"))
        await self._private.take_note(self._team(), event, knows_member=self._is_known_member(event.text("user")))
        if kind in (*_PEOPLE_CHANGED, *_ROOM_CHANGED) or event.text("subtype") in _CONVERTED:
            await self._tell(channel)

    async def _learn(self, user: Mapping[str, Any]) -> None:
        changed, id_, team = self._directory.learn(user), str(user.get("id")), self._team()
        zone, store = str(user.get("tz") or ""), self._private.store
        moved = store is not None and zone_of(zone) is not None and await store.moved(team, id_, zone)
        if changed or moved:
            await self._tell(id_)
        if changed:
            await self._private.user_changed(team, id_)

    async def follow_movers(self) -> None:
        """Keep reminders in their users' time zones, also after a gap in the events, until cancelled."""
        if self._private.store is not None:
            await self._movers.run(self._private.store)

    def forget_all(self) -> None:
        """Drop all cached users and channels: events may have been missed."""
        self._movers.look()
        self._members.forget_all()
        self._directory.forget_all()
        self._private.forget_all()
        self._reader().places.clear()  # until the next lookup a channel counts as private

    def _is_known_member(self, user: str) -> bool:
        known = self._directory.known_user(user)
        return known is not None and not known.is_outsider(self._team())

    async def _tell(self, subject: str) -> None:
        if self._news is not None:
            await self._news.tell(self._team(), (subject,))

    def _team(self) -> str:
        return self._reader().identity.team

    async def _hear(self, team: str) -> None:
        """Drop the cached facts that other daemons report as changed. Raises StoreError."""
        if self._news is None:
            return
        changed, self._heard = await self._news.changed(team, self._heard)
        for subject in changed:
            self._forget(subject)
            self._directory.forget_user(subject)

    def _forget_members(self, channel: str) -> None:
        self._members.forget(channel)
        self._directory.forget_room(channel)

    def _forget(self, channel: str, kind: str = "") -> None:
        self._forget_members(channel)
        reader = self._reader()
        reader.places.pop(channel, None)
        if kind == "channel_shared":
            reader.shared.add(channel)
        elif kind == "channel_unshared":
            reader.shared.discard(channel)

    def _compare(self, channel: str, place: Place | None, *, shared: object) -> None:
        known = self._directory.known_room(channel)
        if known and ((place and place is not known.place) or (shared is True and not known.shared)):
            self._directory.forget_room(channel)

    async def _room(self, reader: EventReader, perception: Perception) -> SlackRoom | None:
        """Return the channel. A cached one never widens the stored audience: Slack is asked again in that case."""
        channel = perception.conversation.channel
        if perception.place is Place.DM:
            return SlackRoom(channel, Place.DM, shared=False, members=_PAIR)
        room = await self._directory.room(channel)
        if room and not reader.audience_in(room.place, channel).within(perception.audience):
            room = await self._directory.room(channel, anew=True)
            if room:
                reader.places[channel] = room.place
        if room and room.open_to_others:
            reader.shared.add(channel)
        if room:
            await self._private.compare(reader.identity.team, room)
        return room

    async def _are_members(self, reader: EventReader, room: SlackRoom, perception: Perception) -> bool:
        """Return True if every reader is known to be a full member. Raises NotDelivered."""
        if room.open_to_others:
            return False
        ids: tuple[str, ...] | None = (perception.author,)
        if room.place is not Place.DM:
            ids = await self._members.get(room.id) if room.members <= MOST_MEMBERS else None
        if ids is None:
            ids = (perception.author,) if await self._is_pair(room) else ("",)
        return await self._all_members(reader, ids)

    async def _all_members(self, reader: EventReader, ids: tuple[str, ...]) -> bool:
        us = {reader.identity.user, reader.identity.bot}
        if not all(id_.startswith(("U", "W")) for id_ in ids):
            return False  # a bot without a user, which users.info doesn't know
        users = await self._directory.users([id_ for id_ in ids if id_ not in us])
        return all(user and (user.deactivated or not user.is_outsider(reader.identity.team)) for user in users)

    async def _is_pair(self, room: SlackRoom) -> bool:
        if room.members != _PAIR:
            return False
        now = await self._directory.room(room.id, anew=True)
        return now is not None and now.members == _PAIR and not now.open_to_others

    async def _fetch_members(self, channel: str) -> tuple[str, ...] | None:
        """Return the ids of all members, or None if they are too many or not listed. Raises NotDelivered."""
        try:
            listed, whole = await read_items(
                self._client,
                "conversations.members",
                "members",
                str,
                most=MOST_MEMBERS // _PAGE,
                channel=channel,
            )
        except ChannelRefused as error:
            self._client.emit("slack.readers_unknown", channel=channel, reason=error.message)
            return None
        return tuple(listed) if whole else None
