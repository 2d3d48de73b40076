"""The delivery of posts: each is sent exactly once, and posts that may have been sent are found again."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from daemon.channels.slack.api import Json, SlackClient
from daemon.channels.slack.appearance import Appearances
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.files import FileSharing, is_markdown
from daemon.channels.slack.history import as_seconds, read_messages
from daemon.channels.slack.markup import inert
from daemon.channels.slack.refusals import (
    APP,
    CANNOT_CHANGE,
    DEAD_TOKEN,
    FILE_GONE,
    MESSAGE_GONE,
    NO_BROADCAST,
    NO_METADATA,
    NO_THREADS,
    PLACE,
    REACTS_NO_MORE,
    STREAM_OVER,
    THREAD,
)
from daemon.channels.slack.sessions import Sessions
from daemon.channels.slack.speech import Drafts
from daemon.channels.slack.splitting import buttons, key_of, metadata, pieces_of, plain, rich, sectioned
from daemon.core.errors import ChannelError, ChannelRefused, DeliveryUncertain, HistoryClosed, NotDelivered
from daemon.core.ports.library import FoundPost, Post
from daemon.core.text import close_fence

_FINAL: Final = PLACE | APP  # error codes that a plainer form can't cure
_DM: Final = "D"  # the prefix of the ids of DMs
_FILE: Final = "F"  # the prefix of the ids of files
_PAGES: Final = 10
_NO_WORDS: Final = "…"


class SlackDelivery:
    """The delivery to Slack. `reader` raises NotDelivered while our own ids are unknown.

    A message whose form Slack refuses is sent again in a plainer form: a draft is rewritten or replaced by a new
    message, blocks become text, a long text becomes several messages. Only a refusal of the place, the app or the last
    form is raised.
    """

    def __init__(  # one of each part it joins
        self,
        client: SlackClient,
        drafts: Drafts,
        sessions: Sessions,
        appearances: Appearances,
        reader: Callable[[], EventReader],
    ) -> None:
        self._client = client
        self._files = FileSharing(client)
        self._drafts = drafts
        self._sessions = sessions
        self._appearances = appearances
        self._reader = reader

    async def deliver(self, post: Post) -> str:
        """Deliver the post as `Channel.deliver` requires, and return the message's ts."""
        if post.nod is not None or post.withdrawn or post.file:
            return await (self._nod if post.nod is not None else self._withdraw if post.withdrawn else self._share)(
                post
            )
        if post.revises is not None:
            return await self._revise(post, post.revises)
        if post.draft is None:
            return await self._post(post)
        if post.closes:
            return await self._close(post, post.draft)
        try:
            return await self._finish(post, post.draft)
        except ChannelRefused as error:
            self._client.emit("slack.draft_gone", channel=post.conversation.channel, ts=post.draft, reason=error.code)
            return await self._replace(post, post.draft)

    async def _nod(self, post: Post) -> str:
        """React to a message, and delete a draft below it. A message that is gone needs no answer."""
        nod = post.nod
        assert nod is not None  # checked by the only caller
        if post.draft is not None:
            await self._withdraw(post)
        try:
            await self._client.call("reactions.add", channel=post.conversation.channel, timestamp=nod.ts, name=nod.name)
        except DeliveryUncertain as doubt:
            raise NotDelivered(doubt.message, hint=doubt.hint) from doubt
        except ChannelRefused as error:
            if error.code not in REACTS_NO_MORE:
                raise
        return nod.ts

    async def _share(self, post: Post) -> str:
        try:
            return await self._files.share(post)
        except ChannelRefused as error:
            if not is_markdown(post) or error.code in _FINAL | DEAD_TOKEN:
                raise
            self._client.emit("slack.file_refused", channel=post.conversation.channel, reason=error.code)
            return await self._post(replace(post, file="", last=False))

    async def find(self, post: Post) -> FoundPost | None:
        """Find the post as `Channel.find` requires. A draft is a message of ours without a key.

        The draft is the known one or, if `draft_lost`, the newest. A revision or a reaction is never found, since
        making it twice does no harm.
        """
        if post.revises is not None or (post.nod is not None and not post.draft_lost):
            return None
        try:
            reader = self._reader()
        except NotDelivered as unknown:
            raise DeliveryUncertain(unknown.message) from unknown
        channel = post.conversation.channel
        ours, whole = await self._ours(post, reader)
        if post.file and (shared := _shared(ours, post.file)):
            return FoundPost(shared, finished=True)
        unkeyed = [message["ts"] for message in ours if key_of(message) is None and _younger(message, post)]
        if standing := {pieces_of(message): message["ts"] for message in ours if key_of(message) == post.key}:
            (_, of), ts = min(standing.items())
            if len(standing) >= of and post.draft in unkeyed and not post.closes:
                await self._delete(channel, str(post.draft))  # the complete post exists, the draft is redundant
            return FoundPost(ts, finished=len(standing) >= of)
        if not whole:
            raise DeliveryUncertain(f"there is too much history in {channel} to be sure")
        if post.draft in unkeyed:
            return FoundPost(str(post.draft), finished=False)
        return FoundPost(unkeyed[-1], finished=False) if post.draft_lost and unkeyed else None

    async def _ours(self, post: Post, reader: EventReader) -> tuple[list[Json], bool]:
        """Return our messages that can include the post, and True if the history is complete."""
        found, whole = await self._history(post, post.reply_to)
        if post.conversation.channel.startswith(_DM):
            timeline, timeline_whole = await self._history(post, "")  # the post goes there if its thread is gone
            found, whole = [*found, *timeline], whole and timeline_whole
        elif post.reply_to and not any(map(reader.is_own, found)):
            timeline, _ = await self._history(post, "")  # the post goes there if the channel has no threads
            found += [message for message in timeline if key_of(message) == post.key]
        return [message for message in found if reader.is_own(message) and isinstance(message.get("ts"), str)], whole

    async def _history(self, post: Post, thread: str) -> tuple[list[Json], bool]:
        """Return the messages of the thread or timeline that can include the post, and True if no page is left."""
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
            if isinstance(error, ChannelRefused) and error.code in THREAD:
                return [], True
            for_good = isinstance(error, ChannelRefused) and error.code not in DEAD_TOKEN
            unread = HistoryClosed if for_good else DeliveryUncertain
            raise unread(f"Slack's history can't be read: {error.message}", hint=error.hint) from error

    async def _post(self, post: Post) -> str:
        channel = post.conversation.channel
        if not post.reply_to:
            return await self._post_under(post, None)
        try:
            return await self._post_under(post, post.reply_to)
        except ChannelRefused as error:
            if error.code not in THREAD or not (channel.startswith(_DM) or error.code == NO_THREADS):
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
            post.conversation.soul, lambda appearance: self._post_in_any_form(post, common | dict(appearance))
        )

    async def _post_in_any_form(self, post: Post, common: Json) -> str:
        for body in await asyncio.to_thread(_with_blocks, post):
            try:
                return await self._send("chat.postMessage", common | body)
            except ChannelRefused as error:
                common = self._plainer(common, error)
        return await self._post_plain(post, common)

    async def _post_plain(self, post: Post, common: Json) -> str:
        """Post the text alone, in as many messages as needed. Pieces that are posted already are not posted again."""
        bodies = await asyncio.to_thread(plain, post)
        standing = await self._standing(post) if post.draft and len(bodies) > 1 else {}
        numbered = common.get("metadata") is not None
        for number, body in enumerate(bodies):
            if number in standing:
                continue
            key = {"metadata": metadata(post, number, len(bodies))} if numbered else {}
            try:
                standing[number] = await self._send("chat.postMessage", common | body | key)
            except NotDelivered as error:
                if not standing:
                    raise
                raise DeliveryUncertain(f"only {len(standing)} of {len(bodies)} pieces are posted") from error
        return standing[0]

    async def _standing(self, post: Post) -> dict[int, str]:
        found, _ = await self._history(post, post.reply_to)
        ours = filter(self._reader().is_own, found)
        return {pieces_of(message)[0]: str(message["ts"]) for message in ours if key_of(message) == post.key}

    async def _revise(self, post: Post, ts: str) -> str:
        channel = post.conversation.channel
        try:
            return await self._update(post, {"channel": channel, "ts": ts})
        except ChannelRefused as error:
            if error.code not in CANNOT_CHANGE:
                raise
            self._client.emit("slack.revision_gone", channel=channel, ts=ts, reason=error.code)
            return ts

    async def broadcast(self, post: Post) -> None:
        """Show the post in the channel as `Channel.show_in_channel` requires (Slack: chat.update, reply_broadcast)."""
        common = {"channel": post.conversation.channel, "ts": post.revises, "reply_broadcast": True}
        await self._update(post, common)

    async def _replace(self, post: Post, draft: str) -> str:
        """Post the reply as a new message, then delete the draft, which would else remain as a duplicate."""
        channel = post.conversation.channel
        self._drafts.forget(channel, draft)
        ts = await self._post(post)
        if ts != draft:
            await self._delete(channel, draft)
        await self._sessions.end(channel, post.reply_to)
        return ts

    async def _withdraw(self, post: Post) -> str:
        """Delete a message of ours, with its file. If Slack keeps the message, its text is blanked."""
        channel, stands = post.conversation.channel, str(post.revises or post.draft)
        self._drafts.forget(channel, stands)
        try:
            if post.file:
                await self._files.delete(stands if stands.startswith(_FILE) else await self._file_shown(post))
            else:
                await self._client.call("chat.delete", channel=channel, ts=stands)
        except ChannelRefused as error:
            if error.code in DEAD_TOKEN:
                raise
            if error.code not in MESSAGE_GONE | FILE_GONE:
                blank = not post.file and await self._blanked(post, stands)
                self._client.emit("slack.withdrawn_left", channel=channel, ts=stands, reason=error.message, blank=blank)
        await self._sessions.end(channel, post.reply_to)
        return stands

    async def _blanked(self, post: Post, ts: str) -> bool:
        common: Json = {"channel": post.conversation.channel, "ts": ts}
        try:
            if post.revises is None:
                await self._stopped(post.conversation.channel, ts, {})
            await self._update(replace(post, body=_NO_WORDS, last=False), common)
        except ChannelRefused:
            return False
        return True

    async def _file_shown(self, post: Post) -> str:
        messages, _ = await self._history(post, post.reply_to)
        shown = [file for message in messages for file in message.get("files") or () if isinstance(file, dict)]
        return next((str(file.get("id")) for file in shown if file.get("name") == post.file), "")

    async def _delete(self, channel: str, ts: str) -> None:
        try:
            await self._client.call("chat.delete", channel=channel, ts=ts)
        except ChannelError as error:
            self._client.emit("slack.draft_left", channel=channel, ts=ts, reason=error.message)

    async def _finish(self, post: Post, ts: str) -> str:
        """Append the rest of the reply to the draft, or rewrite the draft if that is unknown or not possible."""
        channel, body = post.conversation.channel, inert(post.body)
        shown = self._drafts.text(channel, ts)
        if shown is None or not body.startswith(shown) or post.dates:
            return await self._rewrite(post, ts)
        try:
            await self._sessions.stop_stream(
                channel,
                ts,
                blocks=buttons(post) or None,
                metadata=metadata(post),
                **self._drafts.ending(channel, ts, body[len(shown) :]),
            )
        except ChannelRefused as error:
            if error.code in MESSAGE_GONE:
                raise
            return await self._rewrite(post, ts, over=error.code in STREAM_OVER)
        except DeliveryUncertain:
            self._drafts.set_text(channel, ts, None)
            raise
        self._drafts.forget(channel, ts)
        return ts

    async def _close(self, post: Post, ts: str) -> str:
        """End a draft with its present text and the post's text below. If that is not possible, post the text alone."""
        channel = post.conversation.channel
        shown = self._drafts.text(channel, ts) or ""
        text = f"{close_fence(shown)[len(shown.rstrip()) :]}\n\n{inert(post.body)}" if post.body else ""
        forms = self._drafts.forms(channel, ts, text)
        self._drafts.forget(channel, ts)
        for form in forms:
            try:
                await self._sessions.stop_stream(channel, ts, metadata=metadata(post), **form)
            except ChannelRefused as error:
                if error.code in _FINAL:
                    raise
                if error.code in MESSAGE_GONE | STREAM_OVER:
                    break
            else:
                return ts
        await self._sessions.end(channel, post.reply_to)
        return await self._post(post) if post.body else ts

    async def _rewrite(self, post: Post, ts: str, *, over: bool = False) -> str:
        """End a stream that may still be open, then replace its text. Safe to repeat."""
        channel = post.conversation.channel
        ending = self._drafts.ending(channel, ts, "")
        self._drafts.forget(channel, ts)
        stopped = not over and await self._stopped(channel, ts, ending)
        if not stopped and not over and any(ending.values()):
            stopped = await self._stopped(channel, ts, {})
        updated = await self._update(post, {"channel": channel, "ts": ts, "metadata": metadata(post)})
        if not stopped:
            await self._sessions.end(channel, post.reply_to)
        return updated

    async def _stopped(self, channel: str, ts: str, ending: Json) -> bool:
        """End a stream and return True if Slack ended it. Raises ChannelRefused if the message is gone."""
        try:
            await self._sessions.stop_stream(channel, ts, **ending)
        except (ChannelRefused, DeliveryUncertain) as error:
            if isinstance(error, ChannelRefused) and error.code in MESSAGE_GONE:
                raise
            return False
        return True

    async def _update(self, post: Post, common: Json) -> str:
        """Replace the whole text of a message, in the richest form that Slack takes, or raise ChannelRefused."""
        whole = await asyncio.to_thread(plain, post)
        last = whole[0] if len(whole) == 1 else None
        for body in await asyncio.to_thread(_with_blocks, post):
            try:
                return await self._send("chat.update", common | body)
            except ChannelRefused as error:
                if last is None or error.code in CANNOT_CHANGE | NO_BROADCAST:
                    raise
                common = self._plainer(common, error)
        return await self._send("chat.update", common | (last or {}))

    def _plainer(self, common: Json, error: ChannelRefused) -> Json:
        """Return the arguments to try again with after a refusal of the form, or raise the refusal."""
        if error.code in _FINAL:
            raise error
        self._client.emit("slack.blocks_refused", channel=common["channel"], reason=error.code)
        return common | {"metadata": None} if error.code in NO_METADATA else common

    async def _send(self, method: str, arguments: Json) -> str:
        ts = (await self._client.call(method, **arguments)).get("ts")
        if not isinstance(ts, str):
            raise DeliveryUncertain(f"Slack's answer to {method} names no message")
        return ts


def _with_blocks(post: Post) -> tuple[Json, ...]:
    """Return the forms with blocks, the richest first. Call it in a thread: hostile markdown takes long to parse."""
    more = (sectioned(post),) if (post.approval is not None and post.revises is None) or post.answers else ()
    return (rich(post), *more)


def _shared(messages: Sequence[Json], name: str) -> str:
    """Return the ts of the message that shows a file of this name, which is unique, or an empty string."""
    for message in messages:
        if any(isinstance(one, dict) and one.get("name") == name for one in message.get("files") or ()):
            return str(message["ts"])
    return ""


def _younger(message: dict[str, Any], post: Post) -> bool:
    return as_seconds(message.get("ts")) > as_seconds(post.newer_than_ts)
