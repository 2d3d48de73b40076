"""Delivers each post exactly once, and finds posts again that may have been sent."""

from collections.abc import Callable
from typing import Any, Final

from daemon.channels.slack.api.client import DEAD_TOKEN, Json, SlackClient
from daemon.channels.slack.api.history import as_seconds, read_messages
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.outgoing.appearance import Appearances
from daemon.channels.slack.outgoing.blocks import buttons, key_of, metadata, plain, rich
from daemon.channels.slack.outgoing.drafts import Drafts
from daemon.channels.slack.outgoing.markup import inert
from daemon.core.errors import ChannelRefused, DeliveryUncertain, HistoryClosed, NotDelivered
from daemon.core.ports import Emit, FoundPost, Post

# Error codes for blocks; Slack accepts the same text without them.
_BLOCKS_REFUSED: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
# Error codes for a draft that can't become the reply any more.
_DRAFT_GONE: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
_THREAD_GONE: Final = frozenset({"thread_not_found"})
_PAGES: Final = 10


class SlackDelivery:
    """Posts, finishes drafts and finds posts; `reader` gives None while our own ids are unknown."""

    def __init__(
        self,
        client: SlackClient,
        drafts: Drafts,
        appearances: Appearances,
        reader: Callable[[], EventReader | None],
        emit: Emit,
    ) -> None:
        self._client = client
        self._drafts = drafts
        self._appearances = appearances
        self._reader = reader
        self._emit = emit

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; returns the message's ts."""
        if post.revises is not None:
            return await self._revise(post, post.revises)
        if post.draft is None:
            return await self._post(post)
        try:
            return await self._finish(post, post.draft)
        except ChannelRefused as error:
            if error.code not in _DRAFT_GONE:
                raise
            self._emit("slack.draft_gone", channel=post.conversation.channel, ts=post.draft, reason=error.code)
            return await self._post(post)

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`; a draft is our message without a key: the known one or, if `draft_lost`, the newest.

        A revision is never found, since making it twice does no harm.
        """
        if post.revises is not None:
            return None
        reader = self._reader()
        if reader is None:
            raise DeliveryUncertain("our own Slack ids are not known yet")
        channel = post.conversation.channel
        found, whole = await self._history(post, post.reply_to)
        if not post.conversation.thread:
            timeline, timeline_whole = await self._history(post, "")  # where the post goes if its thread is gone
            found, whole = [*found, *timeline], whole and timeline_whole
        ours = [message for message in found if reader.is_own(message) and isinstance(message.get("ts"), str)]
        for message in ours:
            if key_of(message) == post.key:
                return FoundPost(message["ts"], finished=True)
        if not whole:
            raise DeliveryUncertain(f"there is too much history in {channel} to be sure")
        unkeyed = [message["ts"] for message in ours if key_of(message) is None and _younger(message, post)]
        if post.draft in unkeyed:
            return FoundPost(str(post.draft), finished=False)
        return FoundPost(unkeyed[-1], finished=False) if post.draft_lost and unkeyed else None

    async def _history(self, post: Post, thread: str) -> tuple[list[Json], bool]:
        """Messages of the thread or timeline that can include the post, and whether no page is left."""
        try:
            return await read_messages(
                self._client,
                post.conversation.channel,
                thread,
                most=_PAGES,
                oldest=post.newer_than_ts or None,
                include_all_metadata=True,
            )
        except (NotDelivered, ChannelRefused) as error:
            if isinstance(error, ChannelRefused) and error.code in _THREAD_GONE:
                return [], True
            for_good = isinstance(error, ChannelRefused) and error.code not in DEAD_TOKEN
            unread = HistoryClosed if for_good else DeliveryUncertain
            raise unread(f"Slack's history can't be read: {error.message}", hint=error.hint) from error

    async def _post(self, post: Post) -> str:
        """Post a new message; in a DM whose thread was deleted meanwhile it goes to the timeline."""
        try:
            return await self._post_under(post, post.reply_to or None)
        except ChannelRefused as error:
            if error.code not in _THREAD_GONE or post.conversation.thread:
                raise
            return await self._post_under(post, None)

    async def _post_under(self, post: Post, thread: str | None) -> str:
        common: Json = {
            "channel": post.conversation.channel,
            "thread_ts": thread,
            "metadata": metadata(post),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        return await self._appearances.post_as(
            post.conversation.soul,
            lambda appearance: self._with_fallback("chat.postMessage", post, common | dict(appearance)),
        )

    async def _revise(self, post: Post, ts: str) -> str:
        """Replace the text of an earlier post of ours, unless it is gone or can't be changed any more."""
        channel = post.conversation.channel
        try:
            return await self._with_fallback("chat.update", post, {"channel": channel, "ts": ts})
        except ChannelRefused as error:
            if error.code not in _DRAFT_GONE:
                raise
            self._emit("slack.revision_gone", channel=channel, ts=ts, reason=error.code)
            return ts

    async def _finish(self, post: Post, ts: str) -> str:
        """Append what the draft lacks; if that is unknown or no longer possible, replace the draft's text."""
        channel, body = post.conversation.channel, inert(post.body)
        shown = self._drafts.text(channel, ts)
        if shown is None or not body.startswith(shown):
            return await self._rewrite(post, ts)
        try:
            await self._client.call(
                "chat.stopStream",
                channel=channel,
                ts=ts,
                blocks=buttons(post) or None,
                metadata=metadata(post),
                **self._drafts.ending(channel, ts, body[len(shown) :]),
            )
        except ChannelRefused as error:
            if error.code in _DRAFT_GONE:
                self._drafts.forget(channel, ts)
                raise
            return await self._rewrite(post, ts)
        except DeliveryUncertain:
            self._drafts.set_text(channel, ts, None)
            raise
        self._drafts.forget(channel, ts)
        return ts

    async def _rewrite(self, post: Post, ts: str) -> str:
        """End a stream that may still be open, then replace its text; doing it twice does no harm."""
        channel = post.conversation.channel
        ending = self._drafts.ending(channel, ts, "")
        self._drafts.forget(channel, ts)
        if not await self._stopped(channel, ts, ending) and any(ending.values()):
            await self._stopped(channel, ts, {})
        return await self._with_fallback(
            "chat.update", post, {"channel": channel, "ts": ts, "metadata": metadata(post)}
        )

    async def _stopped(self, channel: str, ts: str, ending: Json) -> bool:
        """Whether Slack ended a stream. Raises ChannelRefused if the message is gone."""
        try:
            await self._client.call("chat.stopStream", channel=channel, ts=ts, **ending)
        except (ChannelRefused, DeliveryUncertain) as error:
            if isinstance(error, ChannelRefused) and error.code in _DRAFT_GONE:
                raise
            return False
        return True

    async def _with_fallback(self, method: str, post: Post, common: Json) -> str:
        try:
            answer = await self._client.call(method, **common, **rich(post))
        except ChannelRefused as error:
            if error.code not in _BLOCKS_REFUSED:
                raise
            self._emit("slack.blocks_refused", channel=common["channel"], reason=error.code)
            answer = await self._client.call(method, **common, **plain(post))
        ts = answer.get("ts")
        if not isinstance(ts, str):
            raise DeliveryUncertain(f"Slack's answer to {method} names no message")
        return ts


def _younger(message: dict[str, Any], post: Post) -> bool:
    return as_seconds(message.get("ts")) > as_seconds(post.newer_than_ts)
