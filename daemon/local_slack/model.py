"""The values of a workspace: its team, users, channels, messages and files."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from daemon.core.value import Value

Json: TypeAlias = dict[str, Any]
"""A JSON object in one of Slack's shapes, which are too loose to type."""


class Standing(StrEnum):
    """The type of a user's account in this workspace."""

    MEMBER = "member"
    GUEST = "guest"
    ULTRA_GUEST = "ultra_guest"
    DEACTIVATED = "deactivated"
    BOT = "bot"
    STRANGER = "stranger"


ZONE: Final = "Europe/Athens"
"""The default time zone of users."""


class ChannelKind(StrEnum):
    """The kind of a channel. The values are Slack's `channel_type`."""

    PUBLIC = "channel"
    PRIVATE = "group"
    DM = "im"
    GROUP_DM = "mpim"


class Streaming(StrEnum):
    """The state of a message begun by chat.startStream. The values are Slack's `streaming_state`."""

    OPEN = "in_progress"
    DONE = "completed"
    EXPIRED = "errored"


class Team(Value):
    """The workspace in Slack's terms. `enterprise` is the id of its Enterprise Grid organisation, or ''."""

    id: str
    name: str
    domain: str
    enterprise: str = ""


class WorkspaceUser(Value):
    """A user. `team` is the id of their workspace, `enterprise` that of its organisation. Bots have an app's ids."""

    id: str
    name: str
    display_name: str
    real_name: str
    standing: Standing
    team: str
    bot_id: str = ""
    app_id: str = ""
    tz: str = ZONE
    locale: str = "en-US"
    enterprise: str = ""
    admin: bool = False

    @property
    def is_bot(self) -> bool:
        return self.standing is Standing.BOT

    @property
    def is_guest(self) -> bool:
        return self.standing in (Standing.GUEST, Standing.ULTRA_GUEST, Standing.STRANGER)


class Posting(StrEnum):
    """The restriction of a channel on the app's posts. The values are Slack's error codes."""

    RESTRICTED = "restricted_action"
    READ_ONLY = "restricted_action_read_only_channel"
    THREADS_ALONE = "restricted_action_thread_only_channel"
    NO_THREADS = "restricted_action_non_threadable_channel"
    NO_STREAMS = "channel_type_not_supported"


class WorkspaceChannel(Value):
    """A channel or DM.

    `members` are in the order of joining, `created` is in seconds since the epoch. `shared`: with another organisation
    (Slack Connect). `org_shared`: with other workspaces of the same organisation.
    """

    id: str
    name: str
    kind: ChannelKind
    members: tuple[str, ...]
    created: int
    shared: bool = False
    archived: bool = False
    org_shared: bool = False


class UserGroup(Value):
    """A group of users who are mentioned together, by `@handle`."""

    id: str
    handle: str
    members: tuple[str, ...]


class Reaction(Value):
    """One emoji under a message, and the ids of the users who chose it, in order."""

    name: str
    users: tuple[str, ...]


class File(Value):
    """An uploaded file. `shared`: a message shows the file."""

    id: str
    name: str
    title: str
    mimetype: str
    content: bytes
    owner: str
    created: int
    shared: bool = False


class CustomAuthor(Value):
    """A name and icon for one message of the app, other than its own. The icon is `:emoji:` or a picture's URL."""

    name: str = ""
    icon: str = ""


class WorkspaceMessage(Value):
    """One message. Times are Slack's `ts` strings.

    `recipient` alone sees its stream grow. A stream takes either text or chunks: `in_chunks` is None until the first
    piece. `chunks` holds the plan's title and the current version of each task.
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
    recipient: str = ""
    in_chunks: bool | None = None
    custom_author: CustomAuthor | None = None
    inviter: str = ""

    @property
    def in_timeline(self) -> bool:
        return not self.thread_ts or self.thread_ts == self.ts or self.broadcast

    @property
    def is_reply(self) -> bool:
        return bool(self.thread_ts) and self.thread_ts != self.ts


class Status(Value):
    """The status line under a thread with the app's activity. It expires at `until` (workspace seconds)."""

    text: str
    loading_messages: tuple[str, ...]
    until: float


class Session(Value):
    """An agent session: a thread's title and state (Slack: agent sessions). `covered`: a status line is newer."""

    channel: str
    thread_ts: str
    status: str
    title: str = ""
    covered: bool = False


class Prompts(Value):
    """The suggested prompts in an empty DM."""

    title: str
    prompts: tuple[Json, ...]


class Modal(Value):
    """An open modal and its user."""

    person: str
    view: Json


class MessageShortcut(Value):
    """A shortcut of the app in the menu of each message (Slack: message shortcuts)."""

    callback_id: str
    name: str


class SlashCommand(Value):
    """A slash command of the app, with the texts that Slack shows next to it (Slack: slash commands)."""

    command: str
    description: str
    usage_hint: str


@dataclass(frozen=True, slots=True)
class AppIdentity:
    """The app's ids, tokens, shortcuts and commands. `note` is a line about the app on the page."""

    user: str = "U0SOUL"
    bot_id: str = "B0SOUL"
    app_id: str = "A0SOUL"
    bot_token: str = field(default="", repr=False)
    app_token: str = field(default="", repr=False)
    shortcuts: tuple[MessageShortcut, ...] = ()
    note: str = ""
    commands: tuple[SlashCommand, ...] = ()


_TOKEN = re.compile(r"<([@#!]?)([^>|]+)(?:\|([^>]*))?>")


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def mentions(text: str, user: str) -> bool:
    """Return True if stored text mentions a user id."""
    return re.search(rf"<@{re.escape(user)}(\|[^>]*)?>", text) is not None


def rich_text(text: str) -> Json:
    """Return the rich_text block that Slack makes of a user's message, from its stored text."""
    elements: list[Json] = []
    rest = 0
    for token in _TOKEN.finditer(text):
        if token.start() > rest:
            elements.append({"type": "text", "text": unescape(text[rest : token.start()])})
        elements.append(_element(token[1], token[2]))
        rest = token.end()
    if rest < len(text):
        elements.append({"type": "text", "text": unescape(text[rest:])})
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def _element(sign: str, target: str) -> Json:
    match sign:
        case "@":
            return {"type": "user", "user_id": target}
        case "#":
            return {"type": "channel", "channel_id": target}
        case "!":
            return {"type": "broadcast", "range": target}
        case _:
            return {"type": "link", "url": unescape(target)}
