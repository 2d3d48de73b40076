"""Reads what people do on the home tab: they open it, press its buttons, or send the dialog that one of these opens."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import HOME_ACTION, EventReader
from daemon.channels.slack.installation import AGENT_SCOPE
from daemon.channels.slack.message_text import clean
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.lru import Lru
from daemon.core.perception import Audience, AudienceKind, Place
from daemon.core.phrase_words import Suggestion, with_reminder
from daemon.core.ports import Intake
from daemon.core.ports.arrivals import Arrival, AskedAbout, Complaint, RoomWaySent, TypedCommand
from daemon.core.ports.services import Clock
from daemon.core.room_ways import JOINS, LONGEST_INSTRUCTIONS, STREAMS, RoomWay
from daemon.core.sentences import Words
from daemon.core.timetable import minute_in

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
    read, author, view_id = (
        DIALOGS.get(_dialog_payloads_text(view, "callback_id")),
        reader.user_of(payload),
        _dialog_payloads_text(view, "id"),
    )
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
    written = _dialog_payloads_text(view, "private_metadata")
    try:
        about = json.loads(written) if written and len(written) <= _MOST_ABOUT else {}
    except (ValueError, RecursionError):
        return {}
    return {name: value for name, value in _mapping(about).items() if isinstance(value, str)}


def _values(state: Mapping[str, object]) -> Mapping[str, str]:
    inputs = (one for block in state.values() for one in _mapping(block).items())
    return {action: _value(_mapping(given))[:_LONGEST] for action, given in inputs}


def _value(given: Mapping[str, object]) -> str:
    return _dialog_payloads_text(given, "value") or _dialog_payloads_text(
        _mapping(given.get("selected_option")), "value"
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _dialog_payloads_text(mapping: Mapping[str, object], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""


_PROMPTS_ID: Final = re.compile(r"[UW][A-Z0-9]{1,63}")
_DM: Final = re.compile(r"D[A-Z0-9]{1,63}")
_STAYS: Final = 3_600.0  # seconds in which the same prompts are not set again
_MOST: Final = 2_000  # people of whom it is known what they were shown last, and events


@dataclass(frozen=True, slots=True)
class Suggesting:
    """What the prompts need beside the soul's own: the person's standing and language, their next reminder.

    `suggested` gives a soul's suggestions in a language, `words_of` what is said in its name.
    """

    client: SlackClient
    reader: EventReader
    intake: Intake
    answers: PrivateAnswers
    suggested: Callable[[str, str], Sequence[Suggestion]]
    words_of: Callable[[str, str], Words]
    clock: Clock
    _shown: Lru[str, tuple[Suggestion, ...]] = field(init=False)
    _seen: Lru[str, None] = field(default_factory=lambda: Lru(_MOST))

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shown", Lru(_MOST, _STAYS, self.clock.monotonic))

    def heed(self, body: Mapping[str, Any]) -> None:
        """Take note of a payload; returns at once. An event that comes twice counts once."""
        event, scopes = body.get("event"), self.reader.identity.scopes
        if not isinstance(event, dict) or event.get("type") != "app_home_opened" or event.get("tab") != "messages":
            return
        person, room, event_id = event.get("user"), event.get("channel"), str(body.get("event_id"))[:64]
        ours = body.get("team_id") in (None, "", self.reader.identity.team)
        if not (ours and isinstance(person, str) and _PROMPTS_ID.fullmatch(person)) or event_id in self._seen:
            return
        if isinstance(room, str) and _DM.fullmatch(room) and (not scopes or AGENT_SCOPE in scopes):
            self._seen[event_id] = None
            self.answers.later(partial(self._suggest, person, room))

    async def _suggest(self, person: str, room: str) -> None:
        """Set the prompts, unless these were shown lately. Raises ChannelError, StoreError."""
        decision, soul = await self.answers.standing_of(person), self.reader.soul
        if not decision.admitted:
            return
        due_ms = await self.intake.next_reminder_ms(soul, self.reader.identity.team, person)
        when = minute_in(due_ms, decision.zone) if due_ms is not None else ""
        words, own = self.words_of(soul, decision.language), self.suggested(soul, decision.language)
        prompts = with_reminder(own, words, when)
        if self._shown.get(person) == prompts:
            return
        listed = [{"title": one.title, "message": one.message} for one in prompts]
        await self.client.call("assistant.threads.setSuggestedPrompts", channel_id=room, prompts=listed)
        self._shown[person] = prompts
