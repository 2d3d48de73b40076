"""SQL conditions for goals that count: open, and not stale, or promised."""

from typing import Final

from daemon.core.tempo import STALE_AFTER_MS

IN_FORCE: Final = f"state = 'open' AND max(touched_ms, coalesce(due_ms, 0)) + {STALE_AFTER_MS} > :now"
"""A condition in SQL: the goal is open, and not stale at the moment `now`. A goal with a later due time isn't stale."""

PROMISED: Final = """
    state = 'open' AND follow_up = 1 AND kept_ms IS NULL
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = said_in
                    AND (o.withdrawn = 1 OR o.state NOT IN ('sent', 'pending', 'sending')))
    """
"""A condition in SQL: the goal is an open promise, unless its post failed or was taken back."""

OWED: Final = f"{PROMISED} AND said_in <> ''"
"""A condition in SQL: the goal is a promise made in a post."""

WITHOUT_WORDS: Final = "goal = '', same_words = '', why = '', changed_by = ''"
"""SQL assignments that remove the words of an owed promise, which itself is kept."""

STILL_DUE: Final = f"due_ms <= :now AND (({OWED}) OR ({IN_FORCE}))"
"""A condition in SQL: the goal is due at the moment `now`, and is owed or in force."""
