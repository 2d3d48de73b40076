"""What every Web API method works with: the call and its arguments, the refusal, and the endpoint."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daemon.local_slack.limits import Tier
from daemon.local_slack.model import Channel, ChannelKind, Json, Message
from daemon.local_slack.timeline import is_ts
from daemon.local_slack.workspace import Workspace

_HISTORY_SCOPES = {
    ChannelKind.PUBLIC: "channels:history",
    ChannelKind.PRIVATE: "groups:history",
    ChannelKind.DM: "im:history",
    ChannelKind.GROUP_DM: "mpim:history",
}


class SlackError(Exception):
    """A refusal by name, as Slack answers it with `ok: false`; `extra` joins the answer."""

    def __init__(self, code: str, **extra: object) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra


@dataclass(frozen=True, slots=True)
class Call:
    """One Web API call: its arguments however they came, and the workspace it is made on."""

    method: str
    args: Json
    workspace: Workspace

    def has(self, name: str) -> bool:
        """Whether an argument was given at all, an empty one included."""
        return self.args.get(name) is not None

    def text(self, name: str) -> str:
        """An argument as text, empty when it was not given."""
        value = self.args.get(name)
        return "" if value is None else str(value)

    def needed(self, name: str) -> str:
        """A required argument. Raises `invalid_arguments`."""
        value = self.text(name)
        if not value:
            messages = [f"[ERROR] missing required field: {name}"]
            raise SlackError("invalid_arguments", response_metadata={"messages": messages})
        return value

    def flag(self, name: str) -> bool:
        """A boolean argument in any of the ways it is written."""
        return self.text(name).lower() in ("true", "1", "yes")

    def number(self, name: str, default: int, most: int) -> int:
        """A count between 1 and `most`. Raises `invalid_limit`."""
        value = self.text(name)
        if not value:
            return default
        if not value.isdigit() or int(value) < 1:
            raise SlackError("invalid_limit")
        return min(int(value), most)

    def value(self, name: str, error: str) -> Any:  # noqa: ANN401  # JSON edge: forms carry structures as JSON text
        """A structured argument, decoded when it came as text. Raises `error` when it can't be."""
        value = self.args.get(name)
        if not isinstance(value, str) or not value:
            return value or None
        try:
            return json.loads(value)
        except ValueError as fault:
            raise SlackError(error) from fault

    def objects(self, name: str, error: str) -> tuple[Json, ...] | None:
        """A list of objects, None when it was not given. Raises `error` for anything else."""
        if not self.has(name):
            return None
        value = self.value(name, error) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise SlackError(error)
        return tuple(value)

    def channel(self, name: str = "channel") -> Channel:
        """A channel that the app can know of. Raises `channel_not_found`."""
        workspace = self.workspace
        room = workspace.state.channel_named(self.text(name))
        if room is None or (room.kind is not ChannelKind.PUBLIC and not workspace.state.app_is_in(room)):
            raise SlackError("channel_not_found")
        return room

    def joined_channel(self, name: str = "channel") -> Channel:
        """A channel that the app is a member of. Raises `channel_not_found`, `not_in_channel`."""
        room = self.channel(name)
        if not self.workspace.state.app_is_in(room):
            raise SlackError("not_in_channel")
        return room

    def writable_channel(self, name: str = "channel") -> Channel:
        """A channel to post in; a person's id means their DM. Raises `is_archived` besides."""
        target = self.text(name)
        room = self.workspace.open_dm(target) if self._is_somebody(target) else self.joined_channel(name)
        if room.archived:
            raise SlackError("is_archived")
        return room

    def message(self, channel: Channel, name: str = "ts") -> Message:
        """A message of a channel. Raises `message_not_found`."""
        message = self.workspace.state.message(channel.id, self.text(name))
        if message is None or message.subtype == "tombstone":
            raise SlackError("message_not_found")
        return message

    def thread(self, channel: Channel) -> str:
        """The root of the thread to post in, empty for none. Raises `invalid_thread_ts`, `thread_not_found`."""
        if not self.has("thread_ts"):
            return ""
        thread = self.text("thread_ts")
        if not is_ts(thread):
            raise SlackError("invalid_thread_ts")
        message = self.workspace.state.message(channel.id, thread)
        if message is None:
            raise SlackError("thread_not_found")
        return message.thread_ts or message.ts

    def require(self, *scopes: str) -> None:
        """Check that the app holds one of these scopes. Raises `missing_scope`."""
        if scopes and not self.workspace.scopes.intersection(scopes):
            provided = ",".join(sorted(self.workspace.scopes))
            raise SlackError("missing_scope", needed=scopes[0], provided=provided)

    def require_history(self, channel: Channel) -> None:
        """Check the scope that reads this kind of channel. Raises `missing_scope`."""
        self.require(_HISTORY_SCOPES[channel.kind])

    def _is_somebody(self, target: str) -> bool:
        person = self.workspace.state.people.get(target)
        return person is not None and not person.is_bot


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method: what it does, any one of the scopes it needs, its rate tier, and whether it takes the app token."""

    run: Callable[[Call], Json]
    scopes: tuple[str, ...] = ()
    tier: Tier = Tier.THREE
    app_token: bool = False
