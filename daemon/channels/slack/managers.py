"""The users who may set how the soul works in a channel: its creator, workspace admins, and the soul's admins."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.gate import SlackGate
from daemon.channels.slack.history import read_pages
from daemon.channels.slack.people import Directory, SlackUser
from daemon.channels.slack.readers import RoomReaders
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.perception import Place
from daemon.core.room_ways import ManagedRoom

_PAGES: Final = 5  # of users.conversations; channels on further pages are set up by the slash command


@dataclass(frozen=True, slots=True)
class Managers:
    """The check of a channel's managers against Slack's records. `admins` are the ids of the soul's own admins."""

    client: SlackClient
    directory: Directory
    gate: SlackGate
    readers: RoomReaders
    admins: Collection[str]

    async def may_manage(self, identity: SlackIdentity, person: str, channel: str) -> bool:
        """Return True if the person is a full member of the workspace and manages the channel, and both are in it.

        Cached records of both are refreshed. Raises NotDelivered.
        """
        self.directory.forget_user(person)
        user, room = await self.directory.user(person), await self.directory.room(channel, anew=True)
        if user is None or not _is_member(user, identity):
            return False
        if room is None or room.archived or room.place not in (Place.PUBLIC_CHANNEL, Place.PRIVATE_CHANNEL):
            return False
        if not (self._manages_all(user) or room.creator == person):
            return False
        if not (await self.gate.check_author(person, channel, room.place)).admitted:
            return False
        has_member = self.readers.has_member
        return await has_member(channel, person) and await has_member(channel, identity.user)

    async def rooms_of(self, identity: SlackIdentity, person: str) -> tuple[ManagedRoom, ...]:
        """Return the channels that the person may manage as far as Slack's lists say, by name. `may_manage` decides.

        Channels that other organisations are in are left out. Raises ChannelError.
        """
        user = await self.directory.user(person)
        if user is None or not _is_member(user, identity):
            return ()
        ours = [one for one in await self._listed() if self._manages_all(user) or one["creator"] == person]
        theirs = {one["id"] for one in await self._listed(person)} if ours else set()
        found = [ManagedRoom(one["id"], one["name"]) for one in ours if one["id"] in theirs]
        return tuple(sorted(found, key=lambda room: (room.name, room.id)))

    async def _listed(self, person: str | None = None) -> list[dict[str, str]]:
        """Return the channels that a person is in and Slack lists to the app, or those that the soul is in."""
        listed, _ = await read_pages(
            self.client,
            "users.conversations",
            "channels",
            most=_PAGES,
            user=person,
            types="public_channel,private_channel",
            exclude_archived=True,
        )
        return [room for one in listed if (room := _described(one))["id"] and not one.get("is_ext_shared")]

    def _manages_all(self, user: SlackUser) -> bool:
        return user.admin or user.id in self.admins


def _is_member(user: SlackUser, identity: SlackIdentity) -> bool:
    return not (user.bot or user.deactivated or user.is_outsider(identity.team))


def _described(room: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value := room.get(name), str) else "" for name in ("id", "name", "creator")}
