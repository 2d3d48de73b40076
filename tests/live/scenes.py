"""Scenes: what the daemon does to Slack, and what it must know of Slack's answers.

A scene's function plays it; `SCENES` gives each by its name. The expected codes stand in `EXPECTED`, scene by scene,
for the calls that are expected to be refused.
"""

from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import Final

from tests.live.stage import LiveStage

META: Final = {"event_type": "soul_reply", "event_payload": {"key": "k1", "part": 0}}
CARD: Final = {"type": "task_update", "id": "1", "title": "Reading", "status": "in_progress"}


def _button(text: str, value: str) -> dict[str, object]:
    return {"text": {"type": "plain_text", "text": text}, "value": value}


FEEDBACK: Final = {
    "type": "context_actions",
    "elements": [
        {
            "type": "feedback_buttons",
            "action_id": "soul_feedback",
            "positive_button": _button("Good answer", "good"),
            "negative_button": _button("Bad answer", "bad"),
        }
    ],
}
_APPROVE: Final = {"type": "button", "action_id": "soul_approval_yes", "style": "primary"}
APPROVAL: Final = {"type": "actions", "elements": [{**_APPROVE, **_button("Approve", "approve:a-1")}]}


async def metadata_look_up(on: LiveStage) -> None:
    """The metadata of a message is there when its thread is read."""
    root = await on.root()
    sent = await on.call("chat.postMessage", channel=on.channel, thread_ts=root, text="keyed", metadata=META)
    back = await on.read_back(str(sent["ts"]), root)
    on.note(metadata=back.get("metadata") == META)


async def update_limit(on: LiveStage) -> None:
    """An update takes 4,000 bytes of text and no more: Latin letters, others, and what grows when it is escaped."""
    ts = await on.root()
    for text in ("x" * 4_000, "x" * 4_001, "я" * 2_001, "&" * 801):
        await on.call("chat.update", channel=on.channel, ts=ts, text=text)


async def markdown_block_limit(on: LiveStage) -> None:
    """A markdown block takes 12,000 characters, and no more."""
    for words in (2_400, 2_401):
        block = {"type": "markdown", "text": "word " * words}
        await on.call("chat.postMessage", channel=on.channel, text="long", blocks=[block])


