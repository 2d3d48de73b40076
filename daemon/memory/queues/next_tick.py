"""When a soul has something to think about next, in SQL that looks at few rows however many goals there are."""

from typing import Final

from daemon.core.tempo import SURPRISING
from daemon.memory.goals_in_force import OWED
from daemon.memory.queues.occasions import RESULTS
from daemon.memory.queues.sense_ticks import WAKING

SCOPE: Final = "soul = :soul AND workspace = :workspace"
ALL_WAIT: Final = f"EXISTS (SELECT 1 FROM conversations WHERE {SCOPE} AND waiting_ms IS NOT NULL)"  # noqa: S608 - a constant
"""A condition: words or something else wait to be answered, before which nothing is thought about."""

GOALS: Final = f"{SCOPE} AND state = 'open' AND due_ms > woken_ms"
"""A condition, of `goals`: no tick was made of its time yet."""

OWED_ALONE: Final = (
    f"kind = 'due' AND EXISTS (SELECT 1 FROM goals g WHERE g.soul = ticks.soul AND g.id = about AND {OWED})"  # noqa: S608
)
"""A condition, of `ticks`: it is about something that was promised."""

SURPRISES: Final = f"{SCOPE} AND shown = 0 AND woken = 0 AND surprise >= {SURPRISING}"
"""A condition, of `predictions`: it came otherwise, and no tick was made of it yet."""

ONE_LEADS_TO_THE_NEXT: Final = """
    (EXISTS (SELECT 1 FROM thoughts t WHERE t.id = predictions.thought AND t.occasion = 'surprise')
     AND coalesce((SELECT u.said_ms FROM turns u
                   WHERE u.conversation = predictions.conversation AND u.speaker = 'person'
                   ORDER BY u.seq DESC LIMIT 1), 0) <= predictions.made_ms)
    """
"""Of `predictions`: a thought about a surprise expected it, and no person has written since; it wakes nothing."""

_DUE: Final = f"""
    SELECT min(due_ms) AS at_ms FROM ticks WHERE {SCOPE} AND due_ms IS NOT NULL
    UNION ALL SELECT min(due_ms) FROM goals WHERE {GOALS}
    UNION ALL SELECT min(scored_ms) FROM predictions WHERE {SURPRISES}
    UNION ALL SELECT min(wakes_ms) FROM readings WHERE {WAKING}
    UNION ALL SELECT min(decided_ms) FROM approvals WHERE {RESULTS}
    """  # noqa: S608 - constants
_OWED_DUE: Final = f"""
    SELECT min(due_ms) AS at_ms FROM goals WHERE {GOALS} AND {OWED}
    UNION ALL SELECT min(t.due_ms) FROM (SELECT id, conversation FROM goals WHERE {SCOPE} AND {OWED}) g
    CROSS JOIN ticks t ON t.conversation = g.conversation AND t.kind = 'due' AND t.about = g.id
    """  # noqa: S608 - constants; promises are few, whereas there may be thousands of ticks


def when_next(*, owed_alone: bool) -> str:
    """The moment `due` of what comes first, NULL for none and while something waits; with `owed_alone` of promises.

    `ALL_WAIT` is no WHERE here: SQLite would try it for each of the goals and ticks instead of taking the first.
    """
    soonest = f"SELECT min(at_ms) FROM ({_OWED_DUE if owed_alone else _DUE})"  # noqa: S608 - constants
    return f"SELECT iif({ALL_WAIT}, NULL, ({soonest})) AS due"
