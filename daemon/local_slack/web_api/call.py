"""The call of a Web API method: its arguments, errors, scopes and rate tier, and Slack's size limits of a message."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from daemon.core.value import Value
from daemon.local_slack.faults import Tier
from daemon.local_slack.model import ChannelKind, Json, WorkspaceChannel, WorkspaceMessage
from daemon.local_slack.state import WorkspaceState, is_ts
from daemon.local_slack.workspace import Workspace

_HISTORY_SCOPES = {
    ChannelKind.PUBLIC: "channels:history",
    ChannelKind.PRIVATE: "groups:history",
    ChannelKind.DM: "im:history",
    ChannelKind.GROUP_DM: "mpim:history",
}
_WITHOUT_REPLIES = frozenset({"tombstone", "channel_join"})
TEXT: Final = 40_000
UPDATE_TEXT: Final = 4_000  # bytes after escaping
STREAM: Final = 10_600  # bytes of a stream's text and titles, and twice those of its details
MARKDOWN: Final = 12_000
ALL_BLOCKS: Final = 13_200
BLOCKS: Final = 50
VIEW_BLOCKS: Final = 100
SECTION: Final = 3_000
HEADER: Final = 150
IDENTIFIER: Final = 255
BUTTON: Final = 75
VALUE: Final = 2_000
NAME: Final = 80
METADATA: Final = 16_000
_AMPERSAND: Final = re.compile(r"&(?!(?:amp|lt|gt);)")
_ELEMENTS: Final = {"actions": 25, "context": 10, "context_actions": 5}


class SlackError(Exception):
    """An error that Slack answers by name with `ok: false`. `extra` is added to the answer."""

    def __init__(self, code: str, **extra: object) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra


class Call(Value):
    """One Web API call: its arguments from query, form or JSON, and the workspace it acts on."""

    method: str
    args: Json
    workspace: Workspace

    @property
    def state(self) -> WorkspaceState:
        return self.workspace.state

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

    def blocks(self) -> tuple[Json, ...] | None:
        """Return the blocks, or None if missing. Raises as `check_blocks` does."""
        blocks = self.objects("blocks", "invalid_blocks")
        check_blocks(blocks or ())
        return blocks

    def metadata(self) -> Json | None:
        """Return the metadata of a message, or None. Raises `invalid_metadata_format`, `metadata_too_large`."""
        metadata = self.value("metadata", "invalid_metadata_format")
        if metadata is None:
            return None
        if not isinstance(metadata, dict) or not isinstance(metadata.get("event_type"), str):
            raise SlackError("invalid_metadata_format")
        if not isinstance(metadata.get("event_payload"), dict):
            raise SlackError("invalid_metadata_format")
        if len(json.dumps(metadata)) > METADATA:
            raise SlackError("metadata_too_large")
        return metadata

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
        if not self.state.app_is_in(room):
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
        message = self.state.message(channel.id, self.text(name))
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
        message = self.state.message(channel.id, thread)
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
        person = self.state.people.get(target)
        return person is not None and not person.is_bot


class WebApiMethod(Value):
    """A Web API method: its function, scopes (one suffices), rate tier, and if it takes the app token."""

    name: str
    run: Callable[[Call], Json]
    scopes: tuple[str, ...]
    tier: Tier
    app_token: bool


def method(
    name: str, *scopes: str, tier: Tier = Tier.THREE, app_token: bool = False
) -> Callable[[Callable[[Call], Json]], WebApiMethod]:
    """Make a function the Web API method of this name."""
    return lambda run: WebApiMethod(name, run, scopes, tier, app_token)


def check_markdown(text: str) -> None:
    """Raise `msg_too_long` beyond 12,000 characters."""
    if len(text) > MARKDOWN:
        raise SlackError("msg_too_long")


def check_update(text: str) -> None:
    """Raise `msg_too_long` beyond 4,000 bytes after escaping."""
    if bytes_of(text) > UPDATE_TEXT:
        raise SlackError("msg_too_long")


def check_stream(text: str, chunks: tuple[Json, ...]) -> None:
    """Raise `msg_too_long` for a stream that shows more than its budget."""
    once = sum(bytes_of(str(chunk.get("title", ""))) for chunk in chunks)
    twice = sum(bytes_of(str(chunk.get(name, ""))) for chunk in chunks for name in ("details", "output"))
    if len(text.encode()) + once + 2 * twice > STREAM:
        raise SlackError("msg_too_long")


def bytes_of(text: str) -> int:
    """Return the bytes of a text after Slack's escaping of what isn't escaped yet."""
    return (
        len(text.encode("utf-8", "replace"))
        + 4 * len(_AMPERSAND.findall(text))
        + 3 * (text.count("<") + text.count(">"))
    )


def check_blocks(blocks: tuple[Json, ...], most: int = BLOCKS) -> None:
    """Raise `invalid_blocks` for a malformed list, `msg_blocks_too_long` for too much text in all."""
    if len(blocks) > most:
        raise _invalid(f"no more than {most} items allowed [json-pointer:/blocks]")
    for place, block in enumerate(blocks):
        _check_block(block, f"/blocks/{place}")
    markdown = sum(len(str(block.get("text", ""))) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN or sum(_length(block) for block in blocks) > ALL_BLOCKS:
        raise SlackError("msg_blocks_too_long")


def _check_block(block: Json, pointer: str) -> None:
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        raise _invalid(f"missing required field: type [json-pointer:{pointer}]")
    if len(str(block.get("block_id", ""))) > IDENTIFIER:
        raise _invalid(f"must be less than 256 characters [json-pointer:{pointer}/block_id]")
    text = block.get("text")
    words = str(text.get("text", "")) if isinstance(text, dict) else ""
    most = {"section": SECTION, "header": HEADER}.get(kind)
    if most is not None and len(words) > most:
        raise _invalid(f"must be less than {most + 1} characters [json-pointer:{pointer}/text/text]")
    elements = block.get("elements")
    if kind in _ELEMENTS and (not isinstance(elements, list) or not 0 < len(elements) <= _ELEMENTS[kind]):
        raise _invalid(f"1 to {_ELEMENTS[kind]} items needed [json-pointer:{pointer}/elements]")
    if kind == "actions":
        _check_elements(block["elements"], f"{pointer}/elements")
    if kind == "markdown" and not isinstance(text, str):
        raise _invalid(f"must be a string [json-pointer:{pointer}/text]")
    if kind == "section" and not words and not block.get("fields"):
        raise _invalid(f"missing required field: text or fields [json-pointer:{pointer}]")


def _check_elements(elements: list[Json], pointer: str) -> None:
    ids = [element.get("action_id") for element in elements if element.get("action_id")]
    if len(set(ids)) < len(ids):
        raise _invalid(f"action_id already exists for another element [json-pointer:{pointer}]")
    for element in elements:
        words = str((element.get("text") or {}).get("text", ""))
        if element.get("type") == "button" and not 0 < len(words) <= BUTTON:
            raise _invalid(f"1 to {BUTTON} characters needed [json-pointer:{pointer}/text]")
        if len(str(element.get("accessibility_label", ""))) > BUTTON or len(str(element.get("value", ""))) > VALUE:
            raise _invalid(f"must be shorter [json-pointer:{pointer}]")
        if element.get("style") not in (None, "primary", "danger"):
            raise _invalid(f"unknown style [json-pointer:{pointer}/style]")


def _length(value: object) -> int:
    if isinstance(value, dict):
        return sum(len(v) if k == "text" and isinstance(v, str) else _length(v) for k, v in value.items())
    return sum(_length(item) for item in value) if isinstance(value, list) else 0


def _invalid(reason: str) -> SlackError:
    return SlackError("invalid_blocks", errors=[reason], response_metadata={"messages": [f"[ERROR] {reason}"]})
