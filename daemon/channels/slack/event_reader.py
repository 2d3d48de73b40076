"""The reader of Slack's events into arrivals for the intake, without I/O. It never raises for malformed payloads."""

import json
import re
from collections.abc import Callable, Collection, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Final

from daemon.channels.slack.message_text import (
    GONE_FILES,
    clean,
    for_others,
    forwarded_files,
    groups_in,
    people_in,
    quoted,
    readable,
)
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.initiative import NO, YES
from daemon.core.pairing import CHOICES
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.phrases import MOST_ANSWERS, WHY_SHORTCUT
from daemon.core.ports.arrivals import Decision, Deletion, Edit, Feedback, NewMessage, PickedAnswer, Source, WhyAsked
from daemon.core.ports.services import SHARED, SharedFile
from daemon.core.soul_names import commands_of
from daemon.core.text import visible_line

HOME_ACTION: Final = "soul_home"
"""The prefix of the ids of all buttons on the home tab."""
FEEDBACK_ACTION: Final = "soul_feedback"
APPROVAL_ACTIONS: Final[Mapping[str, str]] = {
    "approve": "soul_approval_yes",
    "refuse": "soul_approval_no",
    **{act: f"soul_{act}" for act in (*CHOICES, YES, NO)},
}
"""The answers to an approval request, and the ids of their buttons, which Slack requires to differ."""
ANSWER_ACTIONS: Final = tuple(f"soul_answer_{number}" for number in range(MOST_ANSWERS))
BARE_MENTION: Final = "[mentioned you without further words]"

_ACTION: Final = "me_message"  # the subtype of a `/me` message
_SUBTYPES: Final = frozenset({"", "file_share", "thread_broadcast", _ACTION})
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_PLACES: Final[Mapping[str, Place]] = {
    "im": Place.DM,
    "mpim": Place.GROUP_DM,
    "group": Place.PRIVATE_CHANNEL,
    "channel": Place.PUBLIC_CHANNEL,
}
_ENVELOPE_FIELDS: Final = (
    *("type", "subtype", "user", "bot_id", "channel", "channel_type"),
    *("ts", "thread_ts", "team", "user_team"),
)
_FIELD_LENGTH: Final = 64
_FILES: Final = 10
CANVAS: Final = "application/vnd.slack-docs"
LIST: Final = "application/vnd.slack-list"
_PAGES: Final[Mapping[str, str]] = {"quip": CANVAS, "canvas": CANVAS, "list": LIST}  # by Slack's `filetype`
_LONGEST_NAME: Final = 120
_LONGEST_URL: Final = 2_000
_OUR_ACTIONS: Final = frozenset({FEEDBACK_ACTION, *APPROVAL_ACTIONS.values(), *ANSWER_ACTIONS})


