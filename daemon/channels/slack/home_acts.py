"""Reads what people do on the home tab: they open it, press its buttons, or send the dialog that one of these opens."""

import re
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.event_reader import HOME_ACTION, EventReader
from daemon.channels.slack.text import clean
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.arrivals import TypedCommand

OPEN: Final = "open"
CORRECTS: Final = "wrong"
"""What a button does that needs words: a dialog asks for them."""
SETS_UP: Final = "room"
"""What a button does that opens the form of a channel, named by its id."""
OPENS_DIALOG: Final = (CORRECTS, SETS_UP)
"""How what opens a dialog begins; only what is sent with that dialog arrives."""
_ACT: Final = re.compile(r"(?:pause|resume|page [0-9]{1,3}|(?:forget|cancel|key|wrong|room) [A-Za-z0-9_.-]{1,64})")
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LENGTH: Final = 64


def opened(body: Mapping[str, Any], reader: EventReader) -> TypedCommand | None:
    """The opening of the home tab by a person of our workspace; None for any other event."""
    event = body.get("event")
    if not isinstance(event, dict) or event.get("type") != "app_home_opened" or event.get("tab") != "home":
        return None
    author, home = _text(event, "user"), _text(body, "team_id")
    if not (_ID.fullmatch(author) and home in {"", reader.identity.team}):
        return None
    name = f"home:{author}:{_text(body, 'event_id')[:_LENGTH] or _text(event, 'event_ts')[:_LENGTH]}"
    return _done(reader, name, author, OPEN)


def pressed(body: Mapping[str, Any], reader: EventReader) -> TypedCommand | None:
    """A press of a button there; None for any other payload, and for those of others."""
    actions, author = body.get("actions"), reader.user_of(body)
    if body.get("type") != "block_actions" or not isinstance(actions, list) or not author:
        return None
    ours = (one for one in actions if isinstance(one, dict) and _text(one, "action_id").startswith(HOME_ACTION))
    action = next(ours, {})
    does, view = _text(action, "value"), body.get("view")
    if not _ACT.fullmatch(does) or not isinstance(view, dict) or view.get("type") != "home":
        return None
    at = clean(_text(action, "action_ts") or _text(body, "trigger_id"))[:_LENGTH].replace("/", "")
    return _done(reader, f"home:{author}:{at}:{does}", author, does)


def corrected(reader: EventReader, event_id: str, author: str, fact: str, words: str) -> TypedCommand | None:
    """The words that a person sent to correct a fact; None where they are none."""
    does = f"{CORRECTS} {fact}"
    return _done(reader, event_id, author, does, words) if words and _ACT.fullmatch(does) else None


def _done(reader: EventReader, event_id: str, author: str, does: str, words: str = "") -> TypedCommand:
    nowhere = Audience(AudienceKind.DM, author)
    return TypedCommand(event_id, reader.soul, reader.identity.team, "", nowhere, "", author, words, home=does)


def _text(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
