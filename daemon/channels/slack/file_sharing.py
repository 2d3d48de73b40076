"""Sends a post as a file: its bytes first, which no user sees, and then one call that shows it in the conversation."""

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.reply_files import content_of
from daemon.core.errors import ChannelRefused
from daemon.core.ports.posts import Post


class FileSharing:
    """Shares files through Slack's three steps."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client

    async def share(self, post: Post) -> str:
        """Share the body as a file; returns Slack's id of it. Only the last step shows anything, and is made once.

        Raises what `Channel.deliver` raises; without the scope `files:write` Slack refuses it.
        """
        content = content_of(post)
        reserved = await self._client.call("files.getUploadURLExternal", filename=post.file, length=len(content))
        url, file = reserved.get("upload_url"), reserved.get("file_id")
        if not (isinstance(url, str) and isinstance(file, str)):
            raise ChannelRefused("Slack gave no address for a file", code="no_upload_url")
        await self._client.upload(url, content)
        await self._client.call(
            "files.completeUploadExternal",
            files=[{"id": file, "title": post.file}],
            channel_id=post.conversation.channel,
            thread_ts=post.reply_to or None,
        )
        return file

    async def delete(self, file: str) -> None:
        """Delete a shared file by Slack's id of it, wherever it is shown. Raises what `SlackClient.call` raises."""
        await self._client.call("files.delete", file=file)
