"""Which sessions of Claude Code are there now, as their rows say."""

from typing import Final

from daemon.core.ports.clock import Clock
from daemon.core.sessions import CodeSession, Lost, Visibility
from daemon.memory.queues.leases import is_recent
from daemon.memory.shared.sessions import SessionStore

LEASE_MS: Final = 3_600_000
"""After so long without a word a session counts as gone that has no companion."""


class LivingSessions:
    """The sessions of a workspace that are there now, as far as people other than their owners may know of them."""

    def __init__(self, store: SessionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def seen(self) -> tuple[CodeSession, ...]:
        """Those that have not ended and are not hidden, by project and name. Raises StoreError."""
        shown = [one for one in await self._store.living() if one.visibility is not Visibility.HIDDEN]
        living = [one for one in shown if as_found(one, self._clock.now_ms()).living]
        return tuple(sorted(living, key=lambda one: (one.project.casefold(), one.name)))


def as_found(session: CodeSession, now_ms: int) -> CodeSession:
    """The session, gone where nothing came of it for an hour. While a companion of it waits it is there."""
    if session.living and not session.companion and not is_recent(session.seen_ms, now_ms, LEASE_MS):
        return session.gone(Lost.LEASE, min(session.seen_ms + LEASE_MS, now_ms))
    return session
