"""The soul's memory as sessions of Claude Code know it: what the whole workspace may know, and what they add.

Where a person chose so for a key, its sessions know their direct messages, too.
"""

from collections.abc import Awaitable, Callable

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.clock import Clock
from daemon.core.ports.library import Passage
from daemon.core.sessions import DOOR, KeyOwner
from daemon.memory.database import Database
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.shared.session_words import asked_since, keep_words


class WorkspaceMemory:
    """Implements the door's `SessionMemory` for one soul."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        surfacing: Surfacing,
        *,
        soul: str,
        workspace: str,
        audience_of: Callable[[KeyOwner], Awaitable[Audience]],
    ) -> None:
        self._database = database
        self._audience_of = audience_of
        self._clock = clock
        self._surfacing = surfacing
        self._soul, self._workspace = soul, workspace

    async def recall(self, owner: KeyOwner, query: str, limit: int) -> tuple[Passage, ...]:
        """See `SessionMemory.recall`. Raises StoreError and IndexDamaged."""
        audience = Audience(AudienceKind.WORKSPACE, self._workspace)
        if owner.direct:
            audience = await self._audience_of(owner)
        readers = Readers(audience, members_only=not owner.outsider, apart=not owner.direct)
        where = ConversationKey(self._soul, self._workspace, DOOR, owner.key)
        return await self._surfacing.search(where, readers, query, limit)

    async def keep(self, owner: KeyOwner, where: ConversationKey, text: str, audience: Audience) -> bool:
        """See `SessionMemory.keep`."""
        now = self._clock.now_ms()
        return await self._database.write(lambda unit: keep_words(unit, owner, where, text, audience, now))

    async def asked(self, owner: KeyOwner, since_ms: int) -> int:
        """See `SessionMemory.asked`."""
        return await self._database.read(lambda unit: asked_since(unit, owner, self._soul, self._workspace, since_ms))
