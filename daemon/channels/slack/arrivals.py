"""The readers of payloads, by kind: each payload is looked up once, and read without I/O and without errors."""

import hashlib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from daemon.channels.slack.dialogs import CORRECTS, DIALOGS, HOME_ACTION, at_home
from daemon.channels.slack.event_reader import FIELD_LENGTH, EventReader, place_in
from daemon.channels.slack.message_text import clean
from daemon.channels.slack.payload import Payload, valid_id, valid_ts
from daemon.core.initiative import NO, YES
from daemon.core.pairing import CHOICES
from daemon.core.perception import Audience, AudienceKind, Place
from daemon.core.phrases import ASK_SHORTCUT, MOST_ANSWERS, WHY_SHORTCUT
from daemon.core.ports.arrivals import (
    Arrival,
    Decision,
    Deletion,
    Edit,
    Feedback,
    Joined,
    NewMessage,
    PickedAnswer,
    Source,
    Stop,
    TypedCommand,
    UserAct,
    WhyAsked,
    Withdrawal,
)
from daemon.core.sentences import Sentence
from daemon.core.text import storable
from daemon.core.value import Value

FEEDBACK_ACTION: Final = "soul_feedback"
APPROVAL_ACTIONS: Final[Mapping[str, str]] = {
    "approve": "soul_approval_yes",
    "refuse": "soul_approval_no",
    **{act: f"soul_{act}" for act in (*CHOICES, YES, NO)},
}
"""The answers to an approval request, and the ids of their buttons, which Slack requires to differ."""
ANSWER_ACTIONS: Final = tuple(f"soul_answer_{number}" for number in range(MOST_ANSWERS))
_OUR_ACTIONS: Final = frozenset({FEEDBACK_ACTION, *APPROVAL_ACTIONS.values(), *ANSWER_ACTIONS})

OPEN: Final = "open"
SETS_UP: Final = "room"
"""The prefix of a button's value that opens the modal of a channel, followed by the channel's id."""
SUGGESTS: Final = "suggest"
_ACT: Final = re.compile(r"(?:pause|resume|page [0-9]{1,3}|(?:forget|cancel|key|wrong|room) [A-Za-z0-9_.-]{1,64})")
_LONGEST_COMMAND: Final = 600  # characters
_LINES: Final = ("channel_join", "group_join")
_PUBLIC: Final = "C"  # the event's name of a public channel
_THUMBS: Final = MappingProxyType({"+1": "good", "thumbsup": "good", "-1": "bad", "thumbsdown": "bad"})
_CROSS: Final = "x"
COMMAND: Final = "command"


class Request(Value):
    """A user's request for what they alone see in Slack, such as a modal `about` an id. It is not stored."""

    kind: str
    author: str
    about: str = ""


Found = Arrival | Request | Sentence | None
"""The meaning of a payload. A Sentence tells the user why the act has no effect."""


def read(reader: EventReader, payload: object) -> Found:
    """Return what a payload means, or None if that is nothing for the soul."""
    body = Payload.of(payload)
    kind = kind_of(body)
    if (by_kind := READERS.get(kind)) is None:
        return None
    found = by_kind(reader, body)
    if found is None and kind in _PRESSES and reader.is_unlisted(body.user):
        of_anybody = by_kind(replace(reader, members=frozenset()), body)
        return Sentence("press_void") if isinstance(of_anybody, UserAct) else None
    return found


def kind_of(payload: Payload) -> str:
    """Return COMMAND, the type of an interaction, or the type of an event."""
    if COMMAND in payload.data:
        return COMMAND
    kind = payload.text("type")
    return kind if kind in _INTERACTIONS else payload.event.text("type")


def message(
    reader: EventReader, payload: Payload, source: Source = Source.LIVE
) -> NewMessage | Edit | Deletion | Joined | None:
    """Return a message, its edit or deletion, or the invitation that a line in a channel reports."""
    return joined(reader, payload) or reader.event(payload, source)


def joined(reader: EventReader, payload: Payload) -> Joined | None:
    """Return the invitation of the soul to a channel.

    An event without an inviter, as in an import of channels, is no invitation.
    """
    event, own = payload.event, reader.identity
    live = event.text("type") == "member_joined_channel"
    channel, inviter, ts = event.id("channel"), event.id("inviter"), event.ts("event_ts" if live else "ts")
    if not (live or event.text("subtype") in _LINES) or event.text("user") != own.user:
        return None
    unsaid = Place.PUBLIC_CHANNEL if event.text("channel_type") == _PUBLIC else Place.PRIVATE_CHANNEL
    place = reader.places.get(channel) or place_in(event) or unsaid
    if not (channel and inviter and ts) or inviter == own.user or place in (Place.DM, Place.GROUP_DM):
        return None
    where = (reader.soul_in(channel), own.team, channel, place, reader.audience_in(place, channel))
    return Joined(payload.id("event_id") or f"joined:{channel}:{ts}", *where, inviter, int(float(ts) * 1000))


def reaction(reader: EventReader, payload: Payload) -> Feedback | Withdrawal | None:
    """Return a thumb that a user gave or took back at a post of ours, or a cross that was set there."""
    event, item = payload.event, payload.event.part("item")
    kind, name = event.text("type"), event.text("reaction")
    added = kind == "reaction_added"
    value = _CROSS if added and name == _CROSS else _THUMBS.get(name.partition("::")[0])  # a skin tone may follow
    channel, ts, author, own = item.id("channel"), item.ts("ts"), reader.author_of(payload), reader.identity.user
    if not (value and channel and ts and author) or author == own or event.text("item_user") != own:
        return None
    given = payload.id("event_id") or f"{kind}:{channel}:{ts}:{author}:{value}"
    at = reader.at(given, channel, ts)
    if value == _CROSS:
        return Withdrawal(*at, author, by_approver=author in reader.approvers)
    return Feedback(*at, author, value, how="reaction", taken_back=not added)


