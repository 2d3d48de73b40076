"""assistant.threads.*, agents.sessions.* and streams: the app shows its work, and a message grows piece by piece."""

from typing import Final

from msgspec.structs import replace

from daemon.local_slack.faults import Tier
from daemon.local_slack.model import ChannelKind, Json, Posting, Prompts, Session, Streaming, WorkspaceMessage
from daemon.local_slack.slack_json import message_json
from daemon.local_slack.state import is_ts
from daemon.local_slack.web_api.call import Call, SlackError, check_markdown, check_stream, method
from daemon.local_slack.web_api.chat import custom_author, own_message

_PROMPTS: Final = 4
_LOADING_MESSAGES: Final = 10
_TITLE: Final = 200
_SESSION_STATUSES: Final = frozenset({"processing", "active", "suspended", "closed"})
_WRITE: Final = ("assistant:write", "chat:write")
_DISPLAYS: Final = ("", "timeline", "plan")
_KINDS: Final = frozenset({"markdown_text", "task_update", "plan_update", "blocks"})
_TASK_STATUSES: Final = frozenset({"pending", "in_progress", "complete", "error"})
_OPEN: Final = frozenset({"pending", "in_progress"})
_GROWING: Final = ("details", "output")


@method("assistant.threads.setStatus", *_WRITE, tier=Tier.FREE)
def set_status(call: Call) -> Json:
    """Show a status line. An empty status clears it."""
    channel = call.joined_channel("channel_id")
    thread = call.needed("thread_ts")
    if not is_ts(thread):
        raise SlackError("invalid_thread_ts")
    loading = call.value("loading_messages", "invalid_arguments") or []
    if not isinstance(loading, list) or len(loading) > _LOADING_MESSAGES:
        raise SlackError("invalid_arguments")
    call.workspace.show_status(channel.id, thread, call.text("status"), tuple(str(line) for line in loading))
    return {}


@method("assistant.threads.setSuggestedPrompts", "assistant:write")
def set_suggested_prompts(call: Call) -> Json:
    """Show prompts. With a thread_ts, do nothing, like Slack's agent view."""
    channel = call.joined_channel("channel_id")
    prompts = call.objects("prompts", "invalid_arguments") or ()
    if not 0 < len(prompts) <= _PROMPTS or not all(prompt.get("title") and prompt.get("message") for prompt in prompts):
        raise SlackError("invalid_arguments")
    if not call.has("thread_ts"):
        call.workspace.show_prompts(channel.id, Prompts(call.text("title"), prompts))
    return {}


@method("assistant.threads.setTitle", "assistant:write")
def set_title(call: Call) -> Json:
    """Check the title and don't store it, since the page shows no titles."""
    call.joined_channel("channel_id")
    call.needed("thread_ts")
    call.needed("title")
    return {}


@method("agents.sessions.setStatus", *_WRITE)
def set_session_status(call: Call) -> Json:
    """Set a session's state. Only a missing session, which is created, gets the title."""
    channel = call.joined_channel("channel_id")
    session = set_session(call, channel.id, call.text("thread_ts"), call.needed("status"), call.text("title"))
    return {"session": {"channel_id": channel.id, "thread_ts": session.thread_ts, "status": session.status}}


@method("agents.sessions.rename", *_WRITE)
def rename_session(call: Call) -> Json:
    channel = call.joined_channel("channel_id")
    session = call.state.sessions.get((channel.id, call.text("thread_ts")))
    if session is None:
        raise SlackError("session_not_found")
    call.workspace.set_session(replace(session, title=_title(call.needed("title"))))
    return {}


def set_session(call: Call, channel: str, thread_ts: str, status: str, title: str = "") -> Session:
    """Set a session's state, and create a missing session. Raises `invalid_status`, `invalid_title`."""
    if status not in _SESSION_STATUSES:
        raise SlackError("invalid_status")
    known = call.state.sessions.get((channel, thread_ts)) or Session(channel, thread_ts, "", _title(title))
    session = replace(known, status=status, covered=False)
    call.workspace.set_session(session)
    return session


def _title(title: str) -> str:
    if len(title) > _TITLE:
        raise SlackError("invalid_title")
    return title


@method("chat.startStream", "chat:write", tier=Tier.TWO)
def start_stream(call: Call) -> Json:
    """Begin a stream, which needs a thread, and outside DMs the recipient."""
    channel = call.writable_channel()
    if not call.has("thread_ts"):
        call.needed("thread_ts")
    thread = call.thread(channel)
    if call.workspace.faults.posting.get(channel.id) is Posting.NO_STREAMS:
        raise SlackError(Posting.NO_STREAMS)
    if channel.kind is not ChannelKind.DM:
        for name in ("recipient_team_id", "recipient_user_id"):
            if not call.text(name):
                raise SlackError(f"missing_{name}")
        recipient = call.state.people.get(call.text("recipient_user_id"))
        if recipient is None or recipient.team != call.text("recipient_team_id"):
            raise SlackError("user_not_found")
    if call.text("task_display_mode") not in _DISPLAYS:
        raise SlackError("invalid_arguments")
    draft = WorkspaceMessage(
        channel.id,
        call.state.app.user,
        "",
        thread_ts=thread,
        custom_author=custom_author(call),
        streaming=Streaming.OPEN,
        recipient=call.text("recipient_user_id"),
    )
    begun = call.workspace.post(_grown(call, draft))
    set_session(call, channel.id, thread, "processing")
    return _answer(begun)


