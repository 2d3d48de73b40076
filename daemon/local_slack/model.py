"""The values a workspace is made of: its team, people, channels, messages and files."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object at the edge, where Slack's shapes are loose."""


class Standing(StrEnum):
    """What somebody is in this workspace."""

    MEMBER = "member"
    GUEST = "guest"
    ULTRA_GUEST = "ultra_guest"
    DEACTIVATED = "deactivated"
    BOT = "bot"
    STRANGER = "stranger"


class ChannelKind(StrEnum):
    """The kind of a channel; values are Slack's `channel_type`."""

    PUBLIC = "channel"
    PRIVATE = "group"
    DM = "im"
    GROUP_DM = "mpim"


class Streaming(StrEnum):
    """How far a message written by chat.startStream has come."""

    OPEN = "in_progress"
    DONE = "completed"
    EXPIRED = "errored"


@dataclass(frozen=True, slots=True)
class Team:
    """The workspace as Slack names it."""

    id: str
    name: str
    domain: str


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an id; `team` is their home, `bot_id` and `app_id` are set for bots."""

    id: str
    name: str
    display_name: str
    real_name: str
    standing: Standing
    team: str
    bot_id: str = ""
    app_id: str = ""
    tz: str = "Europe/Athens"

    @property
    def is_bot(self) -> bool:
        """Whether it is an app's user."""
        return self.standing is Standing.BOT

    @property
    def is_guest(self) -> bool:
        """Whether it sees only the channels it was invited to."""
        return self.standing in (Standing.GUEST, Standing.ULTRA_GUEST, Standing.STRANGER)


@dataclass(frozen=True, slots=True)
class Channel:
    """A room; `members` in order of joining, `shared` means Slack Connect, `created` in seconds since the epoch."""

    id: str
    name: str
    kind: ChannelKind
    members: tuple[str, ...]
    created: int
    shared: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Reaction:
    """One emoji under a message and who chose it, in order."""

    name: str
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """An uploaded file; `shared` once it stands in a message."""

    id: str
    name: str
    title: str
    mimetype: str
    content: bytes
    owner: str
    created: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Face:
    """Another name and icon for one message of the app's; the icon is `:emoji:` or the address of a picture."""

    name: str = ""
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message; times are Slack's `ts` strings, `touched` is when its stream last grew (workspace seconds).

    `in_chunks` tells in which of the two forms its stream was begun, None while that is open; `chunks` holds the plan's
    title and each task as it is now.
    """

    channel: str
    author: str
    text: str
    ts: str = ""
    thread_ts: str = ""
    broadcast: bool = False
    subtype: str = ""
    client_msg_id: str = ""
    blocks: tuple[Json, ...] = ()
    attachments: tuple[Json, ...] = ()
    chunks: tuple[Json, ...] = ()
    metadata: Json | None = None
    edited_by: str = ""
    edited_ts: str = ""
    reactions: tuple[Reaction, ...] = ()
    files: tuple[str, ...] = ()
    streaming: Streaming | None = None
    touched: float = 0.0
    in_chunks: bool | None = None
    face: Face | None = None

    @property
    def in_timeline(self) -> bool:
        """Whether channel history shows it: roots, lone messages and broadcast replies."""
        return not self.thread_ts or self.thread_ts == self.ts or self.broadcast

    @property
    def is_reply(self) -> bool:
        """Whether it stands under another message."""
        return bool(self.thread_ts) and self.thread_ts != self.ts


@dataclass(frozen=True, slots=True)
class Status:
    """The line under a thread that says what the app is doing; it vanishes at `until` (workspace seconds)."""

    text: str
    loading_messages: tuple[str, ...]
    until: float


@dataclass(frozen=True, slots=True)
class Session:
    """An agent session: a thread with a title and a state (Slack: agent sessions)."""

    channel: str
    thread_ts: str
    status: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Suggested prompts that stand in an empty DM."""

    title: str
    prompts: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """How the app itself is known: its user, bot and app ids and its two tokens."""

    user: str = "U0SOUL"
    bot_id: str = "B0SOUL"
    app_id: str = "A0SOUL"
    bot_token: str = field(default="", repr=False)
    app_token: str = field(default="", repr=False)