@dataclass(frozen=True, slots=True)
class EventReader:
    """The reader of events and button presses for all souls of one workspace.

    `soul` gets DMs, and every channel that `soul_for_channel` doesn't give to one of the `other_souls`. `places` holds
    the kinds of channels, since an app_mention names none. A channel of unknown kind counts as private, the narrower
    audience. `shared` are channels that other organisations are in. `bots` are ids of bots whose messages are read.
    `colleagues`: users of other workspaces of our organisation are read too, subject to the gate. `members` are the
    users whose button presses count, empty for all users of the workspace. `own_groups` are the user groups that hold
    the soul, `approvers` the users whom the admin trusts to decide. `shown_name` gives the name that users see of a
    soul.
    """

    soul: str
    identity: SlackIdentity
    bots: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    places: MutableMapping[str, Place] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    own_groups: Collection[str] = ()
    approvers: Collection[str] = ()
    colleagues: bool = False
    soul_for_channel: Callable[[str], str] | None = None
    other_souls: tuple[str, ...] = ()
    shown_name: Callable[[str], str] = str

    @property
    def souls(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.soul, *self.other_souls)))

    def soul_commanded(self, command: str) -> str:
        return commands_of({soul: self.shown_name(soul) for soul in self.souls}).get(command.casefold(), "")

    def soul_in(self, channel: str) -> str:
        direct = self.places.get(channel) is Place.DM or channel.startswith("D")
        return self.soul if direct or self.soul_for_channel is None else self.soul_for_channel(channel)

    def event(self, payload: object, source: Source = Source.LIVE) -> NewMessage | Edit | Deletion | None:
        """Read an Events API payload: a new message, an edit or a deletion, or None if it isn't for the soul."""
        body = _mapping(payload)
        event = _mapping(body.get("event"))
        if _text(event, "type") not in {"message", "app_mention"} or not _ID.fullmatch(_text(event, "channel")):
            return None
        if place := place_in(event):
            self.places[_text(event, "channel")] = place
        if body.get("is_ext_shared_channel"):
            self.shared.add(_text(event, "channel"))
        match _text(event, "subtype"):
            case "message_changed":
                return self._edit(body, event)
            case "message_deleted":
                return self._deletion(body, event, _text(event, "deleted_ts"), _mapping(event.get("previous_message")))
        return self._message(body, event, source)

    def action(self, payload: object) -> Feedback | Decision | PickedAnswer | None:
        """Read a block_actions payload: a press of one of our buttons by a user of our workspace, else None."""
        body = _mapping(payload)
        pressed = [_mapping(action) for action in _list(body.get("actions"))]
        action = next((action for action in pressed if _text(action, "action_id") in _OUR_ACTIONS), {})
        container, author, value = _mapping(body.get("container")), self.user_of(body), _text(action, "value")
        channel = _text(_mapping(body.get("channel")), "id") or _text(container, "channel_id")
        ts = _text(container, "message_ts") or _text(_mapping(body.get("message")), "ts")
        if not (author and _ID.fullmatch(channel) and _TS.fullmatch(ts)):
            return None
        event_id = ":".join(("action", channel, ts, author, clean(_text(action, "action_ts"))[:_FIELD_LENGTH] or value))
        where = (event_id, self.soul_in(channel), self.identity.team, channel, ts, author)
        if _text(action, "action_id") == FEEDBACK_ACTION:
            judged, _, reply = value.partition(":")  # the value of a button below the reply names the reply
            where = (*where[:4], reply, author) if _TS.fullmatch(reply) else where
            return Feedback(*where, judged) if judged in {"good", "bad"} else None
        if _text(action, "action_id") in ANSWER_ACTIONS:
            return PickedAnswer(*where, ANSWER_ACTIONS.index(_text(action, "action_id")))
        act, _, approval = value.partition(":")
        if APPROVAL_ACTIONS.get(act) != _text(action, "action_id") or not _ID.fullmatch(approval):
            return None
        return Decision(*where, approval, approves=act not in {"refuse", NO}, answer=act)

    def shortcut(self, payload: object) -> WhyAsked | None:
        """Read a message_action payload: our shortcut at a message, used by a user of our workspace, else None."""
        body = _mapping(payload)
        author, channel = self.user_of(body), _text(_mapping(body.get("channel")), "id")
        ts = _text(body, "message_ts") or _text(_mapping(body.get("message")), "ts")
        if _text(body, "callback_id") != WHY_SHORTCUT:
            return None
        if not (author and _ID.fullmatch(channel) and _TS.fullmatch(ts)):
            return None
        used = _text(body, "action_ts")
        event_id = ":".join(("why", channel, ts, author, used if _TS.fullmatch(used) else ""))
        return WhyAsked(event_id, self.soul_in(channel), self.identity.team, channel, ts, author)

    def user_of(self, interaction: Mapping[str, object]) -> str:
        """Return the user of an interaction, or an empty string if the user's presses don't count.

        A user counts who belongs to our workspace, or to our organisation if `colleagues` is set.
        """
        author = _text(_mapping(interaction.get("user")), "id")
        ours = _ID.fullmatch(author) and (self.colleagues or not self.is_from_elsewhere(interaction))
        return author if ours and not self._is_unlisted(author) else ""

    def is_from_elsewhere(self, interaction: Mapping[str, object]) -> bool:
        """Return True if the user belongs to another workspace. Only Slack knows whether the user is a colleague."""
        user, team = _mapping(interaction.get("user")), _mapping(interaction.get("team"))
        return (_text(user, "team_id") or _text(team, "id")) not in {"", self.identity.team}

    def is_unlisted(self, payload: object) -> bool:
        """Return True if a user outside `members` pressed one of our buttons or used our shortcut."""
        read = {"block_actions": EventReader.action, "message_action": EventReader.shortcut}
        kind = read.get(_text(_mapping(payload), "type"))
        if kind is None or kind(self, payload) is not None:
            return False
        user = _text(_mapping(_mapping(payload).get("user")), "id")
        return self._is_unlisted(user) and kind(replace(self, members=frozenset()), payload) is not None

    def _is_unlisted(self, author: str) -> bool:
        return bool(self.members) and author not in self.members

    def audience_in(self, place: Place, channel: str) -> Audience:
        """Return the audience of a channel of this kind: all users who may ever read its messages."""
        match place:
            case Place.DM:
                return Audience(AudienceKind.DM, channel)
            case Place.PUBLIC_CHANNEL if channel not in self.shared:
                return Audience(AudienceKind.WORKSPACE, self.identity.team)
            case _:
                return Audience(AudienceKind.CHANNEL, channel)

    def is_own(self, message: Mapping[str, object]) -> bool:
        return self.identity.user == _text(message, "user") or self.identity.bot == _text(message, "bot_id")

    def text_of(self, message: Mapping[str, object]) -> str:
        """Return the message's text and, as quoted lines, its attachments. May be empty."""
        text = readable(_text(message, "text"), self.identity.user)
        if text and _text(message, "subtype") == _ACTION:
            text = f"/{_ACTION.partition('_')[0]} {text}"  # as typed
        return "\n".join(part for part in (text, self._carried(message)) if part)

    def _carried(self, message: Mapping[str, object]) -> str:
        return quoted(message, self.identity.user, alert=bool(_text(message, "bot_id")))

    def _author(self, event: Mapping[str, object]) -> str:
        user, bot = _text(event, "user"), _text(event, "bot_id")
        if self.is_own(event) or ((bot or _text(event, "subtype") == "bot_message") and not self.bots & {user, bot}):
            return ""
        author = user or bot
        return author if _ID.fullmatch(author) else ""

    def _message(self, body: Mapping[str, object], event: Mapping[str, object], source: Source) -> NewMessage | None:
        author, ts, channel = self._author(event), _text(event, "ts"), _text(event, "channel")
        subtypes = _SUBTYPES | {"bot_message"} if self.bots else _SUBTYPES
        if not author or not _TS.fullmatch(ts) or _text(event, "subtype") not in subtypes or event.get("hidden"):
            return None
        thread = _text(event, "thread_ts")
        root = thread if _TS.fullmatch(thread) and thread != ts else ""
        raw, place = _text(event, "text"), self._place(event)
        mentioned = _text(event, "type") == "app_mention" or self._mentions_us(raw)
        addressed = place is Place.DM or mentioned
        if not addressed and not root:
            return None  # a channel's message without a mention and outside threads is not for the soul
        thread_of = root if place is Place.DM else root or ts
        conversation = ConversationKey(self.soul_in(channel), self.identity.team, channel, thread_of)
        return NewMessage(
            event_id=_event_id(body, event),
            perception=Perception.of_message(
                conversation=conversation,
                ts=ts,
                author=author,
                content=self._words(event),
                place=place,
                audience=self.audience_in(place, channel),
            ),
            addressed=addressed,
            to_others=for_others(raw, self.identity.user, self.own_groups),
            thread_root=root,
            source=source,
            envelope=_envelope(body, event),
            receiver=self.identity.user,
            incomplete=_text(event, "type") == "app_mention",
            files=files_in(event),
        )

    def _edit(self, body: Mapping[str, object], event: Mapping[str, object]) -> Edit | Deletion | None:
        now, before = _mapping(event.get("message")), _mapping(event.get("previous_message"))
        ts = _text(now, "ts")
        if _text(now, "subtype") == "tombstone":
            return self._deletion(body, event, ts, before)
        if not _TS.fullmatch(ts) or not self._author(now) or _text(now, "subtype") not in _SUBTYPES | {"bot_message"}:
            return None
        same = _text(now, "text") == _text(before, "text") and files_in(now) == files_in(before)
        same = same and self._carried(now) == self._carried(before)
        unchanged = same if before else not now.get("edited")
        if unchanged:
            return None  # Slack also sends this event for link previews and reply counts
        channel = _text(event, "channel")
        asks = self._asks_by_edit(body, event, now, before)
        soul = self.soul_in(channel)
        words, files = self._words(now), files_in(now)
        return Edit(_event_id(body, event), soul, self.identity.team, channel, ts, words, asks, files)

    def _asks_by_edit(
        self,
        body: Mapping[str, object],
        event: Mapping[str, object],
        now: Mapping[str, object],
        before: Mapping[str, object],
    ) -> NewMessage | None:
        """Return the edited message as a new message to the soul, if only the edit mentions it."""
        if not self._mentions_us(_text(now, "text")) or self._mentions_us(_text(before, "text")):
            return None
        message = {**now, "channel": _text(event, "channel"), "channel_type": _text(event, "channel_type")}
        return self._message(body, message, Source.LIVE)

    def _mentions_us(self, raw: str) -> bool:
        return self.identity.user in people_in(raw) or not set(self.own_groups).isdisjoint(groups_in(raw))

    def _deletion(
        self, body: Mapping[str, object], event: Mapping[str, object], ts: str, before: Mapping[str, object]
    ) -> Deletion | None:
        if not _TS.fullmatch(ts) or self.is_own(before):
            return None
        channel = _text(event, "channel")
        return Deletion(_event_id(body, event), self.soul_in(channel), self.identity.team, channel, ts)

    def _place(self, event: Mapping[str, object]) -> Place:
        channel = _text(event, "channel")
        known = place_in(event) or self.places.get(channel)
        return known or (Place.DM if channel.startswith("D") else Place.PRIVATE_CHANNEL)

    def _words(self, message: Mapping[str, object]) -> str:
        return self.shown_by(message) or BARE_MENTION

    def shown_by(self, message: Mapping[str, object]) -> str:
        """Return the message's text and the names of its files. May be empty."""
        lines = [self.text_of(message), *(f"{SHARED}{one.name}]" for one in files_in(message))]
        return "\n".join(line for line in lines if line)


