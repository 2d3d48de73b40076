"""chat.startStream, appendStream and stopStream: a message that grows while it is being written."""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from daemon.workspace.limits import Tier
from daemon.workspace.model import ChannelKind, Json, Message, Streaming
from daemon.workspace.shapes import message_json
from daemon.workspace.web_api.agents import set_session
from daemon.workspace.web_api.call import Call, Endpoint, SlackError
from daemon.workspace.web_api.chat import own_message
from daemon.workspace.web_api.sizes import check_blocks, check_markdown, check_metadata

_CHUNKS: Final = frozenset({"markdown_text", "task_update", "plan_update", "blocks"})


def start_stream(call: Call) -> Json:
    """chat.startStream: needs a thread, and outside DMs whom it answers."""
    channel = call.writable_channel()
    if not call.has("thread_ts"):
        call.needed("thread_ts")
    thread = call.thread(channel)
    if channel.kind is not ChannelKind.DM:
        for name in ("recipient_team_id", "recipient_user_id"):
            if not call.text(name):
                raise SlackError(f"missing_{name}")
        if call.text("recipient_user_id") not in call.workspace.state.people:
            raise SlackError("user_not_found")
    draft = Message(
        channel.id,
        call.workspace.state.app.user,
        "",
        thread_ts=thread,
        streaming=Streaming.OPEN,
        touched=call.workspace.clock.now(),
    )
    return _answer(call.workspace.post(_grown(call, draft)))


def append_stream(call: Call) -> Json:
    """chat.appendStream."""
    message = _open_stream(call)
    if not call.text("markdown_text") and not call.has("chunks"):
        raise SlackError("no_text")
    grown = replace(_grown(call, message), touched=call.workspace.clock.now())
    return _answer(call.workspace.revise(grown, event=False))


def stop_stream(call: Call) -> Json:
    """chat.stopStream: the rest of the words, blocks under them, metadata, and what becomes of the session."""
    message = _open_stream(call)
    blocks = call.objects("blocks", "invalid_blocks") or ()
    check_blocks(blocks)
    metadata = check_metadata(call.value("metadata", "invalid_metadata_format"))
    done = replace(_grown(call, message), streaming=Streaming.DONE, blocks=blocks, metadata=metadata)
    if call.text("session_status"):
        set_session(call, message.channel, message.thread_ts, call.text("session_status"))
    call.workspace.revise(done)
    shape = message_json(call.workspace.state, done, call.workspace.url, metadata=True)
    return _answer(done) | {"message": shape}


def _open_stream(call: Call) -> Message:
    channel = call.joined_channel()
    message = own_message(call, channel, "message_not_owned_by_app")
    if message.streaming is not Streaming.OPEN:
        raise SlackError("message_not_in_streaming_state")
    return message


def _grown(call: Call, message: Message) -> Message:
    words = call.text("markdown_text")
    check_markdown(words)
    chunks = call.objects("chunks", "invalid_chunks") or ()
    if any(chunk.get("type") not in _CHUNKS for chunk in chunks):
        raise SlackError("invalid_chunks")
    told = "".join(str(chunk.get("text", "")) for chunk in chunks if chunk["type"] == "markdown_text")
    check_markdown(told)
    shown = tuple(chunk for chunk in chunks if chunk["type"] != "markdown_text")
    return replace(message, text=message.text + words + told, chunks=message.chunks + shown)


def _answer(message: Message) -> Json:
    return {"channel": message.channel, "ts": message.ts}


ENDPOINTS: Final = MappingProxyType(
    {
        "chat.startStream": Endpoint(start_stream, ("chat:write",), Tier.TWO),
        "chat.appendStream": Endpoint(append_stream, ("chat:write",), Tier.FOUR),
        "chat.stopStream": Endpoint(stop_stream, ("chat:write",), Tier.TWO),
    }
)
