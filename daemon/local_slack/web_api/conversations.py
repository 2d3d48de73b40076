"""conversations.* and users.conversations: read channels and threads, and list, open and join channels."""

import base64
import binascii
from bisect import bisect_left, bisect_right
from types import MappingProxyType
from typing import Any, Final

from daemon.local_slack.faults import Tier
from daemon.local_slack.model import ChannelKind, Json, WorkspaceChannel, WorkspaceMessage
from daemon.local_slack.slack_json import channel_json, message_json
from daemon.local_slack.state import Span, bound
from daemon.local_slack.web_api.call import Call, SlackError, method

_PAGE: Final = 100
_MOST: Final = 999
_TYPES: Final = MappingProxyType(
    {
        "public_channel": ChannelKind.PUBLIC,
        "private_channel": ChannelKind.PRIVATE,
        "im": ChannelKind.DM,
        "mpim": ChannelKind.GROUP_DM,
    }
)


_READ: Final = (
    "channels:read",
    "groups:read",
    "im:read",
    "mpim:read",
    "channels:history",
    "groups:history",
    "im:history",
)
_OPEN: Final = ("im:write", "mpim:write")


@method("conversations.history")
def history(call: Call) -> Json:
    """Return messages, newest first. Replies appear only if also sent to the channel."""
    channel = call.joined_channel()
    call.require_history(channel)
    order = call.state.timeline(channel.id).history(_span(call))
    limit = call.number("limit", _PAGE, _MOST)
    cursor = _from_cursor(call)
    end = bisect_right(order, cursor) if cursor else len(order)
    start = max(0, end - limit)
    page = _messages(call, channel, order[start:end][::-1])
    return _page(page, order[start - 1] if start else "") | {"pin_count": 0}


@method("conversations.replies")
def replies(call: Call) -> Json:
    """Return the root first, then its replies, oldest first."""
    channel = call.joined_channel()
    call.require_history(channel)
    timeline = call.state.timeline(channel.id)
    ts = call.needed("ts")
    root = timeline.get(ts)
    if root is None:
        raise SlackError("thread_not_found")
    order = [] if root.is_reply else _span(call).cut(timeline.replies(ts))
    limit = call.number("limit", _MOST, _MOST)
    cursor = _from_cursor(call)
    start = bisect_left(order, cursor) if cursor else 0
    room = limit if cursor else max(1, limit - 1)
    chosen = order[start : start + room]
    page = _messages(call, channel, chosen if cursor else [ts, *chosen])
    more = start + room < len(order)
    return _page(page, order[start + room] if more else "")


@method("conversations.info", *_READ)
def info(call: Call) -> Json:
    channel = call.channel()
    call.require_read(channel)
    return {"channel": channel_json(call.state, channel, call.state.app.user, count=call.flag("include_num_members"))}


@method("conversations.open", *_OPEN)
def open_conversation(call: Call) -> Json:
    """Open the DM with one person, or a group DM with several."""
    if call.text("channel"):
        return {"channel": channel_json(call.state, call.joined_channel(), call.state.app.user)}
    users = [user for user in call.needed("users").split(",") if user]
    if any(user not in call.state.people or user == call.state.app.user for user in users):
        raise SlackError("user_not_found")
    room = call.workspace.open_dm(users[0]) if len(users) == 1 else _group_dm(call, users)
    return {
        "channel": channel_json(call.state, room, call.state.app.user) if call.flag("return_im") else {"id": room.id}
    }


@method("conversations.list", *_READ, tier=Tier.TWO)
def list_conversations(call: Call) -> Json:
    return _channels_page(call, _visible(call))


@method("users.conversations", *_READ)
def of_user(call: Call) -> Json:
    """Return a user's channels (by default the app's) that are public or have the app."""
    user = call.text("user") or call.state.app.user
    if user not in call.state.people:
        raise SlackError("user_not_found")
    return _channels_page(call, [room for room in _visible(call) if user in room.members])


