"""Reads what a person has open in Slack beside the talk with the soul (Slack: app_context_changed).

The same context comes with the opening of the messages and with direct messages. It is a claim of Slack's client about
ids, and nothing else is taken of it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.core.looked_at import MOST, LookedAt, Opened

_ROOM: Final = re.compile(r"[CG][A-Z0-9]{1,63}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{6}")
_TYPE: Final = "slack#/types/"
_PAGES: Final[Mapping[str, Opened]] = {"canvas_id": Opened.CANVAS, "list_id": Opened.LIST}


@dataclass(frozen=True, slots=True)
class Look:
    """What a person has open, empty for nothing, since a time (ms; 0: unknown)."""

    person: str
    seen: tuple[LookedAt, ...]
    at_ms: int


def look_in(body: Mapping[str, Any], reader: EventReader) -> Look | None:
    """What a payload tells of it, of a user of our workspace whose presses count; None where it tells nothing."""
    event = body.get("event")
    if not isinstance(event, dict):
        return None
    match event.get("type"):
        case "app_context_changed" | "app_home_opened":
            context, at = event.get("context"), event.get("event_ts")
        case "message" if event.get("channel_type") == "im" and not event.get("subtype"):
            context, at = event.get("app_context"), event.get("ts")
        case _:
            return None
    author = _author(body, event, reader)
    if not author or not isinstance(context, dict):
        return None
    entities = context.get("entities", [])
    return Look(author, tuple(_entities(entities, reader)), _ms(at)) if isinstance(entities, list) else None


def _author(body: Mapping[str, Any], event: Mapping[str, Any], reader: EventReader) -> str:
    """Who looks: the event's user, or where it names none the one for whom Slack sends it."""
    given = body.get("authorizations")
    known = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    user = event.get("user") or next((one.get("user_id") for one in known if not one.get("is_bot")), "")
    return reader.user_of({"user": {"id": user}, "team": {"id": body.get("team_id")}})


def _entities(given: list[Any], reader: EventReader) -> Iterator[LookedAt]:
    """The things themselves, the most relevant first; those of other workspaces, and unknown ones, are left out."""
    for one in given[:MOST]:
        if not isinstance(one, dict) or one.get("team_id") not in (None, "", reader.identity.team):
            continue
        kind, value = str(one.get("type")).removeprefix(_TYPE), one.get("value")
        if kind in _PAGES and isinstance(value, str) and value:
            yield LookedAt(_PAGES[kind])
        elif kind == "channel_id" and isinstance(value, str) and _ROOM.fullmatch(value):
            yield LookedAt(Opened.CHANNEL, value)
        elif kind == "message_context" and isinstance(value, dict):
            room, ts = value.get("channel_id"), value.get("message_ts")
            if isinstance(room, str) and _ROOM.fullmatch(room) and isinstance(ts, str) and _TS.fullmatch(ts):
                yield LookedAt(Opened.MESSAGE, room, ts)


def _ms(ts: object) -> int:
    return int(float(ts) * 1000) if isinstance(ts, str) and _TS.fullmatch(ts) else 0
