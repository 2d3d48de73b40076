"""HTTP: this machine's addresses, and limits on the size of responses."""

from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_clear_text_abroad(url: str) -> bool:
    """Return true if a request to this address leaves the machine unencrypted."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() == "http" and not is_loopback((parts.hostname or "").lower())
    except ValueError:
        return True


MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""Bytes that one response may take, framing included. Far above any real one."""

UNCOMPRESSED = {"accept-encoding": "identity"}
"""Headers that ask for no compression: the counted bytes are then those that are read."""

_EVENTS = "text/event-stream"
_BETWEEN_EVENTS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_LONGEST_BETWEEN = 4


class OversizedResponseError(Exception):
    """Raised when a response, or one event of a stream, exceeds MAX_RESPONSE_BYTES or is compressed unasked."""


def bound_responses(
    on_oversized: Callable[[str], None] = lambda _: None,
    *,
    on_chunk: Callable[[int], None] = lambda _: None,
    each_event: bool = False,
) -> "Callable[[httpx2.Response], Awaitable[None]]":
    """Return a response hook for httpx2 that limits each body. Reading on raises OversizedResponseError.

    `on_oversized` gets the reason first. `on_chunk` gets the size of each piece, and may raise. With `each_event` a
    stream of server-sent events may go on forever, and each event is limited.
    """

    def refuse(reason: str) -> None:
        on_oversized(f"it sent {reason}")
        raise OversizedResponseError(reason)

    async def bound(response: "httpx2.Response") -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            refuse("a compressed answer, though nobody asked for that")
        events = each_event and response.headers.get("content-type", "").lower().startswith(_EVENTS)
        count = _Count(each_event=events)

        def look(chunk: bytes) -> None:
            on_chunk(len(chunk))
            if count.add(chunk) > MAX_RESPONSE_BYTES:
                refuse(f"more than {MAX_RESPONSE_BYTES} bytes")

        _look_at_body(response, look)

    return bound


def _look_at_body(response: "httpx2.Response", look: Callable[[bytes], None]) -> None:
    """Let `look` see each piece of a body before the caller reads it."""
    import httpx2

    class Seen(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._inner:
                look(chunk)
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Seen(response.stream)


class _Count:
    """The count of bytes of a body, or of the event that is being received."""

    def __init__(self, *, each_event: bool) -> None:
        self._each_event = each_event
        self._size = 0
        self._end = b""

    def add(self, chunk: bytes) -> int:
        """Count a piece. Return the bytes so far."""
        self._size += len(chunk)
        if self._each_event:
            text = self._end + chunk
            last = max(text.rfind(mark) for mark in _BETWEEN_EVENTS)
            self._size = len(text) - last if last >= 0 else self._size
            self._end = text[-_LONGEST_BETWEEN + 1 :]
        return self._size