@method("conversations.members", *_READ, tier=Tier.FOUR)
def members(call: Call) -> Json:
    channel = call.channel()
    call.require_read(channel)
    return list_page(call, list(channel.members), "members")


@method("conversations.join", "channels:join")
def join(call: Call) -> Json:
    channel = call.channel()
    if channel.kind is not ChannelKind.PUBLIC:
        raise SlackError("method_not_supported_for_channel_type")
    room = call.workspace.join(channel, call.state.app.user)
    return {"channel": channel_json(call.state, room, call.state.app.user)}


def _messages(call: Call, channel: WorkspaceChannel, order: list[str]) -> list[Json]:
    metadata = call.flag("include_all_metadata")
    found: list[WorkspaceMessage] = [m for ts in order if (m := call.state.message(channel.id, ts))]
    current = (call.workspace.current(message) for message in found)
    return [message_json(call.state, message, metadata=metadata) for message in current]


def _span(call: Call) -> Span:
    try:
        oldest, latest = (bound(call.text(n)) if call.text(n) else "" for n in ("oldest", "latest"))
    except ValueError as fault:
        raise SlackError("invalid_ts_oldest" if call.text("oldest") else "invalid_ts_latest") from fault
    return Span(oldest, latest, call.flag("inclusive"))


def _page(messages: list[Json], next_ts: str) -> Json:
    page: Json = {"messages": messages, "has_more": bool(next_ts)}
    return page | ({"response_metadata": {"next_cursor": _cursor(next_ts)}} if next_ts else {})


def _cursor(mark: str) -> str:
    return base64.b64encode(f"next:{mark}".encode()).decode()


def _from_cursor(call: Call) -> str:
    """Return the start of the next page: a ts, or an index into a list. Raises `invalid_cursor`."""
    try:
        name, _, mark = base64.b64decode(call.text("cursor"), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as fault:
        raise SlackError("invalid_cursor") from fault
    if call.text("cursor") and (name != "next" or not mark):
        raise SlackError("invalid_cursor")
    return mark


def list_page(call: Call, items: list[Any], name: str) -> Json:
    """Return one page of a list that is paged by index. Raises `invalid_cursor`, `invalid_limit`."""
    limit = call.number("limit", _PAGE, _MOST)
    mark = _from_cursor(call) or "0"
    if not mark.isdigit():
        raise SlackError("invalid_cursor")
    start, end = int(mark), int(mark) + limit
    following = _cursor(str(end)) if end < len(items) else ""
    return {name: items[start:end], "response_metadata": {"next_cursor": following}}


def _channels_page(call: Call, rooms: list[WorkspaceChannel]) -> Json:
    return list_page(call, [channel_json(call.state, room, call.state.app.user) for room in rooms], "channels")


def _visible(call: Call) -> list[WorkspaceChannel]:
    names = (call.text("types") or "public_channel").split(",")
    if any(name.strip() not in _TYPES for name in names):
        raise SlackError("invalid_types")
    kinds = {_TYPES[name.strip()] for name in names}
    skip = call.flag("exclude_archived")
    known = [r for r in call.state.channels.values() if r.kind is ChannelKind.PUBLIC or call.state.app_is_in(r)]
    return [room for room in known if room.kind in kinds and not (skip and room.archived)]


def _group_dm(call: Call, users: list[str]) -> WorkspaceChannel:
    wanted = {*users, call.state.app.user}
    for room in call.state.channels.values():
        if room.kind is ChannelKind.GROUP_DM and set(room.members) == wanted:
            return room
    names = "--".join(call.state.people[user].name for user in users)
    room = WorkspaceChannel(
        call.state.new_id("G"),
        f"mpdm-{names}-1",
        ChannelKind.GROUP_DM,
        (*users, call.state.app.user),
        int(call.workspace.clock.now()),
    )
    call.workspace.add_channel(room)
    return room
