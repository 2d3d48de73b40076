"""Whether a soul's model can keep the form of a whole thought; else the soul answers in words for a while."""

from dataclasses import dataclass
from typing import Final

from daemon.core.timetable import MINUTE_MS
from daemon.memory.database import Transaction

_JUDGED, _MOST_DEGRADED = 10, 3  # of so many answers that were asked for as thoughts, so many unread are too much
_IN_WORDS_MS: Final = 60 * MINUTE_MS


async def unfit_until(transaction: Transaction, soul: str, workspace: str, now: int) -> int:
    """Until when (ms, UTC) a soul answers in words, for an hour from the third of ten answers that was no thought.

    0 where that is over, or none was too much.
    """
    last = await transaction.one(
        """
        SELECT seq, at_ms FROM thoughts WHERE soul = :soul AND workspace = :workspace AND degraded = 1
        ORDER BY seq DESC LIMIT 1
        """,
        soul=soul,
        workspace=workspace,
    )
    if last is None or last["at_ms"] + _IN_WORDS_MS <= now:
        return 0
    counted = await transaction.one(
        """
        SELECT sum(degraded) AS n FROM (
          SELECT degraded FROM thoughts WHERE soul = :soul AND workspace = :workspace AND seq <= :seq AND asked = 1
          ORDER BY seq DESC LIMIT :looked)
        """,
        soul=soul,
        workspace=workspace,
        seq=last["seq"],
        looked=_JUDGED,
    )
    return int(last["at_ms"]) + _IN_WORDS_MS if counted is not None and counted["n"] >= _MOST_DEGRADED else 0


@dataclass(frozen=True, slots=True)
class UnfitSoul:
    """A soul that answers in words until a time (ms, UTC), since too many answers could not be read as thoughts."""

    soul: str
    workspace: str
    until_ms: int

    def in_words(self, now_ms: int) -> str:
        """What an admin should know of it."""
        minutes = (self.until_ms - now_ms) // MINUTE_MS + 1
        return f"too many answers could not be read as thoughts, so it answers in words for {minutes} min more"


async def unfit_souls(transaction: Transaction, now: int) -> tuple[UnfitSoul, ...]:
    """The souls that were to think whole thoughts, and answer in words for now."""
    lately = await transaction.rows(
        "SELECT DISTINCT soul, workspace FROM thoughts WHERE degraded = 1 AND at_ms > :since ORDER BY soul, workspace",
        since=now - _IN_WORDS_MS,
    )
    ends = [(row["soul"], row["workspace"]) for row in lately]
    found = [UnfitSoul(*one, await unfit_until(transaction, *one, now)) for one in ends]
    return tuple(one for one in found if one.until_ms)
