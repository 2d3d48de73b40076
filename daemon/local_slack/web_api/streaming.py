"""chat.startStream, appendStream and stopStream: a message that grows piece by piece."""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from daemon.local_slack import slack_json as streamed
from daemon.local_slack.model import ChannelKind, Json, Posting, Streaming, WorkspaceMessage
from daemon.local_slack.slack_json import message_json
from daemon.local_slack.web_api.agents import set_session
from daemon.local_slack.web_api.call import Call, SlackError, WebApiMethod
from daemon.local_slack.web_api.chat import custom_author, own_message
from daemon.local_slack.web_api.sizes import check_blocks, check_markdown, check_metadata, check_stream
from daemon.local_slack.workspace import Tier

_DISPLAYS: Final = ("", "timeline", "plan")


def start_stream(call: Call) -> Json:
    """Answer chat.startStream, which needs a thread, and outside DMs the recipient."""
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
        recipient = call.workspace.state.people.get(call.text("recipient_user_id"))
        if recipient is None or recipient.team != call.text("recipient_team_id"):
            raise SlackError("user_not_found")
    if call.text("task_display_mode") not in _DISPLAYS:
        raise SlackError("invalid_arguments")
    draft = WorkspaceMessage(
        channel.id,
        call.workspace.state.app.user,
        "",
        thread_ts=thread,
        custom_author=custom_author(call),
        streaming=Streaming.OPEN,
        recipient=call.text("recipient_user_id"),
    )
    begun = call.workspace.post(_grown(call, draft))
    set_session(call, channel.id, thread, "processing")
    return _answer(begun)


def append_stream(call: Call) -> Json:
    message = _open_stream(call)
    if not call.text("markdown_text") and not call.has("chunks"):
        raise SlackError("no_text")
    return _answer(call.workspace.revise(_grown(call, message), event=False))


def stop_stream(call: Call) -> Json:
    """Answer chat.stopStream: the last piece, blocks below the text, metadata, and the session's new status."""
    message = _open_stream(call)
    blocks = call.objects("blocks", "invalid_blocks") or ()
    check_blocks(blocks)
    metadata = check_metadata(call.value("metadata", "invalid_metadata_format"))
    grown = _grown(call, message)
    done = replace(
        grown,
        streaming=Streaming.DONE,
        blocks=blocks,
        metadata=metadata,
        chunks=streamed.stopped(grown.chunks),
    )
    set_session(call, message.channel, message.thread_ts, call.text("session_status") or "active")
    call.workspace.revise(done)
    shape = message_json(call.workspace.state, done, call.workspace.url, metadata=True)
    return _answer(done) | {"message": shape}


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
    if chunks and (call.workspace.faults.refuse_chunks or not all(map(streamed.valid, chunks))):
        raise SlackError("invalid_chunks")
    in_chunks = bool(chunks) if words or chunks else message.in_chunks
    if message.in_chunks not in (None, in_chunks):
        raise SlackError("streaming_mode_mismatch")
    added = words + streamed.text_of(chunks)
    check_markdown(added)
    shown = streamed.folded(message.chunks, chunks)
    check_stream(message.text + added, shown)
    return replace(message, text=message.text + added, chunks=shown, in_chunks=in_chunks)


def _answer(message: WorkspaceMessage) -> Json:
    return {"channel": message.channel, "ts": message.ts}


METHODS: Final = MappingProxyType(
    {
        "chat.startStream": WebApiMethod(start_stream, ("chat:write",), Tier.TWO),
        "chat.appendStream": WebApiMethod(append_stream, ("chat:write",), Tier.FOUR),
        "chat.stopStream": WebApiMethod(stop_stream, ("chat:write",), Tier.TWO),
    }
)
