"""The reader of Slack's events into arrivals for the intake, without I/O. It never raises for malformed payloads."""

import json
from collections.abc import Callable, Collection, Mapping, MutableMapping
from typing import Final

from msgspec import field

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
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports.arrivals import Deletion, Edit, NewMessage, Source
from daemon.core.ports.services import SHARED, SharedFile
from daemon.core.soul_names import commands_of
from daemon.core.text import visible_line
from daemon.core.value import Value

BARE_MENTION: Final = "[mentioned you without further words]"

_ACTION: Final = "me_message"  # the subtype of a `/me` message
_SUBTYPES: Final = frozenset({"", "file_share", "thread_broadcast", _ACTION})
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
FIELD_LENGTH: Final = 64
_FILES: Final = 10
CANVAS: Final = "application/vnd.slack-docs"
LIST: Final = "application/vnd.slack-list"
_PAGES: Final[Mapping[str, str]] = {"quip": CANVAS, "canvas": CANVAS, "list": LIST}  # by Slack's `filetype`
_LONGEST_NAME: Final = 120
_LONGEST_URL: Final = 2_000


class EventReader(Value):
    """The reader of messages for all souls of one workspace, and what other readers need to know of it.

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

    def at(self, event_id: str, channel: str, ts: str) -> tuple[str, str, str, str, str]:
        """Return the first fields of a `MessageArrival`."""
        return event_id, self.soul_in(channel), self.identity.team, channel, ts

    def event(self, payload: object, source: Source = Source.LIVE) -> NewMessage | Edit | Deletion | None:
        """Read an Events API payload: a new message, an edit or a deletion, or None if it isn't for the soul."""
        body = Payload.of(payload)
        event = body.event
        channel = event.id("channel")
        if event.text("type") not in {"message", "app_mention"} or not channel:
            return None
        if place := place_in(event):
            self.places[channel] = place
        if body.data.get("is_ext_shared_channel"):
            self.shared.add(channel)
        match event.text("subtype"):
            case "message_changed":
                return self._edit(body, event)
            case "message_deleted":
                return self._deletion(body, event.ts("deleted_ts"), event.part("previous_message"))
        return self._message(body, event, source)

    def author_of(self, payload: Payload) -> str:
        """Return the user of an interaction or an event, or an empty string if the user's acts don't count.

        A user counts who belongs to our workspace, or to our organisation if `colleagues` is set.
        """
        ours = self.colleagues or not self.is_from_elsewhere(payload)
        return payload.user if ours and not self.is_unlisted(payload.user) else ""

    def is_from_elsewhere(self, payload: Payload) -> bool:
        """Return True if the user belongs to another workspace. Only Slack knows whether the user is a colleague."""
        return payload.team not in {"", self.identity.team}

    def is_unlisted(self, user: str) -> bool:
        return bool(self.members) and user not in self.members

    def audience_in(self, place: Place, channel: str) -> Audience:
        """Return the audience of a channel of this kind: all users who may ever read its messages."""
        match place:
            case Place.DM:
                return Audience(AudienceKind.DM, channel)
            case Place.PUBLIC_CHANNEL if channel not in self.shared:
                return Audience(AudienceKind.WORKSPACE, self.identity.team)
            case _:
                return Audience(AudienceKind.CHANNEL, channel)

    def is_own(self, message: object) -> bool:
        said = Payload.of(message)
        return self.identity.user == said.text("user") or self.identity.bot == said.text("bot_id")

    def text_of(self, message: object) -> str:
        """Return the message's text and, as quoted lines, its attachments. May be empty."""
        said = Payload.of(message)
        text = readable(said.text("text"), self.identity.user)
        if text and said.text("subtype") == _ACTION:
            text = f"/{_ACTION.partition('_')[0]} {text}"  # as typed
        return "\n".join(part for part in (text, self._carried(said)) if part)

    def _carried(self, message: Payload) -> str:
        return quoted(message, self.identity.user, alert=bool(message.text("bot_id")))

    def _author(self, event: Payload) -> str:
        user, bot = event.text("user"), event.text("bot_id")
        if self.is_own(event) or ((bot or event.text("subtype") == "bot_message") and not self.bots & {user, bot}):
            return ""
        return event.id("user") if user else event.id("bot_id")

    def _message(self, body: Payload, event: Payload, source: Source) -> NewMessage | None:
        author, ts, channel = self._author(event), event.ts("ts"), event.text("channel")
        subtypes = _SUBTYPES | {"bot_message"} if self.bots else _SUBTYPES
        if not author or not ts or event.text("subtype") not in subtypes or event.data.get("hidden"):
            return None
        thread = event.ts("thread_ts")
        root = thread if thread != ts else ""
        raw, place = event.text("text"), self._place(event)
        mentioned = event.text("type") == "app_mention" or self._mentions_us(raw)
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
            incomplete=event.text("type") == "app_mention",
            files=files_in(event),
        )

    def _edit(self, body: Payload, event: Payload) -> Edit | Deletion | None:
        now, before = event.part("message"), event.part("previous_message")
        ts, subtype = now.ts("ts"), now.text("subtype")
        if subtype == "tombstone":
            return self._deletion(body, ts, before)
        if not ts or not self._author(now) or subtype not in _SUBTYPES | {"bot_message"}:
            return None
        same = now.text("text") == before.text("text") and files_in(now) == files_in(before)
        same = same and self._carried(now) == self._carried(before)
        unchanged = same if before else not now.data.get("edited")
        if unchanged:
            return None  # Slack also sends this event for link previews and reply counts
        asks = self._asks_by_edit(body, event, now, before)
        at = self.at(_event_id(body, event), event.text("channel"), ts)
        return Edit(*at, self._words(now), asks, files_in(now))

    def _asks_by_edit(self, body: Payload, event: Payload, now: Payload, before: Payload) -> NewMessage | None:
        """Return the edited message as a new message to the soul, if only the edit mentions it."""
        if not self._mentions_us(now.text("text")) or self._mentions_us(before.text("text")):
            return None
        where = {name: event.text(name) for name in ("channel", "channel_type")}
        return self._message(body, Payload({**now.data, **where}), Source.LIVE)

    def _mentions_us(self, raw: str) -> bool:
        return self.identity.user in people_in(raw) or not set(self.own_groups).isdisjoint(groups_in(raw))

    def _deletion(self, body: Payload, ts: str, before: Payload) -> Deletion | None:
        if not ts or self.is_own(before):
            return None
        return Deletion(*self.at(_event_id(body, body.event), body.event.text("channel"), ts))

    def _place(self, event: Payload) -> Place:
        channel = event.text("channel")
        known = place_in(event) or self.places.get(channel)
        return known or (Place.DM if channel.startswith("D") else Place.PRIVATE_CHANNEL)

    def _words(self, message: Payload) -> str:
        return self.shown_by(message) or BARE_MENTION

    def shown_by(self, message: object) -> str:
        """Return the message's text and the names of its files. May be empty."""
        lines = [self.text_of(message), *(f"{SHARED}{one.name}]" for one in files_in(message))]
        return "\n".join(line for line in lines if line)


