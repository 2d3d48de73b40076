"""Where somebody can be written to who did not write first: a person's DM or a channel, within the gate's bounds."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from daemon.channels.slack.access.gate import SlackGate
from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.incoming.event_reader import Reader, place_of
from daemon.core.config import Settings
from daemon.core.errors import ChannelRefused, DeliveryUncertain, NotDelivered
from daemon.core.perception import Place
from daemon.core.ports import Room

_PERSON: Final = re.compile(r"[UW][A-Z0-9]{1,23}")
_CHANNEL: Final = re.compile(r"[CG][A-Z0-9]{1,23}")
_SHARED_HINT: Final = "it is shared with other organisations; SOUL_ALLOW_SHARED_CHANNELS decides about those"


class Rooms:
    """Finds rooms by id; `reader` is None while our own ids are unknown."""

    def __init__(
        self, client: SlackClient, gate: SlackGate, settings: Settings, reader: Callable[[], Reader | None]
    ) -> None:
        self._client = client
        self._gate = gate
        self._settings = settings
        self._reader = reader

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; whoever may not be heard isn't written to either."""
        reader = self._reader()
        if reader is None:
            raise NotDelivered("who we are in Slack is not known yet", retry_after=1.0)
        if _PERSON.fullmatch(contact):
            channel, place = await self._dm_with(contact), Place.DM
        elif _CHANNEL.fullmatch(contact):
            room = await self._look_at(contact)
            channel, place = contact, place_of(room)
            if room.get("is_ext_shared"):
                reader.shared.add(contact)
        else:
            hint = "Slack shows it at the end of a profile's menu or of a channel's details"
            raise ChannelRefused(f"{contact!r} is no id of a person or a channel", code="invalid_id", hint=hint)
        reader.rooms[channel] = place
        return Room(channel, place, reader.audience_in(place, channel))

    async def _dm_with(self, person: str) -> str:
        admission = await self._gate.may_be_heard(person, "", Place.DM)
        if not admission.admitted:
            raise ChannelRefused(f"{person} may not be talked with: {admission.reason}", code=admission.reason)
        try:
            opened = (await self._client.call("conversations.open", users=person)).get("channel")
        except DeliveryUncertain as doubt:
            raise NotDelivered(doubt.message) from doubt  # opening a DM twice opens one
        channel = opened.get("id") if isinstance(opened, dict) else None
        if not isinstance(channel, str) or not channel:
            raise NotDelivered("Slack's answer to conversations.open names no conversation")
        return channel

    async def _look_at(self, channel: str) -> Mapping[str, Any]:
        answer = (await self._client.call("conversations.info", channel=channel)).get("channel")
        room: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        if room.get("is_ext_shared") and not self._settings.allow_shared_channels:
            raise ChannelRefused(f"{channel} may not be written to", code="shared_channel", hint=_SHARED_HINT)
        if not room.get("is_member") and not room.get("is_mpim"):
            raise ChannelRefused(f"the soul is not in {channel}", code="not_in_channel", hint="invite it there")
        return room
