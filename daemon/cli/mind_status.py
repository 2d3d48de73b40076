"""What `soul status` says of the mind of each soul."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.cli.checks.mind import souls_of
from daemon.cli.database_access import with_database
from daemon.cli.output import age
from daemon.core.config import Settings
from daemon.core.errors import SoulError
from daemon.memory.database import Database, Transaction
from daemon.memory.mind.summary import MindSummary, mind_summary

_SKIPPED: Final = ("budget", "quiet", "not_invited", "rate", "words", "breaker")
"""Why a soul may not have thought by itself."""


@dataclass(frozen=True, slots=True)
class MindStatus:
    """The mind of one soul, as JSON values; times in ms, UTC."""

    soul: str
    mode: str
    enabled: bool
    tempo: str
    last_thought_ms: int | None
    thoughts_today: int
    skipped: Mapping[str, int]
    tokens_hour: int
    tokens_day: int
    budget_hour: int
    budget_day: int
    goals_open: int
    predictions_open: int
    dropped_percepts: int
    calibration: Mapping[str, float | int | None]

    def in_words(self, now_ms: int) -> str:
        """One line about it."""
        last = "none yet" if self.last_thought_ms is None else f"the last {age(now_ms, self.last_thought_ms)} ago"
        held = f"{self.goals_open} goals and {self.predictions_open} expectations open"
        return f"{self.thoughts_today} today, {last}; {held}"


def minds(settings: Settings, now_ms: int, since_ms: int) -> Sequence[MindStatus]:
    """Each soul of the settings, with its thoughts since a moment; none where their files can't be read.

    `soul doctor` says what is wrong with the files.
    """
    try:
        modes = {soul.name: soul.mind for soul in souls_of(settings)}
    except SoulError:
        return ()

    async def look(database: Database) -> Sequence[MindStatus]:
        async def unit(transaction: Transaction) -> Sequence[MindStatus]:
            return [
                _status(name, mode, await mind_summary(transaction, name, now_ms, since_ms))
                for name, mode in modes.items()
            ]

        return await database.read(unit)

    return with_database(settings, look)


def _status(soul: str, mode: str, found: MindSummary) -> MindStatus:
    """The state of one mind: it doesn't think by itself, so that nothing is spent or skipped."""
    return MindStatus(
        soul=soul,
        mode=mode,
        enabled=False,
        tempo="asleep",
        last_thought_ms=found.last_thought_ms,
        thoughts_today=found.thoughts_today,
        skipped=dict.fromkeys(_SKIPPED, 0),
        tokens_hour=0,
        tokens_day=0,
        budget_hour=0,
        budget_day=0,
        goals_open=found.goals_open,
        predictions_open=found.predictions_open,
        dropped_percepts=0,
        calibration={name: found.foresight.figures[name] for name in ("scored", "brier", "skill")},
    )
