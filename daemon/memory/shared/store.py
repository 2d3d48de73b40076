"""The shared contexts of one memory.db, for commands, doors and processes: each call is a transaction of its own."""

from collections.abc import Callable, Sequence

from daemon.core.contexts import ContextState, ContextVersion, JSONObject, Writer
from daemon.core.perception import Audience
from daemon.core.ports.clock import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.shared.awareness import AwarenessStore
from daemon.memory.shared.contexts import (
    Change,
    context_history,
    define_context,
    list_contexts,
    read_context,
    require_allowed,
    write_context,
)


class ContextStore:
    """Reads and writes contexts whose readers, where nothing else is set, are those of a workspace.

    `awareness` is who is present at them.
    """

    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace
        self.awareness = AwarenessStore(database, clock, workspace)

    async def get(self, key: str) -> ContextState:
        """A context as it is. Raises ContextRefused for what is no key, and StoreError."""
        return await self._database.read(lambda transaction: read_context(transaction, key, self._workspace))

    async def these(self, keys: Sequence[str]) -> list[ContextState]:
        """The contexts under these keys, by one read. Raises ContextRefused and StoreError."""

        async def unit(transaction: Transaction) -> list[ContextState]:
            return [await read_context(transaction, key, self._workspace) for key in keys]

        return await self._database.read(unit)

    async def all(self) -> list[ContextState]:
        """All contexts, by key. Raises StoreError."""
        return await self._database.read(list_contexts)

    async def history(self, key: str, limit: int) -> list[ContextVersion]:
        """The newest versions of a context, newest first. Raises ContextRefused and StoreError."""
        return await self._database.read(lambda transaction: context_history(transaction, key, limit))

    async def write(
        self,
        key: str,
        data: JSONObject,
        seen: int | None,
        writer: Writer,
        on_change: Callable[[], None] = lambda: None,
    ) -> ContextState:
        """Store the next version; `on_change` is called unless the data is the same as before.

        Raises ContextConflict, ContextRefused and StoreError.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[int, ContextState]:
            before = await read_context(transaction, key, self._workspace)
            return before.version, await write_context(
                transaction, key, data, seen, writer=writer, workspace=self._workspace, now=now
            )

        before, written = await self._database.write(unit)
        if written.version != before:
            on_change()
        return written

    async def require_allowed(self, key: str, change: Change, writer: Writer) -> None:
        """Write nothing. Raises ContextRefused where the change would be refused now, and StoreError."""

        async def unit(transaction: Transaction) -> None:
            found = await read_context(transaction, key, self._workspace)
            await require_allowed(transaction, found, change(found.data), writer)

        await self._database.read(unit)

    async def define(
        self,
        key: str,
        *,
        audience: Audience | None = None,
        writers: Sequence[str] | None = None,
    ) -> ContextState:
        """Set who may read a context and who may write it. Raises ContextRefused and StoreError."""
        now = self._clock.now_ms()
        return await self._database.write(
            lambda transaction: define_context(
                transaction, key, workspace=self._workspace, now=now, audience=audience, writers=writers
            )
        )
