"""The types every Web API method uses: a call with its arguments, an error answer, and the method itself."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daemon.local_slack.model import ChannelKind, Json, WorkspaceChannel, WorkspaceMessage
from daemon.local_slack.state import is_ts
from daemon.local_slack.workspace import Tier, Workspace

_HISTORY_SCOPES = {
    ChannelKind.PUBLIC: "channels:history",
    ChannelKind.PRIVATE: "groups:history",
    ChannelKind.DM: "im:history",
    ChannelKind.GROUP_DM: "mpim:history",
}
_WITHOUT_REPLIES = frozenset({"tombstone", "channel_join"})


class SlackError(Exception):
    """An error that Slack answers by name with `ok: false`. `extra` is added to the answer."""

    def __init__(self, code: str, **extra: object) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra


@dataclass(frozen=True, slots=True)
class Call:
    """One Web API call: its arguments from query, form or JSON, and the workspace it acts on."""

    method: str
    args: Json
    workspace: Workspace

    def has(self, name: str) -> bool:
        """Return True if the argument is there, even if empty."""
        return self.args.get(name) is not None

    def text(self, name: str) -> str:
        """Return an argument as text, or '' if missing."""
        value = self.args.get(name)
        return "" if value is None else str(value)

    def needed(self, name: str) -> str:
        """Return a required argument. Raises `invalid_arguments`."""
        value = self.text(name)
        if not value:
            messages = [f"[ERROR] missing required field: {name}"]
            raise SlackError("invalid_arguments", response_metadata={"messages": messages})
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean argument: `true`, `1` or `yes` in any letter case."""
        return self.text(name).lower() in ("true", "1", "yes")

    def number(self, name: str, default: int, most: int) -> int:
        """Return a count of at least 1, and at most `most`. Raises `invalid_limit`."""
        value = self.text(name)
        if not value:
            return default
        if not value.isdigit() or int(value) < 1:
            raise SlackError("invalid_limit")
        return min(int(value), most)

    def value(self, name: str, error: str) -> Any:  # noqa: ANN401  # JSON edge: forms carry structures as JSON text
        """Return a structured argument, decoded if it is JSON text. Raises `error` for malformed JSON."""
        value = self.args.get(name)
        if not isinstance(value, str) or not value:
            return value or None
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as fault:
            raise SlackError(error) from fault

    def objects(self, name: str, error: str) -> tuple[Json, ...] | None:
        """Return a list of objects, or None if missing. Raises `error` for another type."""
        if not self.has(name):
            return None
        value = self.value(name, error) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise SlackError(error)
        return tuple(value)

    def channel(self, name: str = "channel") -> WorkspaceChannel:
        """Return a channel that is public or has the app as a member. Raises `channel_not_found`."""
        workspace = self.workspace
        room = workspace.state.channel_named(self.text(name))
        if room is None or (room.kind is not ChannelKind.PUBLIC and not workspace.state.app_is_in(room)):
            raise SlackError("channel_not_found")
        return room

    def joined_channel(self, name: str = "channel") -> WorkspaceChannel:
        """Return a channel that the app is a member of. Raises `channel_not_found`, `not_in_channel`."""
        room = self.channel(name)
        if not self.workspace.state.app_is_in(room):
            raise SlackError("not_in_channel")
        return room

    def writable_channel(self, name: str = "channel") -> WorkspaceChannel:
        """Return a channel to post in. A user id means their DM. Raises also `is_archived`."""
        target = self.text(name)
        room = self.workspace.open_dm(target) if self._is_human(target) else self.joined_channel(name)
        if room.archived:
            raise SlackError("is_archived")
        return room

    def changeable_channel(self) -> WorkspaceChannel:
        """Return a channel with messages to change. Raises `channel_not_found`, `not_in_channel`, `is_archived`."""
        room = self.joined_channel()
        if room.archived or room.id in self.workspace.faults.archived:
            raise SlackError("is_archived")
        return room

    def message(self, channel: WorkspaceChannel, name: str = "ts") -> WorkspaceMessage:
        """Return a message of a channel. Raises `message_not_found`."""
        message = self.workspace.state.message(channel.id, self.text(name))
        if message is None or message.subtype == "tombstone":
            raise SlackError("message_not_found")
        return message

    def thread(self, channel: WorkspaceChannel) -> str:
        """Return the root of the thread to post in, or ''.

        Raises `invalid_thread_ts`, `thread_not_found`, `cannot_reply_to_message`, and the error of the channel's state.
        """
        thread = self._root(channel)
        if refusal := self.workspace.faults.refusal(channel.id, thread):
            raise SlackError(refusal)
        return thread

    def _root(self, channel: WorkspaceChannel) -> str:
        if not self.has("thread_ts"):
            return ""
        thread = self.text("thread_ts")
        if not is_ts(thread):
            raise SlackError("invalid_thread_ts")
        message = self.workspace.state.message(channel.id, thread)
        if message is None:
            raise SlackError("thread_not_found")
        if message.subtype in _WITHOUT_REPLIES:
            raise SlackError("cannot_reply_to_message")
        return message.thread_ts or message.ts

    def require(self, *scopes: str) -> None:
        """Check that the app holds one of these scopes. Raises `missing_scope`."""
        if scopes and not self.workspace.scopes.intersection(scopes):
            provided = ",".join(sorted(self.workspace.scopes))
            raise SlackError("missing_scope", needed=scopes[0], provided=provided)

    def require_history(self, channel: WorkspaceChannel) -> None:
        """Check the scope for reading this kind of channel. Raises `missing_scope`."""
        self.require(_HISTORY_SCOPES[channel.kind])

    def require_read(self, channel: WorkspaceChannel) -> None:
        """Check the scope for seeing this kind of channel. Raises `missing_scope`."""
        self.require(_HISTORY_SCOPES[channel.kind].replace("history", "read"))

    def _is_human(self, target: str) -> bool:
        person = self.workspace.state.people.get(target)
        return person is not None and not person.is_bot


@dataclass(frozen=True, slots=True)
class WebApiMethod:
    """A Web API method: its function, scopes (one suffices), rate tier, and if it takes the app token."""

    run: Callable[[Call], Json]
    scopes: tuple[str, ...] = ()
    tier: Tier = Tier.THREE
    app_token: bool = False
