"""Watches bound threads: a session that is gone is told once, one that comes back goes on, one that is over ends."""

from typing import Final

from daemon.core.bound_threads import KEPT_MS
from daemon.core.ports.clock import Clock
from daemon.core.sessions import CodeSession, Visibility
from daemon.memory.shared.thread_bindings import ThreadBindings, WatchedThread
from daemon.shared.living_sessions import as_found

_BETWEEN_MS: Final = 10_000  # after `/clear` the next session of the process is there within moments


class WatchedThreads:
    """The bound threads of one soul."""

    def __init__(self, bindings: ThreadBindings, clock: Clock, soul: str) -> None:
        self._bindings = bindings
        self._clock = clock
        self._soul = soul

    async def look(self) -> int:
        """Let the threads hear what became of their sessions; gives how many there were. Raises StoreError."""
        return sum([await self._heed(one) for one in await self._bindings.of_soul(self._soul)])

    async def _heed(self, thread: WatchedThread) -> bool:
        bound, session, now = thread.bound, thread.session, self._clock.now_ms()
        if session is None or thread.key_ended or _is_lost(thread, session):
            return await self._bindings.end(bound, "bound_lost")
        found = as_found(session, now)
        if found.living and found.attended is not False:
            return bound.gone_ms is not None and await self._bindings.came_back(bound)
        if bound.gone_ms is None:
            return not is_between(session, now) and await self._bindings.went(bound)
        return now - bound.gone_ms >= KEPT_MS and await self._bindings.end(bound, "bound_over")


def is_between(session: CodeSession, now_ms: int) -> bool:
    """Whether a session was just cleared, so that another one goes on in its place."""
    return session.reason == "clear" and now_ms - (session.ended_ms or 0) < _BETWEEN_MS


def _is_lost(thread: WatchedThread, session: CodeSession) -> bool:
    return session.visibility is Visibility.HIDDEN or session.person != thread.bound.person