def files_in(message: Mapping[str, object]) -> tuple[SharedFile, ...]:
    """Return the files of a message, without those that were deleted or that Slack hides."""
    found: list[SharedFile] = []
    shown = [*_list(message.get("files")), *forwarded_files(message)]
    for shared in map(_mapping, shown[:_FILES]):
        if _text(shared, "mode") in GONE_FILES:
            continue
        size, url = shared.get("size"), _text(shared, "url_private_download") or _text(shared, "url_private")
        name = visible_line(clean(_text(shared, "name") or _text(shared, "title")))[:_LONGEST_NAME]
        id_ = _text(shared, "id")
        found.append(
            SharedFile(
                id_ if _ID.fullmatch(id_) else f"file {len(found)}",
                name.replace("`", "'") or "unnamed",
                visible_line(_PAGES.get(_text(shared, "filetype"), _text(shared, "mimetype")))[:_FIELD_LENGTH],
                size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 0,
                url if len(url) <= _LONGEST_URL else "",
            )
        )
    return tuple(found)


def place_of(room: Mapping[str, object]) -> Place:
    """Return the kind of a channel as conversations.info or users.conversations describes it."""
    if room.get("is_im"):
        return Place.DM
    if room.get("is_mpim"):
        return Place.GROUP_DM
    return Place.PUBLIC_CHANNEL if room.get("is_channel") and not room.get("is_private") else Place.PRIVATE_CHANNEL


def place_in(event: Mapping[str, object]) -> Place | None:
    """Return the kind of a channel as an event names it, or None."""
    return _PLACES.get(_text(event, "channel_type"))


def channel_type(place: Place) -> str:
    return next(word for word, kind in _PLACES.items() if kind is place)


def _envelope(body: Mapping[str, object], event: Mapping[str, object]) -> str:
    """Return the event's ids and types as JSON, without the message's text, which is stored in one place only."""
    fields = {name: clean(_text(event, name))[:_FIELD_LENGTH] for name in _ENVELOPE_FIELDS if _text(event, name)}
    shared = {"is_ext_shared_channel": True} if body.get("is_ext_shared_channel") else {}
    return json.dumps({**fields, **shared})


def _event_id(body: Mapping[str, object], event: Mapping[str, object]) -> str:
    given = _text(body, "event_id")
    if _ID.fullmatch(given):
        return given
    return ":".join((_text(event, "type"), _text(event, "channel"), _event_ts(event)))


def _event_ts(event: Mapping[str, object]) -> str:
    return clean(_text(event, "event_ts") or _text(event, "ts") or _text(event, "deleted_ts"))[:_FIELD_LENGTH]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(mapping: Mapping[str, object], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
