"""Slack's JSON objects for users, channels, messages, files and events."""

import secrets
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from daemon.local_slack.model import (
    ChannelKind,
    File,
    Json,
    Standing,
    Streaming,
    UserGroup,
    WorkspaceChannel,
    WorkspaceMessage,
    WorkspaceUser,
)
from daemon.local_slack.state import WorkspaceState

_ORIGIN: Final = MappingProxyType({ChannelKind.DM: "Direct Message", ChannelKind.GROUP_DM: "Group Message"})
_NOT_IN_NEW: Final = ("reactions", "streaming_state", "chunks")
_IN_MENTIONS: Final = (
    *("user", "text", "ts", "team", "thread_ts", "parent_user_id", "blocks", "client_msg_id", "edited"),
    *("bot_id", "app_id", "bot_profile", "channel", "event_ts"),
)
_BEGINNING: Final = 80  # characters of a stream that others see while it grows


def person_json(person: WorkspaceUser, *, locale: bool = False) -> Json:
    """Return a user object, with its locale on request (Slack: users.info, include_locale)."""
    return {
        "id": person.id,
        "team_id": person.team,
        "name": person.name,
        "real_name": person.real_name,
        "deleted": person.standing is Standing.DEACTIVATED,
        "tz": person.tz,
        "tz_label": person.tz,
        "tz_offset": 0,
        "is_bot": person.is_bot,
        "is_app_user": False,
        "is_admin": person.admin,
        "is_owner": False,
        "is_primary_owner": False,
        "is_restricted": person.standing in (Standing.GUEST, Standing.ULTRA_GUEST),
        "is_ultra_restricted": person.standing is Standing.ULTRA_GUEST,
        "is_stranger": person.standing is Standing.STRANGER,
        "updated": 0,
        **({"locale": person.locale} if locale else {}),
        **({"enterprise_user": _in_organisation(person)} if person.enterprise else {}),
        "profile": {
            "display_name": person.display_name,
            "display_name_normalized": person.display_name,
            "real_name": person.real_name,
            "real_name_normalized": person.real_name,
            "team": person.team,
            **({"api_app_id": person.app_id, "bot_id": person.bot_id} if person.is_bot else {}),
        },
    }


def _in_organisation(person: WorkspaceUser) -> Json:
    """Return the `enterprise_user` of a user in an Enterprise Grid organisation (Slack: enterprise_user)."""
    return {
        "id": person.id,
        "enterprise_id": person.enterprise,
        "enterprise_name": "Local organisation",
        "is_admin": False,
        "is_owner": False,
        "teams": [person.team],
    }


