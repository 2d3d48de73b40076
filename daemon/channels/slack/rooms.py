"""Finds where the soul can write first: a user's DM or a channel, if the gate and the settings allow it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import EventReader, place_of
from daemon.channels.slack.gate import SlackGate
from daemon.channels.slack.history import read_pages
from daemon.core.config import Settings
from daemon.core.errors import ChannelRefused, DeliveryUncertain, NotDelivered
from daemon.core.perception import Place
from daemon.core.ports.channel import Room

_PERSON: Final = re.compile(r"[UW][A-Z0-9]{1,23}")
_CHANNEL: Final = re.compile(r"[CG][A-Z0-9]{1,23}")
_PAGES: Final = 5
_SHARED_HINT: Final = "it is shared with other organisations; SOUL_ALLOW_SHARED_CHANNELS decides about those"


class RoomFinder:
    """Finds rooms by the id of a user or a channel; `reader` gives None while our own ids are unknown."""

    def __init__(
        self,
        client: SlackClient,
        gate: SlackGate,
        settings: Settings,
        reader: Callable[[], EventReader | None],
        has_member: Callable[[str, str], Awaitable[bool]],
    ) -> None:
        self._client = client
        self._gate = gate
        self._settings = settings
        self._reader = reader
        self._has_member = has_member

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; a user whose messages the gate refuses gets none from the soul either."""
        reader = self._reader()
        if reader is None:
            raise NotDelivered("our own Slack ids are not known yet", retry_after=1.0)
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
        """See `Channel.shared_room`; who is in it, Slack says."""
        if (await self._gate.check_author(person, "", Place.DM)).outsider:
            raise ChannelRefused(f"{person} is no full member", code="guest")
        wanted = name.strip().removeprefix("#")
        channel = wanted if _CHANNEL.fullmatch(wanted) else await self._named(person, wanted)
        found = await self.find_room(channel)
        if not await self._has_member(channel, person):
            raise ChannelRefused(f"{person} is not in {channel}", code="not_there")
        return found

    async def _named(self, person: str, name: str) -> str:
        """The id of the channel of this name that a person is in, as far as Slack lists it to the app."""
        listed, _ = await read_pages(
            self._client,
            "users.conversations",
            "channels",
            most=_PAGES,
            user=person,
            types="public_channel,private_channel",
            exclude_archived=True,
        )
        found = [one for one in listed if str(one.get("name", "")).casefold() == name.casefold()]
        if not name or not found:
            raise ChannelRefused(f"{person} is in no channel of that name", code="not_there")
        return str(found[0]["id"])

    async def _dm_with(self, user: str) -> str:
        decision = await self._gate.check_author(user, "", Place.DM)
        if not decision.admitted:
            raise ChannelRefused(f"the soul may not write to {user}: {decision.reason}", code=decision.reason)
        try:
            opened = (await self._client.call("conversations.open", users=user)).get("channel")
        except DeliveryUncertain as doubt:
            raise NotDelivered(doubt.message) from doubt  # opening a DM twice opens one
        channel = opened.get("id") if isinstance(opened, dict) else None
        if not isinstance(channel, str) or not channel:
            raise NotDelivered("Slack's answer to conversations.open names no conversation")
        return channel

    async def _check_channel(self, channel: str) -> Mapping[str, Any]:
        answer = (await self._client.call("conversations.info", channel=channel)).get("channel")
        room: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        if room.get("is_ext_shared") and not self._settings.allow_shared_channels:
            raise ChannelRefused(f"the soul may not write to {channel}", code="shared_channel", hint=_SHARED_HINT)
        if room.get("is_archived"):
            raise ChannelRefused(f"{channel} is archived", code="is_archived", hint="unarchive it")
        if not room.get("is_member") and not room.get("is_mpim"):
            raise ChannelRefused(f"the soul is not in {channel}", code="not_in_channel", hint="invite it there")
        return room
