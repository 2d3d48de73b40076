"""Which models answer people with nothing that can be said: by the newest messages that a model was asked about."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from daemon.core.ports.models import ModelRole
from daemon.core.timetable import MINUTE_MS
from daemon.memory.database import Database

_LOOKED_AT: Final = 10  # messages
_MOST_FAILED: Final = 3  # of them; one more is too much
_CALLS: Final = 400  # rows that are read for it
_DAY_MS: Final = 24 * 60 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class FailedAnswers:
    """Of `looked_at` messages so many `failed`; `model` and `outcome` are what most of them met with."""

    looked_at: int
    failed: int
    model: str
    outcome: str


async def failed_answers(database: Database, now_ms: int) -> FailedAnswers | None:
    """What of the newest messages of a day ended in an apology; None where few did.

    A message counts by the last call that the soul's voice made for it: `malformed`, `refused` or `unavailable`. What
    was thought unasked is no message.
    """
    rows = await database.rows(
        """
        SELECT trace_id, model, outcome FROM (
          SELECT seq, trace_id, role, model, outcome FROM llm_calls WHERE started_ms > :since AND tick = 0
          ORDER BY seq DESC LIMIT :calls)
        WHERE role = :voice AND outcome <> 'cancelled' ORDER BY seq DESC
        """,
        since=now_ms - _DAY_MS,
        calls=_CALLS,
        voice=ModelRole.PERSONA,
    )
    last = dict[str, tuple[str, str]]()
    for row in rows:
        last.setdefault(row["trace_id"], (row["model"], row["outcome"]))
    newest = list(last.values())[:_LOOKED_AT]
    failed = Counter(one for one in newest if one[1] != "ok")
    if failed.total() <= _MOST_FAILED:
        return None
    ((model, outcome), _), *_ = failed.most_common(1)
    return FailedAnswers(len(newest), failed.total(), model, outcome)