async def markdown_blocks(on: LiveStage) -> None:
    root = await on.root()
    for text in (
        *("- one\n    - two\n        1. three\n", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        "```python\nprint('hello')\n```\n",
    ):
        blocks = [{"type": "markdown", "text": text}]
        sent = await on.call("chat.postMessage", channel=on.channel, thread_ts=root, text="markdown", blocks=blocks)
        back = await on.read_back(str(sent.get("ts")), root)
        on.note(blocks=bool(back.get("blocks")))


async def mention_escapes(on: LiveStage) -> None:
    root = await on.root("&lt;!channel&gt; &lt;@U0000&gt; &amp; co")
    back = await on.read_back(root, root)
    on.note(text=back.get("text"))


async def edit_and_delete(on: LiveStage) -> None:
    """An edited message says so, a deleted message is gone."""
    root = await on.root()
    await on.call("chat.update", channel=on.channel, ts=root, text="Changed.")
    on.note(edited="edited" in await on.read_back(root, root))
    await on.call("chat.delete", channel=on.channel, ts=root)
    await on.call("chat.update", channel=on.channel, ts=root, text="Too late.")


async def reply_to_deleted_root(on: LiveStage) -> None:
    """A root with replies that was deleted takes no more of them."""
    root = await on.root()
    await on.call("chat.postMessage", channel=on.channel, thread_ts=root, text="A reply.")
    await on.call("chat.delete", channel=on.channel, ts=root)
    await on.call("chat.postMessage", channel=on.channel, thread_ts=root, text="Another.")


async def empty_thread(on: LiveStage) -> None:
    await on.call("chat.postMessage", channel=on.channel, thread_ts="", text="Where?")


async def ephemeral(on: LiveStage) -> None:
    await on.call("chat.postEphemeral", channel=on.channel, user=on.user, text="For you alone.")


async def feedback_buttons(on: LiveStage) -> None:
    blocks = [{"type": "markdown", "text": "An answer."}, FEEDBACK]
    await on.call("chat.postMessage", channel=on.channel, text="An answer.", blocks=blocks)


async def approval_buttons(on: LiveStage) -> None:
    blocks = [{"type": "markdown", "text": "May I?"}, APPROVAL]
    asked = await on.call("chat.postMessage", channel=on.channel, text="May I?", blocks=blocks)
    await on.call("chat.update", channel=on.channel, ts=asked["ts"], text="Approved.", blocks=[])


async def stream_in_a_channel(on: LiveStage) -> None:
    """A stream outside DMs names its recipient; chunks, cards, an end with blocks and metadata."""
    root = await on.root()
    await on.call("chat.startStream", channel=on.channel, thread_ts=root, markdown_text="For whom?")
    ts = await on.stream(root, chunks=[CARD], task_display_mode="plan")
    await on.call("chat.appendStream", channel=on.channel, ts=ts, chunks=[CARD | {"details": "page 1"}])
    ending = [CARD | {"status": "complete"}, {"type": "markdown_text", "text": "Done."}]
    await on.call("chat.stopStream", channel=on.channel, ts=ts, chunks=ending, blocks=[FEEDBACK], metadata=META)
    await on.call("chat.stopStream", channel=on.channel, ts=ts)


async def stream_of_one_form(on: LiveStage) -> None:
    """A stream takes text or chunks, never both."""
    ts = await on.stream(await on.root(), markdown_text="Text.")
    chunk = {"type": "markdown_text", "text": "More."}
    await on.call("chat.appendStream", channel=on.channel, ts=ts, markdown_text="More.", chunks=[chunk])
    await on.call("chat.appendStream", channel=on.channel, ts=ts, chunks=[chunk])
    await on.call("chat.stopStream", channel=on.channel, ts=ts)


async def stream_budget(on: LiveStage) -> None:
    """A stream with a card refuses text beyond its budget of bytes."""
    ts = await on.stream(await on.root(), chunks=[CARD | {"details": "d" * 3_000}])
    for text in ("語" * 1_400, "語" * 600):
        await on.call("chat.appendStream", channel=on.channel, ts=ts, chunks=[{"type": "markdown_text", "text": text}])
    await on.call("chat.stopStream", channel=on.channel, ts=ts, chunks=[CARD | {"status": "complete"}])


async def sealed_stream(on: LiveStage) -> None:
    """A stream is sealed some five minutes after its start, though it is fed; an update still works."""
    ts = await on.stream(await on.root(), markdown_text="Begun.")
    for _ in range(6):
        await on.wait(50)
        await on.call("chat.appendStream", channel=on.channel, ts=ts, markdown_text=" Fed.")
    await on.wait(40)
    await on.call("chat.appendStream", channel=on.channel, ts=ts, markdown_text=" Too late.")
    await on.call("chat.update", channel=on.channel, ts=ts, text="Whole.")


async def previews_of_streamed_links(on: LiveStage) -> None:
    """Whether a link in a stream gets a preview."""
    root = await on.root()
    ts = await on.stream(root, markdown_text="See https://slack.com/help for help.")
    await on.call("chat.stopStream", channel=on.channel, ts=ts)
    on.note(preview=bool((await on.read_back(ts, root)).get("attachments")))


async def sessions(on: LiveStage) -> None:
    """The states of a session, and a state that there is not."""
    root = await on.root()
    for status in ("processing", "active", "dancing"):
        await on.call("agents.sessions.setStatus", channel_id=on.channel, thread_ts=root, status=status)
    ts = await on.stream(root, markdown_text="Begun.")
    await on.call("chat.stopStream", channel=on.channel, ts=ts, session_status="active")


async def status_line(on: LiveStage) -> None:
    root = await on.root()
    for status in ("is thinking…", ""):
        await on.call("assistant.threads.setStatus", channel_id=on.channel, thread_ts=root, status=status)


async def pages_of_history(on: LiveStage) -> None:
    root = await on.root()
    for number in range(3):
        await on.call("chat.postMessage", channel=on.channel, thread_ts=root, text=f"Reply {number}.")
    await on.root()
    first = await on.read("conversations.history", channel=on.channel, limit=1)
    cursor = first.get("response_metadata", {}).get("next_cursor")
    second = await on.read("conversations.history", channel=on.channel, limit=1, cursor=cursor)
    replies = await on.read("conversations.replies", channel=on.channel, ts=root, limit=2)
    on.note(more=[bool(page.get("has_more")) for page in (first, second, replies)])
    await on.read("conversations.replies", channel=on.channel, ts=root, cursor="nonsense")


async def people_and_rooms(on: LiveStage) -> None:
    await on.read("users.info", user=on.user)
    await on.read("conversations.info", channel=on.channel)
    await on.read("conversations.members", channel=on.channel)
    await on.read("users.info", user="U0000000000")


async def archived_channel(on: LiveStage) -> None:
    await on.call("chat.postMessage", channel=on.archived, text="Anybody here?")


async def too_many_posts(on: LiveStage) -> None:
    """Too many posts at once get 429 with Retry-After."""
    await on.throttle(True)
    before = list(on.calls)
    for _ in range(60):
        if (await on.call("chat.postMessage", channel=on.dm, text="Quick.")).get("error"):
            break
    refused = on.calls[-1]
    on.calls[:] = [*before, refused]  # how many it takes is not the same each time
    await on.throttle(False)


Scene = Callable[[LiveStage], Awaitable[None]]
_ALL: Final[tuple[Scene, ...]] = (
    *(metadata_look_up, update_limit, markdown_block_limit, markdown_blocks, mention_escapes),
    *(edit_and_delete, reply_to_deleted_root, empty_thread, ephemeral, feedback_buttons),
    *(approval_buttons, stream_in_a_channel, stream_of_one_form, stream_budget, sealed_stream),
    *(previews_of_streamed_links, sessions, status_line, pages_of_history, people_and_rooms),
    *(archived_channel, too_many_posts),
)
SCENES: Final = MappingProxyType[str, Scene]({scene.__name__: scene for scene in _ALL})
EXPECTED: Final = MappingProxyType[str, tuple[str, ...]](
    {
        "update_limit": ("msg_too_long", "msg_too_long", "msg_too_long"),
        "markdown_block_limit": ("msg_blocks_too_long",),
        "edit_and_delete": ("message_not_found",),
        "reply_to_deleted_root": ("cannot_reply_to_message",),
        "empty_thread": ("invalid_thread_ts",),
        "stream_in_a_channel": ("missing_recipient_team_id", "message_not_in_streaming_state"),
        "stream_of_one_form": ("cannot_provide_both_markdown_text_and_chunks", "streaming_mode_mismatch"),
        "stream_budget": ("msg_too_long",),
        "sealed_stream": ("message_not_in_streaming_state",),
        "sessions": ("invalid_status",),
        "pages_of_history": ("invalid_cursor",),
        "people_and_rooms": ("user_not_found",),
        "archived_channel": ("is_archived",),
        "too_many_posts": ("ratelimited",),
    }
)
