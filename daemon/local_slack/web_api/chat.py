"""chat.*: post, edit and delete messages, ephemeral messages to one user, and the addresses of messages."""

from msgspec.structs import replace

from daemon.local_slack.faults import Tier
from daemon.local_slack.model import CustomAuthor, Json, Streaming, WorkspaceChannel, WorkspaceMessage
from daemon.local_slack.slack_json import address_of, message_json
from daemon.local_slack.web_api.call import NAME, TEXT, Call, SlackError, check_markdown, check_update, method


@method("chat.postMessage", "chat:write", tier=Tier.POSTING)
def post_message(call: Call) -> Json:
    channel = call.writable_channel()
    draft = _draft(call, channel)
    if not draft.text and not draft.blocks and not draft.attachments:
        raise SlackError("no_text")
    return _answer(call, call.workspace.post(draft))


@method("chat.postEphemeral", "chat:write", tier=Tier.FOUR)
def post_ephemeral(call: Call) -> Json:
    channel = call.writable_channel()
    draft = _draft(call, channel)
    if not draft.text and not draft.blocks:
        raise SlackError("no_text")
    if call.needed("user") not in channel.members:
        raise SlackError("user_not_in_channel")
    return {"message_ts": call.workspace.show_to_one(call.text("user"), draft).ts}


@method("chat.update", "chat:write")
def update(call: Call) -> Json:
    """Change a message. Missing arguments change nothing, except that an update of a stream replaces all of it.

    With `reply_broadcast` a reply in a thread also appears in the channel.
    """
    channel = call.changeable_channel()
    before = own_message(call, channel, "cant_update_message")
    words = _words(call)
    blocks = call.blocks()
    attachments = call.objects("attachments", "invalid_attachments")
    if not words and not blocks and not attachments:
        raise SlackError("no_text")
    check_update(words)
    stamp = call.state.timeline(channel.id).next_ts(call.workspace.clock.now())
    after = replace(
        before,
        text=words if words or blocks else before.text,
        edited_by=call.state.app.user,
        edited_ts=stamp,
    )
    if before.streaming is not None:
        after = replace(after, streaming=Streaming.DONE, chunks=(), blocks=())
    if blocks is not None:
        after = replace(after, blocks=blocks)
    if attachments is not None:
        after = replace(after, attachments=attachments)
    if call.has("metadata"):
        after = replace(after, metadata=call.metadata())
    if call.flag("reply_broadcast"):
        if before.in_timeline or before.streaming is Streaming.OPEN:
            raise SlackError("cant_broadcast_message")
        after = replace(after, broadcast=True, subtype="thread_broadcast")
    call.workspace.revise(after)
    return _answer(call, after) | {"text": after.text}


@method("chat.delete", "chat:write")
def delete(call: Call) -> Json:
    channel = call.joined_channel()
    message = own_message(call, channel, "cant_delete_message")
    call.workspace.withdraw(message)
    return {"channel": channel.id, "ts": message.ts}


@method("chat.getPermalink", tier=Tier.FREE)
def get_permalink(call: Call) -> Json:
    channel = call.channel()
    call.needed("message_ts")
    message = call.message(channel, "message_ts")
    return {"channel": channel.id, "permalink": address_of(call.state, message)}


def own_message(call: Call, channel: WorkspaceChannel, refusal: str) -> WorkspaceMessage:
    """Return the call's message, which must be the app's. Raises `message_not_found` or the given refusal."""
    message = call.workspace.current(call.message(channel))
    if message.author != call.state.app.user:
        raise SlackError(refusal)
    return message


def _draft(call: Call, channel: WorkspaceChannel) -> WorkspaceMessage:
    blocks = call.blocks() or ()
    thread = call.thread(channel)
    broadcast = bool(thread) and call.flag("reply_broadcast")
    return WorkspaceMessage(
        channel.id,
        call.state.app.user,
        _words(call),
        thread_ts=thread,
        broadcast=broadcast,
        subtype="thread_broadcast" if broadcast else "",
        blocks=blocks,
        attachments=call.objects("attachments", "invalid_attachments") or (),
        metadata=call.metadata(),
        custom_author=custom_author(call),
    )


def custom_author(call: Call) -> CustomAuthor | None:
    """Return the call's own name and icon, or None. Raises `missing_scope`, `invalid_arguments`."""
    name, icon = call.text("username"), call.text("icon_emoji") or call.text("icon_url")
    if not name and not icon:
        return None
    call.require("chat:write.customize")
    if len(name) > NAME:
        raise SlackError("invalid_arguments")
    return CustomAuthor(name, icon)


def _words(call: Call) -> str:
    markdown = call.text("markdown_text")
    if markdown and (call.text("text") or call.has("blocks")):
        raise SlackError("markdown_text_conflict")
    check_markdown(markdown)
    return markdown or call.text("text")[:TEXT]


def _answer(call: Call, message: WorkspaceMessage) -> Json:
    shape = message_json(call.state, message, metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": shape}
