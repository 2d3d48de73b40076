"""Files: long parts of replies become files, and shared files are fetched and sent."""

import csv
import hashlib
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

import aiohttp
from yarl import URL

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import CANVAS, LIST, files_in
from daemon.core.errors import ChannelRefused, FileRefused, NotDelivered
from daemon.core.ports.library import Post, ReplyFile
from daemon.core.ports.services import MOST_FILE_BYTES, SharedFile
from daemon.core.sentences import Sentence, Words

MOST_FILES: Final = 5
"""Files of one reply. Further long parts stay in the message."""

_LONG_LINES: Final = 60
_LONG: Final = 4_000  # characters
_ROWS, _COLUMNS = 25, 10  # rows and columns of a table that a message still shows well
_FENCE: Final = re.compile(r" {0,3}(?P<mark>`{3,32}|~{3,32})[ \t]*(?P<info>[^`\n]{0,128})")
_ROW: Final = re.compile(r" {0,3}\|.*\|[ \t]*")
_RULE: Final = re.compile(r" {0,3}\|[ \t:|-]*-[ \t:|-]*\|[ \t]*")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a cell with such a prefix may be run by a spreadsheet
_NUMBER: Final = re.compile(r"[+-]?[\d.,]+ ?%?")
_ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{name: name for name in ("c", "cpp", "css", "csv", "diff", "go", "h", "html", "ini", "java", "json", "jsx")},
        **{name: name for name in ("kt", "lua", "md", "php", "r", "sql", "svg", "swift", "toml", "tsv", "tsx", "xml")},
        "py": "py",
        "python": "py",
        "js": "js",
        "javascript": "js",
        "ts": "ts",
        "typescript": "ts",
        "rb": "rb",
        "ruby": "rb",
        "rs": "rs",
        "rust": "rs",
        "sh": "sh",
        "bash": "sh",
        "shell": "sh",
        "yaml": "yaml",
        "yml": "yaml",
        "markdown": "md",
        "kotlin": "kt",
        "csharp": "cs",
        "cs": "cs",
        "patch": "diff",
    }
)
_DRAFTS: Final = ("md", "txt")
_TABLES: Final = ("csv", "tsv")


def with_files(reply: str, key: str, words: Words) -> tuple[str, tuple[ReplyFile, ...]]:
    """Return the reply with a line in place of each part that becomes a file, and those files.

    Form and length alone decide. The outbox keeps the part as markdown, to post it as text if Slack refuses the file.
    `key` is unique to the reply, and makes the file names unique to the post.
    """
    kept, files = list[str](), list[ReplyFile]()
    for block in _blocks(reply.split("\n")):
        kind = _kind(block) if len(files) < MOST_FILES else ""
        if not kind:
            kept += block
            continue
        mark = hashlib.sha256(f"{key} {len(files)}".encode()).hexdigest()[:10]
        name = f"{_stem(kind)}-{mark}.{kind}"
        files.append(ReplyFile(name, "\n".join(block)))
        kept.append(words.say("file_below", name=name))
    return ("\n".join(kept), tuple(files)) if files else (reply, ())


def content_of(post: Post) -> bytes:
    """Return the bytes of a post's file: the content of its code block, its table as CSV, or the body unchanged."""
    lines = post.body.split("\n")
    if _is_table(lines):
        return _as_csv(lines).encode()
    return "\n".join((*lines[1:-1], "") if is_markdown(post) else lines).encode()


def is_markdown(post: Post) -> bool:
    """Return True if the body of a post with a file can also be posted as text."""
    lines = post.body.split("\n")
    return _is_table(lines) or (len(lines) > 1 and _FENCE.fullmatch(lines[0]) is not None)


def _is_table(lines: Sequence[str]) -> bool:
    return len(lines) > 1 and _ROW.fullmatch(lines[0]) is not None and _RULE.fullmatch(lines[1]) is not None


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield groups of lines: a closed code block, a table, or one other line. An unclosed block yields lines."""
    at = 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at])
        end = _end_of_fence(lines, at, opening["mark"]) if opening else _end_of_table(lines, at) or at + 1
        if not end:
            yield from ([line] for line in lines[at:])
            return
        yield list(lines[at:end])
        at = end


def _end_of_fence(lines: Sequence[str], at: int, mark: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    return next((number + 1 for number in range(at + 1, len(lines)) if closing.fullmatch(lines[number])), 0)


def _end_of_table(lines: Sequence[str], at: int) -> int:
    if at + 1 >= len(lines) or not (_ROW.fullmatch(lines[at]) and _RULE.fullmatch(lines[at + 1])):
        return 0
    return next((number for number in range(at + 2, len(lines)) if not _ROW.fullmatch(lines[number])), len(lines))


def _kind(block: Sequence[str]) -> str:
    """Return the extension of the file that a block becomes, or an empty string if it stays in the message."""
    opening = _FENCE.fullmatch(block[0])
    if len(block) > 1 and opening is not None:
        language = (opening["info"].split() or [""])[0].lower()
        kind = _ENDINGS.get(language, "txt")
        inside = len(block) - 2
        rows = kind in _TABLES and inside > _ROWS
        return kind if rows or kind == "svg" or inside > _LONG_LINES or sum(map(len, block)) > _LONG else ""
    return "csv" if _is_table(block) and (len(_cells(block[0])) > _COLUMNS or len(block) - 2 > _ROWS) else ""


def _stem(kind: str) -> str:
    if kind in _TABLES:
        return "table"
    return "picture" if kind == "svg" else "draft" if kind in _DRAFTS else "code"


def _as_csv(lines: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [_inert(cell) for cell in _cells(line)] for line in (lines[0], *lines[2:]) if line.strip()
    )
    return out.getvalue()


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    cells = _CELL_END.split(inner)
    return [cell.replace("\\|", "|").strip() for cell in (cells[:-1] if not cells[-1].strip() else cells)]


def _inert(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell


_TIMEOUT: Final = aiohttp.ClientTimeout(total=60, sock_connect=10, sock_read=15)
_REDIRECTS: Final = 3
_SLACK: Final = "slack.com"
_ID: Final = "F"
_CHUNK: Final = 64 * 1024
_PAGE: Final = "text/html"  # Slack's answer instead of a file that the token may not see
_NOT_NOW: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT})
_MB: Final = 1_000_000
_NO_FILES: Final = {
    CANVAS: Sentence("file_canvas"),
    LIST: Sentence("file_list"),
}  # canvases and lists: Slack shows them as files, but they are pages


class FileFetcher:
    """The fetcher of files, with the client's session and token. `api_url` is the address of the Web API."""

    def __init__(self, client: SlackClient, api_url: str) -> None:
        self._client = client
        self._api_url = api_url

    async def described(self, file: SharedFile) -> SharedFile:
        """Return the file with its details. Other organisations may share an id alone (Slack: file_access)."""
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
        """Return the bytes, or the target of a redirect. Compressed answers are refused, as their size is unknown."""
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
        """Return a URL at Slack or at the Web API. Raises FileRefused for any other, which would receive the token."""
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


class FileSharing:
    """The upload of files, in Slack's three steps."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client

    async def share(self, post: Post) -> str:
        """Share the body as a file and return Slack's id of it. Only the last step shows the file, and is made once.

        Raises what `Channel.deliver` raises. Slack refuses the call without the scope `files:write`.
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
        """Delete a shared file in all channels. Raises what `SlackClient.call` raises."""
        await self._client.call("files.delete", file=file)
