"""assistant.threads.* and agents.sessions.*: status lines, suggested prompts, titles and sessions."""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from daemon.local_slack.model import Json, Prompts, Session
from daemon.local_slack.slack_json import session_json
from daemon.local_slack.state import is_ts
from daemon.local_slack.web_api.call import Call, SlackError, WebApiMethod
from daemon.local_slack.workspace import Tier

_PROMPTS: Final = 4
_LOADING_MESSAGES: Final = 10
_TITLE: Final = 200
_STATUSES: Final = frozenset({"processing", "active", "suspended", "closed"})


def set_status(call: Call) -> Json:
    """Answer assistant.threads.setStatus: an empty status clears the line."""
    channel = call.joined_channel("channel_id")
    thread = call.needed("thread_ts")
    if not is_ts(thread):
        raise SlackError("invalid_thread_ts")
    loading = call.value("loading_messages", "invalid_arguments") or []
    if not isinstance(loading, list) or len(loading) > _LOADING_MESSAGES:
        raise SlackError("invalid_arguments")
    call.workspace.show_status(channel.id, thread, call.text("status"), tuple(str(line) for line in loading))
    return {}


def set_suggested_prompts(call: Call) -> Json:
    """Answer assistant.threads.setSuggestedPrompts: with a thread_ts it does nothing, like Slack's agent view."""
    channel = call.joined_channel("channel_id")
    prompts = call.objects("prompts", "invalid_arguments") or ()
    if not 0 < len(prompts) <= _PROMPTS or not all(prompt.get("title") and prompt.get("message") for prompt in prompts):
        raise SlackError("invalid_arguments")
    if not call.has("thread_ts"):
        call.workspace.show_prompts(channel.id, Prompts(call.text("title"), prompts))
    return {}


def set_title(call: Call) -> Json:
    """Answer assistant.threads.setTitle: checked and not stored, since the page shows no titles."""
    call.joined_channel("channel_id")
    call.needed("thread_ts")
    call.needed("title")
    return {}


def set_session_status(call: Call) -> Json:
    """Answer agents.sessions.setStatus: it creates a missing session, and only then uses the title."""
    channel = call.joined_channel("channel_id")
    session = set_session(call, channel.id, call.text("thread_ts"), call.needed("status"), call.text("title"))
    return {"session": {"channel_id": channel.id, "thread_ts": session.thread_ts, "status": session.status}}


def rename_session(call: Call) -> Json:
    channel = call.joined_channel("channel_id")
    key = (channel.id, call.text("thread_ts"))
    session = call.workspace.state.sessions.get(key)
    if session is None:
        raise SlackError("session_not_found")
    renamed = call.workspace.state.sessions[key] = replace(session, title=_title(call.needed("title")))
    call.workspace.feed.publish("session", session_json(renamed), channel=channel.id)
    return {}


def set_session(call: Call, channel: str, thread_ts: str, status: str, title: str = "") -> Session:
    """Set a session's state, and create a missing session. Raises `invalid_status`, `invalid_title`."""
    if status not in _STATUSES:
        raise SlackError("invalid_status")
    sessions = call.workspace.state.sessions
    session = sessions.get((channel, thread_ts)) or Session(channel, thread_ts, status, _title(title))
    sessions[channel, thread_ts] = replace(session, status=status, covered=False)
    call.workspace.feed.publish("session", session_json(sessions[channel, thread_ts]), channel=channel)
    return sessions[channel, thread_ts]


def _title(title: str) -> str:
    if len(title) > _TITLE:
        raise SlackError("invalid_title")
    return title


_WRITE: Final = ("assistant:write", "chat:write")
METHODS: Final = MappingProxyType(
    {
        "assistant.threads.setStatus": WebApiMethod(set_status, _WRITE, Tier.FREE),
        "assistant.threads.setSuggestedPrompts": WebApiMethod(set_suggested_prompts, ("assistant:write",), Tier.THREE),
        "assistant.threads.setTitle": WebApiMethod(set_title, ("assistant:write",), Tier.THREE),
        "agents.sessions.setStatus": WebApiMethod(set_session_status, _WRITE, Tier.THREE),
        "agents.sessions.rename": WebApiMethod(rename_session, _WRITE, Tier.THREE),
    }
)