@method("chat.appendStream", "chat:write", tier=Tier.FOUR)
def append_stream(call: Call) -> Json:
    message = _open_stream(call)
    if not call.text("markdown_text") and not call.has("chunks"):
        raise SlackError("no_text")
    return _answer(call.workspace.revise(_grown(call, message), event=False))


@method("chat.stopStream", "chat:write", tier=Tier.TWO)
def stop_stream(call: Call) -> Json:
    """End a stream with its last piece, blocks below the text, metadata, and the session's new status."""
    message = _open_stream(call)
    blocks, metadata = call.blocks() or (), call.metadata()
    grown = _grown(call, message)
    chunks = _stopped(grown.chunks)
    done = replace(grown, streaming=Streaming.DONE, blocks=blocks, metadata=metadata, chunks=chunks)
    set_session(call, message.channel, message.thread_ts, call.text("session_status") or "active")
    call.workspace.revise(done)
    return _answer(done) | {"message": message_json(call.state, done, metadata=True)}


def _open_stream(call: Call) -> WorkspaceMessage:
    channel = call.changeable_channel()
    message = own_message(call, channel, "message_not_owned_by_app")
    if message.streaming is not Streaming.OPEN:
        raise SlackError("message_not_in_streaming_state")
    return message


def _grown(call: Call, message: WorkspaceMessage) -> WorkspaceMessage:
    """Return the message plus the call's text or chunks. A stream takes only the form of its first piece."""
    words = call.text("markdown_text")
    chunks = call.objects("chunks", "invalid_chunks") or ()
    if words and chunks:
        raise SlackError("cannot_provide_both_markdown_text_and_chunks")
    if chunks and (call.workspace.faults.refuse_chunks or not all(map(_is_valid, chunks))):
        raise SlackError("invalid_chunks")
    in_chunks = bool(chunks) if words or chunks else message.in_chunks
    if message.in_chunks not in (None, in_chunks):
        raise SlackError("streaming_mode_mismatch")
    added = words + _text_of(chunks)
    check_markdown(added)
    shown = _folded(message.chunks, chunks)
    check_stream(message.text + added, shown)
    return replace(message, text=message.text + added, chunks=shown, in_chunks=in_chunks)


def _answer(message: WorkspaceMessage) -> Json:
    return {"channel": message.channel, "ts": message.ts}


def _is_valid(chunk: Json) -> bool:
    """Return True if Slack accepts a chunk."""
    match chunk.get("type"):
        case "markdown_text":
            return isinstance(chunk.get("text"), str)
        case "plan_update":
            return isinstance(chunk.get("title"), str)
        case "task_update":
            named = all(isinstance(chunk.get(name), str) and chunk[name] for name in ("id", "title"))
            grown = all(isinstance(chunk.get(name, ""), str) for name in _GROWING)
            return named and grown and chunk.get("status") in _TASK_STATUSES
    return chunk.get("type") in _KINDS


def _text_of(chunks: tuple[Json, ...]) -> str:
    """Return the text that the chunks add to the message."""
    return "".join(str(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text")


def _folded(shown: tuple[Json, ...], more: tuple[Json, ...]) -> tuple[Json, ...]:
    """Return the chunks that a message shows, apart from its text, after `more` are added to `shown`.

    A plan has one title and a task one card: title and status are replaced, details and output grow.
    """
    result = list(shown)
    for chunk in more:
        if chunk["type"] == "markdown_text":
            continue
        key = _key(chunk)
        place = next((at for at, one in enumerate(result) if key and _key(one) == key), None)
        if place is None:
            result.append(chunk)
            continue
        before = result[place]
        grown = {
            name: before.get(name, "") + chunk.get(name, "") for name in _GROWING if name in before or name in chunk
        }
        result[place] = before | chunk | grown
    return tuple(result)


def _stopped(shown: tuple[Json, ...]) -> tuple[Json, ...]:
    """Return the chunks of a finished message: an open task becomes an error."""
    return tuple(chunk | {"status": "error"} if chunk.get("status") in _OPEN else chunk for chunk in shown)


def _key(chunk: Json) -> tuple[str, str] | None:
    match chunk["type"]:
        case "plan_update":
            return ("plan", "")
        case "task_update":
            return ("task", chunk["id"])
    return None
