"""Clients of the vendors' SDKs, each built at its first use.

Importing an SDK takes up to a second, so a client is built in a thread.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from daemon.llm.endpoint import Endpoint
from daemon.llm.http_client import open_http_client

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

Client = TypeVar("Client", bound="AsyncAnthropic | AsyncOpenAI")


class SdkClient(Generic[Client]):
    """A client that `connect` builds, in a thread, at the first use."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._client: Client | None = None
        self._connecting = asyncio.Lock()

    async def get(self) -> Client:
        """The client; all uses share one."""
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
            return self._client

    async def aclose(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.close()


def openai_client(endpoint: Endpoint, *, timeout: float | None) -> "AsyncOpenAI":
    """A client of OpenAI's SDK that never tries again by itself; imports the SDK, so call it in a thread."""
    import openai

    return openai.AsyncOpenAI(
        api_key=endpoint.api_key.get_secret_value(),
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=timeout,
        http_client=open_http_client(endpoint),
    )
