"""The attachment that Slack makes of a forwarded message; undocumented, after events that were seen."""

from daemon.local_slack.model import ChannelKind, Json, WorkspaceMessage
from daemon.local_slack.slack_json import file_json
from daemon.local_slack.workspace import Workspace

_ORIGIN = {ChannelKind.DM: "Direct Message", ChannelKind.GROUP_DM: "Group Message"}


def address_of(workspace: Workspace, message: WorkspaceMessage) -> str:
    """The address of a message (Slack: chat.getPermalink)."""
    thread = f"?thread_ts={message.thread_ts}&cid={message.channel}" if message.is_reply else ""
    return f"{workspace.url}/archives/{message.channel}/p{message.ts.replace('.', '')}{thread}"


def forwarded(workspace: Workspace, message: WorkspaceMessage) -> Json:
    """A message as an attachment of the one that forwards it; what it carries itself comes along."""
    state = workspace.state
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
        "from_url": address_of(workspace, message),
        "footer": f"Posted in #{room.name}" if room.name else _ORIGIN.get(room.kind, ""),
        "mrkdwn_in": ["text"],
        "message_blocks": [
            {"team": author.team, "channel": room.id, "ts": message.ts, "message": {"blocks": list(message.blocks)}}
        ],
    }
    files = [file_json(state, state.files[file], workspace.url) for file in message.files if file in state.files]
    carried = {"files": files, "attachments": list(message.attachments)}
    return attachment | {name: value for name, value in carried.items() if value}
