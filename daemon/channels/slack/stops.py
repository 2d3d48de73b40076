"""Reads who wants the soul to stop: Slack's stop button in an agent session, and the word alone."""

import re
from collections.abc import Mapping
from typing import Final

from daemon.channels.slack.event_reader import EventReader
from daemon.core.phrases import means_stop
from daemon.core.ports.arrivals import Arrival, NewMessage, Source, Stop

_EVENT: Final = "agent_session_stopped"
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")


def session_stopped(reader: EventReader, payload: Mapping[str, object]) -> Stop | None:
    """Read an agent_session_stopped event, by a user of our workspace whose presses count; None for any other."""
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
    """Whether a message that has just been written asks to stop."""
    if not isinstance(arrival, NewMessage) or arrival.source is not Source.LIVE:
        return False
    return means_stop(arrival.perception.content)