def files_in(message: object) -> tuple[SharedFile, ...]:
    """Return the files of a message, without those that were deleted or that Slack hides."""
    found: list[SharedFile] = []
    said = Payload.of(message)
    for shared in map(Payload.of, [*said.listed("files"), *forwarded_files(said)][:_FILES]):
        if shared.text("mode") in GONE_FILES:
            continue
        url = shared.text("url_private_download", "url_private")
        name = visible_line(clean(shared.text("name", "title")))[:_LONGEST_NAME]
        found.append(
            SharedFile(
                shared.id("id") or f"file {len(found)}",
                name.replace("`", "'") or "unnamed",
                visible_line(_PAGES.get(shared.text("filetype"), shared.text("mimetype")))[:FIELD_LENGTH],
                shared.number("size"),
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


def place_in(event: Payload) -> Place | None:
    """Return the kind of a channel as an event names it, or None."""
    return _PLACES.get(event.text("channel_type"))


def channel_type(place: Place) -> str:
    return next(word for word, kind in _PLACES.items() if kind is place)


def _envelope(body: Payload, event: Payload) -> str:
    """Return the event's ids and types as JSON, without the message's text, which is stored in one place only."""
    fields = {name: clean(event.text(name))[:FIELD_LENGTH] for name in _ENVELOPE_FIELDS if event.text(name)}
    shared = {"is_ext_shared_channel": True} if body.data.get("is_ext_shared_channel") else {}
    return json.dumps({**fields, **shared})


def _event_id(body: Payload, event: Payload) -> str:
    stamp = clean(event.text("event_ts", "ts", "deleted_ts"))[:FIELD_LENGTH]
    return body.id("event_id") or ":".join((event.text("type"), event.text("channel"), stamp))