def channel_json(state: WorkspaceState, channel: WorkspaceChannel, viewer: str, *, count: bool = True) -> Json:
    """Return a conversation object for `viewer`. `count` adds the number of members (Slack: conversations.info)."""
    if channel.kind is ChannelKind.DM:
        other = next((user for user in channel.members if user != viewer), viewer)
        return {
            "id": channel.id,
            "created": channel.created,
            "is_im": True,
            "is_archived": channel.archived,
            "is_org_shared": False,
            "is_user_deleted": state.people[other].standing is Standing.DEACTIVATED,
            "user": other,
            "context_team_id": state.team.id,
        }
    return {
        "id": channel.id,
        "name": channel.name,
        "name_normalized": channel.name,
        "created": channel.created,
        "creator": channel.members[0] if channel.members else "",
        "is_channel": channel.kind is ChannelKind.PUBLIC,
        "is_group": channel.kind is ChannelKind.PRIVATE,
        "is_im": False,
        "is_mpim": channel.kind is ChannelKind.GROUP_DM,
        "is_private": channel.kind is not ChannelKind.PUBLIC,
        "is_member": viewer in channel.members,
        "is_archived": channel.archived,
        "is_general": channel.name == "general",
        "is_shared": channel.shared or channel.org_shared,
        "is_ext_shared": channel.shared,
        "is_org_shared": channel.org_shared,
        **({"num_members": len(channel.members)} if count else {}),
        "context_team_id": state.team.id,
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def group_json(state: WorkspaceState, group: UserGroup, *, users: bool = True) -> Json:
    """Return a user group (Slack: usergroups.list)."""
    return {
        "id": group.id,
        "team_id": state.team.id,
        "is_usergroup": True,
        "name": group.handle,
        "handle": group.handle,
        "description": "",
        "is_external": False,
        "date_create": 0,
        "date_update": 0,
        "date_delete": 0,
        "user_count": len(group.members),
        **({"users": list(group.members)} if users else {}),
    }


def file_json(state: WorkspaceState, file: File) -> Json:
    """Return a file object (Slack: files.info)."""
    private = f"{state.url}/files-pri/{state.team.id}-{file.id}/{quote(file.name, safe='')}"
    return {
        "id": file.id,
        "created": file.created,
        "timestamp": file.created,
        "name": file.name,
        "title": file.title,
        "mimetype": file.mimetype,
        "filetype": file.name.rpartition(".")[2],
        "user": file.owner,
        "size": len(file.content),
        "mode": "hosted",
        "is_external": False,
        "is_public": False,
        "url_private": private,
        "url_private_download": f"{private}?download=1",
    }


def _file_in(state: WorkspaceState, message: WorkspaceMessage, file: File) -> Json:
    """Return a file in a message: only its id in a channel of Slack Connect (Slack: file_access)."""
    if state.channels[message.channel].shared:
        return {"id": file.id, "created": 0, "timestamp": 0, "user": "", "file_access": "check_file_info"}
    return file_json(state, file)


def message_json(state: WorkspaceState, message: WorkspaceMessage, *, metadata: bool = False) -> Json:
    """Return a message object. Metadata comes only on request, as in Slack's history."""
    author = state.people.get(message.author)
    shape: Json = {"type": "message", "user": message.author, "text": message.text, "ts": message.ts}
    shape["team"] = author.team if author else state.team.id
    if author and author.is_bot:
        shape |= _by_bot(author)
    optional: dict[str, object] = {
        "subtype": message.subtype,
        "inviter": message.inviter,
        "client_msg_id": message.client_msg_id,
        "blocks": list(message.blocks),
        "attachments": list(message.attachments),
        "files": [_file_in(state, message, state.files[file]) for file in message.files if file in state.files],
        "edited": {"user": message.edited_by, "ts": message.edited_ts} if message.edited_ts else None,
        "streaming_state": message.streaming,
        "chunks": list(message.chunks),
        "metadata": message.metadata if metadata else None,
        "reactions": [{"name": r.name, "users": list(r.users), "count": len(r.users)} for r in message.reactions],
    }
    if message.custom_author is not None:
        optional |= {"username": message.custom_author.name, "icons": _icons(message.custom_author.icon)}
    shape |= {name: value for name, value in optional.items() if value}
    return shape | _thread(state, message)


def as_seen(shape: Json, recipient: str, viewer: str) -> Json:
    """Return a message for one viewer. Others than the recipient see only the beginning of an open stream."""
    if shape.get("streaming_state") != Streaming.OPEN or not recipient or viewer in ("", recipient):
        return shape
    return {name: value for name, value in shape.items() if name != "chunks"} | {"text": shape["text"][:_BEGINNING]}


def _icons(icon: str) -> Json:
    if not icon:
        return {}
    return {"emoji": icon} if icon.startswith(":") else {"image_48": icon}


def _by_bot(author: WorkspaceUser) -> Json:
    return {
        "bot_id": author.bot_id,
        "app_id": author.app_id,
        "bot_profile": {
            "id": author.bot_id,
            "app_id": author.app_id,
            "name": author.real_name,
            "deleted": False,
            "team_id": author.team,
        },
    }


def _thread(state: WorkspaceState, message: WorkspaceMessage) -> Json:
    timeline = state.timeline(message.channel)
    if message.is_reply:
        root = timeline.get(message.thread_ts)
        return {"thread_ts": message.thread_ts, "parent_user_id": root.author if root else "USLACKBOT"}
    replies = timeline.replies(message.ts)
    if not replies:
        return {}
    authors = list(dict.fromkeys(reply.author for ts in replies if (reply := timeline.get(ts))))
    return {
        "thread_ts": message.ts,
        "reply_count": len(replies),
        "reply_users_count": len(authors),
        "reply_users": authors[:5],
        "latest_reply": replies[-1],
        "is_locked": False,
        "subscribed": state.app.user in authors,
    }


def address_of(state: WorkspaceState, message: WorkspaceMessage) -> str:
    """Return the address of a message (Slack: chat.getPermalink)."""
    thread = f"?thread_ts={message.thread_ts}&cid={message.channel}" if message.is_reply else ""
    return f"{state.url}/archives/{message.channel}/p{message.ts.replace('.', '')}{thread}"


def forwarded(state: WorkspaceState, message: WorkspaceMessage) -> Json:
    """Return a message as an attachment of the one that forwards it, with its own files and attachments."""
    author, room = state.people[message.author], state.channels[message.channel]
    name = author.display_name or author.real_name
    attachment: Json = {
        "id": 1,
        "ts": message.ts,
        "author_id": author.id,
        "author_name": name,
        "author_subname": author.real_name,
        "channel_id": room.id,
        "channel_team": author.team,
        "channel_name": _ORIGIN.get(room.kind, room.name),
        "is_msg_unfurl": True,
        "is_share": True,
        "text": message.text,
        "fallback": f"[{message.ts}] {name}: {message.text}",
        "from_url": address_of(state, message),
        "footer": f"Posted in #{room.name}" if room.name else _ORIGIN.get(room.kind, ""),
        "mrkdwn_in": ["text"],
        "message_blocks": [
            {"team": author.team, "channel": room.id, "ts": message.ts, "message": {"blocks": list(message.blocks)}}
        ],
    }
    files = [file_json(state, state.files[file]) for file in message.files if file in state.files]
    carried = {"files": files, "attachments": list(message.attachments)}
    return attachment | {name: value for name, value in carried.items() if value}


def message_event(state: WorkspaceState, message: WorkspaceMessage) -> Json:
    """Return the `message` event of a new message."""
    shape = message_json(state, message, metadata=True)
    event = {name: value for name, value in shape.items() if name not in _NOT_IN_NEW}
    if message.broadcast and (root := state.message(message.channel, message.thread_ts)):
        event["root"] = message_json(state, root)
    channel_type = str(state.channels[message.channel].kind)
    return event | {"channel": message.channel, "channel_type": channel_type, "event_ts": message.ts}


def mention_event(event: Json) -> Json:
    """Return the `app_mention` event for a message event: same ts, no channel_type, no files."""
    return {"type": "app_mention"} | {name: event[name] for name in _IN_MENTIONS if name in event}


def event_payload(state: WorkspaceState, event: Json, channel: str, now: float) -> Json:
    """Return the payload of an events_api envelope. Its event id is new, and the same on every delivery."""
    room = state.channels.get(channel)
    return {
        "token": "local",
        "type": "event_callback",
        "team_id": state.team.id,
        "context_team_id": state.team.id,
        "context_enterprise_id": state.team.enterprise or None,
        "api_app_id": state.app.app_id,
        "event": event,
        "event_id": f"Ev0{secrets.token_hex(5).upper()}",
        "event_time": int(now),
        "authorizations": [
            {
                "enterprise_id": state.team.enterprise or None,
                "team_id": state.team.id,
                "user_id": state.app.user,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": room is not None and room.shared,
        "event_context": f"4-local-{secrets.token_hex(8)}",
    }
