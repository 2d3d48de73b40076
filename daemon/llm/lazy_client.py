"""An SDK's client that is built in a thread at the first call: importing the SDK takes up to a second."""

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """What every SDK's client can do."""

    async def close(self) -> None:
        """Let go of its connections."""


C = TypeVar("C", bound=Closable)


class LazyClient(Generic[C]):
    """Holds one client; `build` imports the SDK and makes it."""

    def __init__(self, build: Callable[[], C]) -> None:
        self._build = build
        self._client: C | None = None
        self._building = asyncio.Lock()

    async def get(self) -> C:
        """The client, built now if this is the first call."""
        async with self._building:
            if self._client is None:
                self._client = await asyncio.to_thread(self._build)
            return self._client

    async def close(self) -> None:
        """Let go of its connections, if it was ever built."""
        if self._client is not None:
            await self._client.close()