def stopped(reader: EventReader, payload: Payload) -> Stop | None:
    """Return the press of Slack's stop button in an agent session."""
    event, author = payload.event, reader.author_of(payload)
    channel, thread = event.id("channel"), event.ts("thread_ts")
    if not (author and channel and thread):
        return None
    given = payload.id("event_id") or f"agent_session_stopped:{channel}:{thread}:{author}"
    return Stop(*reader.at(given, channel, thread), author)


def opened(reader: EventReader, payload: Payload) -> TypedCommand | Request | None:
    """Return the opening of the home tab, or of a DM, by a user of our workspace. The gate decides about the user."""
    event = payload.event
    author = event.id("user")
    if not author or payload.text("team_id") not in {"", reader.identity.team}:
        return None
    if event.text("tab") == "messages" and event.id("channel").startswith("D"):
        return Request(SUGGESTS, author, event.id("channel"))
    stamp = payload.text("event_id")[:FIELD_LENGTH] or event.text("event_ts")[:FIELD_LENGTH]
    return at_home(reader, f"home:{author}:{stamp}", author, OPEN) if event.text("tab") == "home" else None


def pressed(
    reader: EventReader, payload: Payload
) -> Feedback | Decision | PickedAnswer | TypedCommand | Request | None:
    """Return the press of one of our buttons."""
    author, actions = reader.author_of(payload), payload.parts("actions")
    if payload.is_at_home:
        ours = (one for one in actions if one.text("action_id").startswith(HOME_ACTION))
        return _pressed_at_home(reader, payload, next(ours, Payload({}))) if author else None
    action = next((one for one in actions if one.text("action_id") in _OUR_ACTIONS), Payload({}))
    channel, ts, id_ = payload.channel, payload.message_ts, action.text("action_id")
    if not (author and channel and ts):
        return None
    value = action.text("value")
    stamp = clean(action.text("action_ts"))[:FIELD_LENGTH] or value
    at = reader.at(f"action:{channel}:{ts}:{author}:{stamp}", channel, ts)
    act, _, about = value.partition(":")
    if id_ == FEEDBACK_ACTION:  # the value of a button below the reply names the reply
        return Feedback(*at[:4], valid_ts(about) or ts, author, act) if act in {"good", "bad"} else None
    if id_ in ANSWER_ACTIONS:
        return PickedAnswer(*at, author, ANSWER_ACTIONS.index(id_))
    if APPROVAL_ACTIONS.get(act) != id_ or not valid_id(about):
        return None
    return Decision(*at, author, about, approves=act not in {"refuse", NO}, answer=act)


def _pressed_at_home(reader: EventReader, payload: Payload, action: Payload) -> TypedCommand | Request | None:
    author, does = payload.user, action.text("value")
    if not _ACT.fullmatch(does):
        return None
    kind, _, about = does.partition(" ")
    if kind in {CORRECTS, SETS_UP}:
        return Request(kind, author, about)  # the modal's submission is the arrival
    stamp = clean(action.text("action_ts") or payload.text("trigger_id"))[:FIELD_LENGTH].replace("/", "")
    return at_home(reader, f"home:{author}:{stamp}:{does}", author, does)


def shortcut(reader: EventReader, payload: Payload) -> WhyAsked | Request | Sentence | None:
    """Return the use of one of our shortcuts at a message."""
    author, channel, ts = reader.author_of(payload), payload.channel, payload.message_ts
    if payload.text("callback_id") == ASK_SHORTCUT:
        return Request(ASK_SHORTCUT, author) if author else Sentence("command_refused")
    if payload.text("callback_id") != WHY_SHORTCUT or not (author and channel and ts):
        return None
    return WhyAsked(*reader.at(f"why:{channel}:{ts}:{author}:{payload.ts('action_ts')}", channel, ts), author)


def sent(reader: EventReader, payload: Payload) -> Arrival | None:
    """Return the submission of one of our modals."""
    dialog = DIALOGS.get(payload.part("view").text("callback_id"))
    return dialog.read(reader, payload) if dialog else None


def command(reader: EventReader, payload: Payload) -> TypedCommand | Sentence:
    """Return a slash command. The user's DM is not looked up yet."""
    author, asked_in, team = payload.user, payload.channel, reader.identity.team
    if payload.text("team_id") != team or not (author and asked_in):
        return Sentence("command_refused")
    if not (soul := reader.soul_commanded(payload.text(COMMAND))):
        return Sentence("command_unknown")
    words = clean(payload.text("text"))[:_LONGEST_COMMAND].strip()
    # Each use of a command has its own trigger: a payload that comes twice has the same id.
    used = "\n".join(payload.text(name) for name in ("trigger_id", "response_url", "user_id", "channel_id"))
    event_id = f"command:{hashlib.sha256(storable(used).encode()).hexdigest()[:24]}"
    return TypedCommand(event_id, soul, team, "", Audience(AudienceKind.DM, author), asked_in, author, words)


READERS: Final[Mapping[str, Callable[[EventReader, Payload], Found]]] = MappingProxyType(
    {
        COMMAND: command,
        "block_actions": pressed,
        "message_action": shortcut,
        "view_submission": sent,
        "app_home_opened": opened,
        "agent_session_stopped": stopped,
        "reaction_added": reaction,
        "reaction_removed": reaction,
        "member_joined_channel": joined,
        "message": message,
        "app_mention": message,
    }
)
_PRESSES: Final = ("block_actions", "message_action")
_INTERACTIONS: Final = (*_PRESSES, "view_submission")
