"""Which goals count: they are open, and not stale."""

from typing import Final

from daemon.core.tempo import STALE_AFTER_MS

IN_FORCE: Final = f"state = 'open' AND max(touched_ms, coalesce(due_ms, 0)) + {STALE_AFTER_MS} > :now"
"""A condition in SQL: the goal is open, and not stale at the moment `now`. One that falls due later waits for it."""
