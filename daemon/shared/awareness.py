"""Awareness: who is present at a shared context now, and in which state, under the seed's names (seed 003)."""

import asyncio

from daemon.core.contexts import JSONObject, Writer
from daemon.core.errors import DaemonError
from daemon.core.members import Member
from daemon.memory.shared.awareness import AwarenessStore
from daemon.shared.news import StoreNews


class Awareness:
    """One member at one key. Its state is seen by all who may read the context, as long as this process lives."""

    def __init__(self, store: AwarenessStore, news: StoreNews, key: str, member: str, writer: Writer) -> None:
        self._store = store
        self._news = news
        self._key = key
        self._member = member
        self._writer = writer
        self._local: JSONObject = {}
        self._written: JSONObject | None = None
        self._writing = asyncio.Lock()

    @property
    def local_state(self) -> JSONObject:
        """The state of this member, as it was set last; empty before."""
        return self._local

    async def set_local_state(self, state: JSONObject) -> None:
        """Show this state to others; the same one again costs nothing. It takes 4 KiB of JSON at most.

        Raises ContextRefused, MemberTaken where another process has this name here, and StoreError.
        """
        self._local = dict(state)
        async with self._writing:
            if (newest := self._local) == self._written:
                return
            try:
                await self._store.set(self._key, self._member, self._store.process, newest, writer=self._writer)
            except DaemonError:
                if self._local is newest:
                    self._local = self._written or {}
                raise
            self._written = newest
        self._news.tell()

    async def set_local_state_field(self, field: str, value: object) -> None:
        """Show one field of the state changed. Raises as `set_local_state` does."""
        await self.set_local_state({**self._local, field: value})

    async def get_states(self) -> dict[str, JSONObject]:
        """The states of all who are present, by member; of dead processes there is none. Raises StoreError."""
        return {one.member: one.state for one in await self.members()}

    async def members(self) -> list[Member]:
        """All who are present, by name. Raises StoreError."""
        return await self._store.members(self._key, self._writer.audience)

    async def leave(self) -> None:
        """Be present no more. Raises StoreError."""
        async with self._writing:
            if self._written is None:
                return
            await self._store.leave(self._key, self._member, self._store.process)
            self._local, self._written = {}, None
        self._news.tell()
