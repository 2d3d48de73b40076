"""The reader of the home tab's events, of submitted modals, and the suggested prompts."""

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
from daemon.core.ports import Intake
from daemon.core.ports.arrivals import Arrival, AskedAbout, Complaint, RoomWaySent, TypedCommand
from daemon.core.ports.services import Clock
from daemon.core.room_ways import JOINS, LONGEST_INSTRUCTIONS, STREAMS, ChannelSettings
from daemon.core.sentences import Suggestion, Words, with_reminder
from daemon.core.timetable import minute_in

OPEN: Final = "open"
CORRECTS: Final = "wrong"
"""The prefix of a button's value that asks for words in a modal."""
SETS_UP: Final = "room"
"""The prefix of a button's value that opens the modal of a channel, followed by the channel's id."""
OPENS_DIALOG: Final = (CORRECTS, SETS_UP)
"""The prefixes of values that open a modal. The press itself is no arrival; the submission is."""
_ACT: Final = re.compile(r"(?:pause|resume|page [0-9]{1,3}|(?:forget|cancel|key|wrong|room) [A-Za-z0-9_.-]{1,64})")
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LENGTH: Final = 64


def opened(body: Mapping[str, Any], reader: EventReader) -> TypedCommand | None:
    """Return the opening of the home tab by a user of our workspace, or None for any other event."""
    event = body.get("event")
    if not isinstance(event, dict) or event.get("type") != "app_home_opened" or event.get("tab") != "home":
        return None
    author, home = _text(event, "user"), _text(body, "team_id")
    if not (_ID.fullmatch(author) and home in {"", reader.identity.team}):
        return None
    name = f"home:{author}:{_text(body, 'event_id')[:_LENGTH] or _text(event, 'event_ts')[:_LENGTH]}"
    return _done(reader, name, author, OPEN)


def pressed(body: Mapping[str, Any], reader: EventReader) -> TypedCommand | None:
    """Return the press of a button on the home tab, or None if the user's presses don't count."""
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
    does = f"{CORRECTS} {fact}"
    return _done(reader, event_id, author, does, words) if words and _ACT.fullmatch(does) else None


def _done(reader: EventReader, event_id: str, author: str, does: str, words: str = "") -> TypedCommand:
    nowhere = Audience(AudienceKind.DM, author)
    return TypedCommand(event_id, reader.soul, reader.identity.team, "", nowhere, "", author, words, home=does)


def _text(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""


COMPLAINT: Final = "soul_complaint"
"""The modal that asks what was wrong with a reply, and its one input."""

ASK: Final = "soul_ask"
"""The modal for a question about a message, and its first input."""
ASK_WHERE: Final = "soul_ask_where"
"""The input that chooses where the answer goes: IN_PRIVATE or IN_THREAD."""
IN_PRIVATE, IN_THREAD = "private", "thread"

ROOM, ROOM_SOUL, ROOM_STREAMS, ROOM_JOINS = "soul_room", "soul_room_soul", "soul_room_streams", "soul_room_joins"
"""The modal for the settings of a channel, and its inputs. USUAL is the choice that sets nothing."""
USUAL: Final = "usual"

CORRECT: Final = "soul_correct"
"""The modal for the correction of a fact, and its one input."""

_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_MOST_ABOUT: Final = 3_000  # characters (Slack: private_metadata)
_LONGEST: Final = 3_000  # characters of one input
LONGEST_CORRECTION: Final = 500
LONGEST_QUESTION: Final = 1_500
LONGEST_COMPLAINT: Final = 1_000
"""Characters of a complaint."""


@dataclass(frozen=True, slots=True)
class SentDialog:
    """A modal that a user of our workspace submitted.

    `event_id` is the same if Slack sends the submission twice. `about` is our private_metadata. `values` are the inputs
    by `action_id`; a choice is its value. Both are untrusted and hold text alone.
    """

    event_id: str
    author: str
    about: Mapping[str, str]
    values: Mapping[str, str]


DialogReader = Callable[[EventReader, SentDialog], Arrival | None]


def dialog_sent(reader: EventReader, payload: Mapping[str, object]) -> Arrival | None:
    """Return the arrival of a view_submission payload, or None if the modal is not ours or the user may not send it."""
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
    """Return the question about a message. It is answered in private if the soul is not in the channel."""
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
    """Return the chosen settings of a channel. A value that is not offered counts as not chosen."""
    channel, place = sent.about.get("channel", ""), reader.places.get(sent.about.get("channel", ""))
    if not _ID.fullmatch(channel) or channel.startswith("D"):
        return None

    def chosen(action: str, offered: Collection[str]) -> str:
        return value if (value := sent.values.get(action, "")) in offered else ""

    words = clean(sent.values.get(ROOM, "")).strip()[:LONGEST_INSTRUCTIONS]
    soul, usual = chosen(ROOM_SOUL, reader.souls), reader.soul_in(channel)
    way = ChannelSettings(words, soul, chosen(ROOM_STREAMS, STREAMS), chosen(ROOM_JOINS, JOINS), sent.author)
    there = place or Place.PRIVATE_CHANNEL
    where = (usual, reader.identity.team, channel, there, reader.audience_in(there, channel))
    return RoomWaySent(sent.event_id, *where, sent.author, way)


DIALOGS: Final[Mapping[str, DialogReader]] = MappingProxyType(
    {COMPLAINT: _complaint, ASK: _question, CORRECT: _correction, ROOM: _room_way}
)
"""The readers of our modals by `callback_id`."""


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
_STAYS: Final = 3_600.0  # seconds until the same prompts are set again
_MOST: Final = 2_000  # users whose last prompts are kept, and events


@dataclass(frozen=True, slots=True)
class Suggesting:
    """The suggested prompts of a DM: the soul's own and the user's next reminder, in the user's language.

    `suggested` gives a soul's suggestions in a language, `words_of` its sentences.
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

    def handle(self, body: Mapping[str, Any]) -> None:
        """Handle the opening of a DM in the background. An event that comes twice counts once."""
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
        """Set the prompts, unless the same were set lately. Raises ChannelError, StoreError."""
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
