"""Reads that the soul was invited to a channel: from the event, or from the line about it in the channel's history."""

import re
from collections.abc import Mapping
from typing import Final

from daemon.channels.slack.event_reader import EventReader, place_in
from daemon.core.perception import Place
from daemon.core.ports.arrivals import Joined

_LINES: Final = ("channel_join", "group_join")
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_PUBLIC: Final = "C"  # the event's own word for a public channel


def joined(reader: EventReader, payload: Mapping[str, object]) -> Joined | None:
    """The invitation of the soul to a channel; None for any other payload.

    Where Slack names no inviter, as with an import of channels, it is none.
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
