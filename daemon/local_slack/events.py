"""Slack's events as JSON, and the payload that carries one to the app (Slack: Events API)."""

import secrets

from daemon.local_slack.model import Json, WorkspaceChannel, WorkspaceMessage
from daemon.local_slack.slack_json import message_json
from daemon.local_slack.state import WorkspaceState

_NOT_IN_NEW = ("reactions", "streaming_state", "chunks")
_IN_MENTIONS = (
    *("user", "text", "ts", "team", "thread_ts", "parent_user_id", "blocks", "client_msg_id", "edited"),
    *("bot_id", "app_id", "bot_profile", "channel", "event_ts"),
)


def message_event(state: WorkspaceState, message: WorkspaceMessage, url: str) -> Json:
    """`message`, raised for a new message."""
    shape = message_json(state, message, url, metadata=True)
    event = {name: value for name, value in shape.items() if name not in _NOT_IN_NEW}
    if message.broadcast and (root := state.message(message.channel, message.thread_ts)):
        event["root"] = message_json(state, root, url)
    return event | _where(state, message.channel, message.ts)


def mention_event(event: Json) -> Json:
    """`app_mention`, the twin of a message event: same ts, no channel_type, no files."""
    return {"type": "app_mention"} | {name: event[name] for name in _IN_MENTIONS if name in event}


def changed_event(
    state: WorkspaceState, before: WorkspaceMessage, after: WorkspaceMessage, url: str, event_ts: str
) -> Json:
    """`message_changed`, with the new and the previous version."""
    return {
        "type": "message",
        "subtype": "message_changed",
        "message": message_json(state, after, url, metadata=True),
        "previous_message": message_json(state, before, url),
        "hidden": True,
        "ts": event_ts,
    } | _where(state, after.channel, event_ts)


def deleted_event(state: WorkspaceState, before: WorkspaceMessage, url: str, event_ts: str) -> Json:
    """`message_deleted`, with the deleted message."""
    return {
        "type": "message",
        "subtype": "message_deleted",
        "deleted_ts": before.ts,
        "previous_message": message_json(state, before, url),
        "hidden": True,
        "ts": event_ts,
    } | _where(state, before.channel, event_ts)


def reaction_event(message: WorkspaceMessage, name: str, user: str, event_ts: str, *, added: bool) -> Json:
    """`reaction_added` or `reaction_removed`."""
    return {
        "type": "reaction_added" if added else "reaction_removed",
        "user": user,
        "reaction": name,
        "item": {"type": "message", "channel": message.channel, "ts": message.ts},
        "item_user": message.author,
        "event_ts": event_ts,
    }


def joined_event(state: WorkspaceState, channel: WorkspaceChannel, user: str, inviter: str, event_ts: str) -> Json:
    """`member_joined_channel`."""
    return {
        "type": "member_joined_channel",
        "user": user,
        "channel": channel.id,
        "channel_type": "C" if channel.kind == "channel" else "G",
        "team": state.team.id,
        "event_ts": event_ts,
    } | ({"inviter": inviter} if inviter else {})


def home_event(user: str, dm: str, tab: str, event_ts: str) -> Json:
    """`app_home_opened`, for the tab `messages` (the DM) or `home`."""
    return {"type": "app_home_opened", "user": user, "channel": dm, "tab": tab, "event_ts": event_ts}


def payload(state: WorkspaceState, event: Json, channel: str, now: float) -> Json:
    """The payload of an events_api envelope. Its event id is new, and the same on every delivery."""
    room = state.channels.get(channel)
    return {
        "token": "local",
        "type": "event_callback",
        "team_id": state.team.id,
        "context_team_id": state.team.id,
        "context_enterprise_id": None,
        "api_app_id": state.app.app_id,
        "event": event,
        "event_id": f"Ev0{secrets.token_hex(5).upper()}",
        "event_time": int(now),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": state.team.id,
                "user_id": state.app.user,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": room is not None and room.shared,
        "event_context": f"4-local-{secrets.token_hex(8)}",
    }


def _where(state: WorkspaceState, channel: str, event_ts: str) -> Json:
    return {"channel": channel, "channel_type": str(state.channels[channel].kind), "event_ts": event_ts}
