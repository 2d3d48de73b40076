"""Fetches the files of messages: from Slack's own hosts alone, with the bot token, and no more bytes than are read."""

import math
from http import HTTPStatus
from typing import Final

import aiohttp
from yarl import URL

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import CANVAS, LIST, files_in
from daemon.core.errors import ChannelRefused, FileRefused, NotDelivered
from daemon.core.ports.files import MOST_FILE_BYTES, SharedFile
from daemon.core.sentences import Sentence

_TIMEOUT: Final = aiohttp.ClientTimeout(total=60, sock_connect=10, sock_read=15)
_REDIRECTS: Final = 3
_SLACK: Final = "slack.com"
_ID: Final = "F"
_CHUNK: Final = 64 * 1024
_PAGE: Final = "text/html"  # what Slack sends instead of a file that the token may not see
_NOT_NOW: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT})
_MB: Final = 1_000_000
_NO_FILES: Final = {
    CANVAS: Sentence("file_canvas"),
    LIST: Sentence("file_list"),
}  # shown as files, and pages of Slack's


class FileFetcher:
    """Fetches with the session and the token of the client; `api_url` is the address of the Web API."""

    def __init__(self, client: SlackClient, api_url: str) -> None:
        self._client = client
        self._api_url = api_url

    async def described(self, file: SharedFile) -> SharedFile:
        """See `Channel.described`; what another organisation shared may come as an id alone (Slack: file_access)."""
        if file.url or not file.id.startswith(_ID):
            return file
        try:
            answer = await self._client.call("files.info", file=file.id)
        except ChannelRefused as error:
            raise FileRefused(Sentence("file_gone"), hint=error.hint or error.code) from error
        for found in files_in({"files": [answer.get("file")]}):
            return found
        raise FileRefused(Sentence("file_gone"))

    async def fetch(self, file: SharedFile) -> bytes:
        """See `Channel.fetch`."""
        if file.media_type in _NO_FILES:
            raise FileRefused(_NO_FILES[file.media_type])
        if file.size > MOST_FILE_BYTES:
            raise _too_large(file.size)
        url = self._allowed(file.url)
        try:
            for _ in range(_REDIRECTS + 1):
                found = await self._get(url, file)
                if isinstance(found, bytes):
                    return found
                url = found
        except (aiohttp.ClientError, OSError, ValueError) as error:  # a timeout is an OSError
            raise NotDelivered(f"a file could not be fetched ({type(error).__name__})") from error
        raise FileRefused(Sentence("file_gone"))

    async def _get(self, url: URL, file: SharedFile) -> bytes | URL:
        """The bytes, or where Slack says that they are. No piece is unpacked, so that what is counted is what came."""
        web = self._client.web
        assert web.session is not None  # made together with the SDK's client
        headers = {"Authorization": f"Bearer {web.token}", "Accept-Encoding": "identity"}
        async with web.session.get(
            url, headers=headers, allow_redirects=False, proxy=web.proxy, timeout=_TIMEOUT
        ) as response:
            if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
                return self._allowed(str(url.join(URL(response.headers.get("Location", "")))))
            if response.status in _NOT_NOW or response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise NotDelivered(f"a file can't be fetched now (status {response.status})")
            page = response.content_type == _PAGE and file.media_type != _PAGE
            if response.status != HTTPStatus.OK or page or "Content-Encoding" in response.headers:
                raise FileRefused(
                    Sentence("file_gone"), hint=f"status {response.status}; is the scope files:read granted?"
                )
            return await _bounded(response)

    def _allowed(self, url: str) -> URL:
        """An address at Slack, or where the Web API is. Raises FileRefused for any other: it would get the token."""
        if not url:
            raise FileRefused(Sentence("file_gone"))
        try:
            there, api = URL(url), URL(self._api_url)
            host = (there.host or "").lower()
            at_slack = there.scheme == "https" and there.port == _HTTPS and f".{host}".endswith(f".{_SLACK}")
            if there.user is None and (at_slack or there.origin() == api.origin()):
                return there
        except ValueError:
            pass
        raise FileRefused(Sentence("file_elsewhere"))


_HTTPS: Final = 443


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for piece in response.content.iter_chunked(_CHUNK):
        data += piece
        if len(data) > MOST_FILE_BYTES:
            raise _too_large(max(response.content_length or 0, len(data)))
    return bytes(data)


def _too_large(size: int) -> FileRefused:
    return FileRefused(Sentence("file_too_large", size=f"{math.ceil(size / _MB):,}", most=MOST_FILE_BYTES // _MB))
