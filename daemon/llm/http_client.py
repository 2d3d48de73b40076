"""The HTTP client of both SDKs: bounded answers, no redirects, no proxy for servers on this machine."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from daemon.llm.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2

MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""Bytes that one answer may take, framing and hidden reasoning included; far above any real answer."""

_CONNECT_SECONDS = 10.0


class OversizedResponseError(Exception):
    """An answer passed MAX_RESPONSE_BYTES."""


def open_http_client(endpoint: Endpoint) -> "httpx2.AsyncClient":
    """A client for one endpoint. Reads have no timeout here: `daemon.llm.resilience` has the deadlines.

    Redirects are not followed: they would send prompts to a host that is not configured. Compression is not offered,
    so that the counted bytes are the received ones.
    """
    import httpx2

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=not endpoint.on_loopback,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [_bound]},
    )


async def _bound(response: "httpx2.Response") -> None:
    """Limit the body of a response while it is read (httpx2 event hook)."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for chunk in self._inner:
                count += len(chunk)
                if count > MAX_RESPONSE_BYTES:
                    raise OversizedResponseError(f"more than {MAX_RESPONSE_BYTES} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Bounded(response.stream)
