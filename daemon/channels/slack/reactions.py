"""Reads reactions to the soul's own posts: thumbs are feedback, a cross takes a reply back (Slack: reaction_added)."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from daemon.channels.slack.event_reader import EventReader
from daemon.core.ports.arrivals import Feedback, Withdrawal

_VALUES: Final[Mapping[str, str]] = MappingProxyType(
    {"+1": "good", "thumbsup": "good", "-1": "bad", "thumbsdown": "bad"}
)
_Where = tuple[str, str, str, str, str, str]
_CROSS: Final = "x"
_EVENTS: Final = ("reaction_added", "reaction_removed")
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")


def thumb_given(reader: EventReader, payload: Mapping[str, object]) -> Feedback | None:
    """A thumb that a user of our workspace gave to a post of ours, or took back; None for any other event."""
    event = _mapping(payload.get("event"))
    kind = _text(event, "type")
    value = _VALUES.get(_text(event, "reaction").partition("::")[0])  # a colour of the skin may follow
    if kind not in _EVENTS or value is None:
        return None
    where = _where(reader, payload, value)
    return Feedback(*where, value, how="reaction", taken_back=kind == _EVENTS[1]) if where else None


def _where(reader: EventReader, payload: Mapping[str, object], value: str) -> _Where | None:
    """What every arrival begins with, of a reaction by a user whose presses count to a post of ours; else None."""
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
    """A cross that a user of our workspace put at a post of ours; None for any other event."""
    event = _mapping(payload.get("event"))
    if _text(event, "type") != _EVENTS[0] or _text(event, "reaction") != _CROSS:
        return None
    where = _where(reader, payload, _CROSS)
    return Withdrawal(*where, by_approver=where[-1] in reader.approvers) if where else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(mapping: Mapping[str, object], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
