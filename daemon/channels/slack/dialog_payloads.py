"""Reads dialogs that people send back (Slack: view_submission): a reader for each `callback_id`; never raises."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.home_acts import corrected
from daemon.channels.slack.text import clean
from daemon.core.perception import Audience, AudienceKind, Place
from daemon.core.ports.arrivals import Arrival, AskedAbout, Complaint, RoomWaySent, TypedCommand
from daemon.core.room_ways import JOINS, LONGEST_INSTRUCTIONS, STREAMS, RoomWay

COMPLAINT: Final = "soul_complaint"
"""The dialog that asks what was wrong with a reply, and its one input."""

ASK: Final = "soul_ask"
"""The dialog that takes a question about a message, and its first input."""
ASK_WHERE: Final = "soul_ask_where"
"""The input that says where the answer goes: IN_PRIVATE or IN_THREAD."""
IN_PRIVATE, IN_THREAD = "private", "thread"

ROOM, ROOM_SOUL, ROOM_STREAMS, ROOM_JOINS = "soul_room", "soul_room_soul", "soul_room_streams", "soul_room_joins"
"""The dialog that takes how the soul works in a channel, and its inputs; USUAL is the choice of what is not set."""
USUAL: Final = "usual"

CORRECT: Final = "soul_correct"
"""The dialog that takes what is right in place of a fact, and its one input."""

_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_MOST_ABOUT: Final = 3_000  # characters (Slack: private_metadata)
_LONGEST: Final = 3_000  # characters of one input
LONGEST_CORRECTION: Final = 500
LONGEST_QUESTION: Final = 1_500
LONGEST_COMPLAINT: Final = 1_000
"""The most characters of what was wrong."""


@dataclass(frozen=True, slots=True)
class SentDialog:
    """A dialog that a user of our workspace sent.

    `event_id` is the same for one that is sent twice. `about` is what we wrote into its private_metadata, `values` what
    they filled in, by the `action_id` of each input; a choice is its value. Both are untrusted, and hold text alone.
    """

    event_id: str
    author: str
    about: Mapping[str, str]
    values: Mapping[str, str]


DialogReader = Callable[[EventReader, SentDialog], Arrival | None]


def dialog_sent(reader: EventReader, payload: Mapping[str, object]) -> Arrival | None:
    """What a view_submission payload holds for the soul; None for a dialog that is not ours or may not be sent."""
    view = _mapping(payload.get("view"))
    read, author, view_id = DIALOGS.get(_text(view, "callback_id")), reader.user_of(payload), _text(view, "id")
    if read is None or not author or not _ID.fullmatch(view_id):
        return None
    values = _values(_mapping(_mapping(view.get("state")).get("values")))
    return read(reader, SentDialog(f"dialog:{view_id}:{author}", author, _about(view), values))


def _complaint(reader: EventReader, sent: SentDialog) -> Complaint | None:
    channel, ts = sent.about.get("channel", ""), sent.about.get("ts", "")
    text = clean(sent.values.get(COMPLAINT, "")).strip()[:LONGEST_COMPLAINT]
    if not (_ID.fullmatch(channel) and _TS.fullmatch(ts) and text):
        return None
    return Complaint(sent.event_id, reader.soul_in(channel), reader.identity.team, channel, ts, sent.author, text)


def _question(reader: EventReader, sent: SentDialog) -> AskedAbout | None:
    """A question about a message; where the soul is not, it is answered in private."""
    channel, ts = sent.about.get("channel", ""), sent.about.get("ts", "")
    question = clean(sent.values.get(ASK, "")).strip()[:LONGEST_QUESTION]
    if not (_ID.fullmatch(channel) and _TS.fullmatch(ts) and question):
        return None
    words = f"{question}\n\n{clean(sent.about.get('quote', ''))}"
    there = reader.places.get(channel)
    if sent.values.get(ASK_WHERE) == IN_THREAD and there is not None and there is not Place.DM:
        where = (reader.soul_in(channel), reader.identity.team, channel, ts)
        return AskedAbout(sent.event_id, *where, there, reader.audience_in(there, channel), sent.author, words)
    nowhere = Audience(AudienceKind.DM, sent.author)
    return AskedAbout(sent.event_id, reader.soul, reader.identity.team, "", "", Place.DM, nowhere, sent.author, words)


def _correction(reader: EventReader, sent: SentDialog) -> TypedCommand | None:
    words = clean(sent.values.get(CORRECT, "")).strip()[:LONGEST_CORRECTION]
    return corrected(reader, sent.event_id, sent.author, sent.about.get("fact", ""), words)


def _room_way(reader: EventReader, sent: SentDialog) -> RoomWaySent | None:
    """How the soul is to work in a channel; what is not offered counts as not chosen."""
    channel, place = sent.about.get("channel", ""), reader.places.get(sent.about.get("channel", ""))
    if not _ID.fullmatch(channel) or channel.startswith("D"):
        return None

    def chosen(action: str, offered: Collection[str]) -> str:
        return value if (value := sent.values.get(action, "")) in offered else ""

    words = clean(sent.values.get(ROOM, "")).strip()[:LONGEST_INSTRUCTIONS]
    soul, usual = chosen(ROOM_SOUL, reader.souls), reader.soul_in(channel)
    way = RoomWay(words, soul, chosen(ROOM_STREAMS, STREAMS), chosen(ROOM_JOINS, JOINS), sent.author)
    there = place or Place.PRIVATE_CHANNEL
    where = (usual, reader.identity.team, channel, there, reader.audience_in(there, channel))
    return RoomWaySent(sent.event_id, *where, sent.author, way)


DIALOGS: Final[Mapping[str, DialogReader]] = MappingProxyType(
    {COMPLAINT: _complaint, ASK: _question, CORRECT: _correction, ROOM: _room_way}
)
"""The readers of our dialogs by `callback_id`."""


def _about(view: Mapping[str, object]) -> Mapping[str, str]:
    written = _text(view, "private_metadata")
    try:
        about = json.loads(written) if written and len(written) <= _MOST_ABOUT else {}
    except (ValueError, RecursionError):
        return {}
    return {name: value for name, value in _mapping(about).items() if isinstance(value, str)}


def _values(state: Mapping[str, object]) -> Mapping[str, str]:
    inputs = (one for block in state.values() for one in _mapping(block).items())
    return {action: _value(_mapping(given))[:_LONGEST] for action, given in inputs}


def _value(given: Mapping[str, object]) -> str:
    return _text(given, "value") or _text(_mapping(given.get("selected_option")), "value")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(mapping: Mapping[str, object], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
