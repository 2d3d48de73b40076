"""Which sessions of Claude Code are there now: what their rows say, and whether their processes still run."""

import asyncio
from collections.abc import Sequence
from typing import Final

from daemon.core.ports.clock import Clock
from daemon.core.sessions import CodeSession, Lost, Visibility
from daemon.memory.queues.leases import is_recent
from daemon.memory.queues.presence import ProcessIdentity
from daemon.memory.shared.sessions import SessionStore

LEASE_MS: Final = 3_600_000
"""After so long without a word a session counts as gone whose process can't be seen from here."""


class LivingSessions:
    """The sessions of a workspace that are there now, as far as people other than their owners may know of them."""

    def __init__(self, store: SessionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def seen(self) -> tuple[CodeSession, ...]:
        """Those that have not ended and are not hidden, by project and name. Raises StoreError."""
        shown = [one for one in await self._store.living() if one.visibility is not Visibility.HIDDEN]
        living = [one for one in await as_they_are(shown, self._clock.now_ms()) if one.living]
        return tuple(sorted(living, key=lambda one: (one.project.casefold(), one.name)))


async def as_they_are(sessions: Sequence[CodeSession], now_ms: int) -> list[CodeSession]:
    """The sessions `as_found`; their processes are looked at beside the event loop."""
    if not any(one.living for one in sessions):
        return list(sessions)
    return await asyncio.to_thread(lambda: [as_found(one, now_ms) for one in sessions])


def as_found(session: CodeSession, now_ms: int) -> CodeSession:
    """The session, gone where its process is, or where that can't be seen and nothing came for an hour.

    While a companion of it waits it is there.
    """
    if not session.living:
        return session
    seen = process_seen(session.process)
    if seen is False:
        return session.gone(Lost.PROCESS, session.seen_ms)
    lasts = session.companion or is_recent(session.seen_ms, now_ms, LEASE_MS)  # not one of a time to come
    if seen is None and not lasts:
        return session.gone(Lost.LEASE, min(session.seen_ms + LEASE_MS, now_ms))
    return session


def process_seen(process: str) -> bool | None:
    """Whether a process runs; None where it can't be seen from here.

    Machines may share a name: only one of this host, boot and namespace is looked for.
    """
    try:
        identity = ProcessIdentity.parse(process)
    except ValueError:
        return None
    if not identity.in_sight or not identity.start or identity.pid <= 0:
        return None
    return not identity.surely_dead()
